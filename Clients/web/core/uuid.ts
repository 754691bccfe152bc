/** When an id was made, in milliseconds since 1970. */
export function timeOfId(id: string): number {
  return parseInt(id.replace("-", "").slice(0, 12), 16);
}

/** A UUID of version 7: its order is that of time, which the server's indexes like. */
export function newId(now = Date.now(), random: Uint8Array = crypto.getRandomValues(new Uint8Array(10))): string {
  const hex = now.toString(16).padStart(12, "0") +
    [...random].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const variant = (parseInt(hex[16]!, 16) & 3 | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}
