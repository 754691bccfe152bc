import type { Attachment, Message } from "../model.ts";

// What files are, by the types that the server judged.

export type AttachmentKind = "photo" | "video" | "audio" | "file";

/** Types that browsers show as pictures. Of others there are thumbnails, in a type of the server's choice. */
const pictures = ["image/jpeg", "image/png", "image/gif", "image/webp", "image/avif"];
/** Types of the server's that browsers play. Others are downloaded. */
const videos = ["video/mp4", "video/webm", "video/quicktime", "video/ogg"];

/** How a file is shown. Without its dimensions no place can be kept for it. */
export function kindOf({ type, width, height, thumbhash }: Attachment): AttachmentKind {
  if (type.startsWith("audio/")) return "audio";
  const hasPlace = !!width && !!height;
  if (videos.includes(type) && hasPlace) return "video";
  return type.startsWith("image/") && hasPlace && (pictures.includes(type) || thumbhash) ? "photo" : "file";
}

/** Whether browsers show the content itself, and not only its thumbnails. */
export function isPicture({ type }: Attachment): boolean {
  return pictures.includes(type);
}

/** What is said of a message in a line: its text, or what it carries, in the words of the server's previews. */
export function shownText({ kind, text, attachments }: Message): string {
  return text || kind === "sealed" && sealedTitle || (attachments?.[0] ? attachmentText(attachments[0]) : "");
}

/** What is shown of a message that its sender has encrypted. */
export const sealedTitle = "Encrypted message";

function attachmentText({ type, name }: Attachment): string {
  const words: Record<string, string> = { image: "Photo", video: "Video", audio: "Audio" };
  return words[type.split("/")[0]!] ?? name;
}
