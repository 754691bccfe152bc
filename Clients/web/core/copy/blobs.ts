// The content of files on this device: of those that wait to be sent, and of those that were seen.
//
// It is apart from the tables, because writing a large file would hold up every transaction that spans them. What a message
// that is gone has here is noted by `releases` in its transaction, and removed afterwards.

export interface Blobs {
  get(key: string): Promise<Blob | undefined>;
  /** `isCached`: it can be loaded again, and goes when there is too much of it, the longest unused first. */
  put(key: string, blob: Blob, isCached: boolean): Promise<void>;
  /** Removes what belongs to an attachment, or to a file that was to be sent. */
  removeAll(id: string): Promise<void>;
  keys(): Promise<string[]>;
  clear(): Promise<void>;
}

export const cacheBytes = 256 * 1_024 * 1_024;
/** Something larger would push too much else out. */
export const mostCachedBytes = 32 * 1_024 * 1_024;

/** Of what files are kept under that wait to be sent: ids of attachments do not begin so. */
export const unsentPrefix = "unsent-";

export type StoredPart = "small" | "large" | "content";

/** The content of a file by the id that it is released by. */
export function blobKey(id: string, part: StoredPart = "content"): string {
  return `${id}/${part}`;
}

/** The keys that are to go, so that nine tenths of the limit are left, of entries from the longest unused on. */
export function surplus(entries: { key: string; bytes: number }[], limit: number): string[] {
  let excess = entries.reduce((sum, { bytes }) => sum + bytes, 0) - limit * 0.9;
  const keys: string[] = [];
  for (const { key, bytes } of entries) {
    if (excess <= 0) break;
    keys.push(key);
    excess -= bytes;
  }
  return keys;
}

export class MemoryBlobs implements Blobs {
  private blobs = new Map<string, Blob>();

  get(key: string): Promise<Blob | undefined> {
    return Promise.resolve(this.blobs.get(key));
  }

  put(key: string, blob: Blob): Promise<void> {
    this.blobs.set(key, blob);
    return Promise.resolve();
  }

  removeAll(id: string): Promise<void> {
    for (const key of this.blobs.keys()) if (key.startsWith(`${id}/`)) this.blobs.delete(key);
    return Promise.resolve();
  }

  keys(): Promise<string[]> {
    return Promise.resolve([...this.blobs.keys()]);
  }

  clear(): Promise<void> {
    this.blobs.clear();
    return Promise.resolve();
  }
}
