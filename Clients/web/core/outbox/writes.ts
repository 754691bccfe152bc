import type { Draft } from "../client.ts";
import type {
  Attachment,
  Forward,
  Forwarded,
  LifetimeStart,
  MessageId,
  NewConversationSettings,
  NewPoll,
  NewSettings,
  Permissions,
  Time,
  UserId,
} from "../model.ts";

/** What the user did and the server has not confirmed yet. It is stored: kinds and fields are added, never renamed. */
export type PendingWrite =
  | {
    kind: "send";
    text: string;
    /** In place of a text, which is then empty. */
    sealed?: string;
    poll?: NewPoll;
    /** The text, the files and who wrote it are then those of the copy, for display. */
    forward?: Forward;
    attachments?: Attachment[];
    forwarded?: Forwarded;
    replyTo?: MessageId;
    mentions: UserId[];
    mentionsAll?: true;
    sentAt: Time;
    files?: PendingFile[];
    extra?: Record<string, unknown>;
  }
  | { kind: "edit"; text: string; sealed?: string }
  | { kind: "delete"; scope: "me" | "everyone" }
  /** Null takes it back. */
  | { kind: "tapback"; tapback: string | null }
  /** For everybody, or takes it down. */
  | { kind: "pinMessage"; pins: boolean }
  /** Positions of options, ascending; none: it is withdrawn. */
  | { kind: "vote"; options: number[] }
  | { kind: "closePoll" }
  | { kind: "read"; seq: number }
  | { kind: "clear"; through: number }
  | { kind: "rename"; title: string }
  | { kind: "member"; user: UserId; isRemoved: boolean; role?: string }
  /** What is left out stays as it is. */
  | { kind: "permissions"; permissions: Partial<Permissions> }
  /** How long messages stay that are sent from then on; null: until somebody deletes them. */
  | { kind: "lifetime"; seconds: number | null; from?: LifetimeStart }
  /** It is lifted. */
  | { kind: "ban"; user: UserId }
  | { kind: "create"; members: UserId[]; title?: string }
  | { kind: "unlist" }
  | { kind: "settings"; settings: NewSettings }
  | { kind: "conversationSettings"; settings: NewConversationSettings }
  /** `after`: the version of the conversation's marks, as the server had told them, when the user set it. */
  | { kind: "mark"; mark: Mark; after: number }
  /** `after`: the version of the block, as the server had told it. */
  | { kind: "block"; user: UserId; isBlocked: boolean; after: number }
  /** About a request. */
  | { kind: "accept" }
  | { kind: "decline" }
  /** Without one: nothing is written any more. `isTold`: the server has told of it since it was sent. */
  | { kind: "draft"; draft?: Draft; isTold?: true };

/** What the user does with a conversation for themselves. Null takes it away. */
export type Mark =
  | { of: "muted"; until: Time | null }
  | { of: "pinned"; order: number | null }
  | { of: "archived"; through: number | null }
  | { of: "unread"; isMarked: boolean };

/** A file of a message that is not sent yet. */
export interface PendingFile {
  /** What its content is kept under on this device. */
  key: string;
  name: string;
  type: string;
  size: number;
  width?: number;
  height?: number;
  duration?: number;
  /** The upload, once it was begun. */
  upload?: string;
  /** What the server says of it, once it is ready to be sent. */
  attachment?: Attachment;
}

/** Whether all that a message carries has been uploaded. */
export function isUploaded(write: PendingWrite): boolean {
  return write.kind !== "send" || !write.files?.some(({ attachment }) => !attachment);
}

/** What a write and a later one are together, if nobody has seen the first yet; undefined if they stay apart. */
export function joined(first: PendingWrite, later: PendingWrite): PendingWrite | undefined {
  if (first.kind === "send" && later.kind === "edit") {
    return first.forward ? undefined : { ...first, text: later.text, sealed: later.sealed };
  }
  if (first.kind === "delete" && later.kind === "delete") {
    return first.scope === "everyone" && later.scope === "me" ? undefined : later;
  }
  if (first.kind === "read" && later.kind === "read") return { ...first, seq: Math.max(first.seq, later.seq) };
  if (first.kind === "clear" && later.kind === "clear") {
    return { ...first, through: Math.max(first.through, later.through) };
  }
  if (first.kind === "settings" && later.kind === "settings") {
    return { ...first, settings: { ...first.settings, ...later.settings } };
  }
  if (first.kind === "permissions" && later.kind === "permissions") {
    return { ...first, permissions: { ...first.permissions, ...later.permissions } };
  }
  if (first.kind === "mark" && later.kind === "mark") return first.mark.of === later.mark.of ? later : undefined;
  // A tapback that is taken back leaves not nothing: an earlier one may be set on the server.
  const replaces = ["edit", "tapback", "vote", "closePoll", "pinMessage", "rename", "lifetime", "conversationSettings"];
  return first.kind === later.kind && replaces.includes(first.kind) ? later : undefined;
}
