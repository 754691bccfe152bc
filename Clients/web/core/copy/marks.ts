import type { Conversation, ConversationId, PrivateChange, Time } from "../model.ts";
import type { Mark } from "../outbox/writes.ts";
import type { CopyWriter } from "./copy.ts";
import type { ConversationRecord, Marks, OutboxRow } from "./database.ts";

// What the user keeps to themselves about conversations: mutes, pins, the archive, marks as unread.

/** The parts of `Marks` that the server has told, as bits. */
const [muted, pinned, archived, unread] = [1, 2, 4, 8];
export const drafted = 16;
const all = 31;

/** The server's marks with what waits in the outbox. */
export function shownMarks(head: ConversationRecord, pending: OutboxRow[]): Marks {
  let marks = head.marks ?? {};
  for (const { write, state } of pending) {
    if (write.kind === "mark" && state === "waiting") marks = withMark(marks, write.mark);
  }
  return marks;
}

export function withMark(marks: Marks, mark: Mark): Marks {
  switch (mark.of) {
    case "muted":
      return { ...marks, mutedUntil: mark.until ?? undefined };
    case "pinned":
      return { ...marks, pinOrder: mark.order ?? undefined };
    case "archived":
      return { ...marks, archivedSeq: mark.through ?? undefined };
    case "unread":
      return { ...marks, markedUnread: mark.isMarked || undefined };
  }
}

export function isMuted({ mutedUntil }: Marks, now: Time = new Date().toISOString()): boolean {
  return mutedUntil !== undefined && mutedUntil > now;
}

/** A message that came after brings a conversation back, unless it is muted. */
export function isArchived(marks: Marks, lastMessageSeq: number): boolean {
  return marks.archivedSeq !== undefined && (lastMessageSeq <= marks.archivedSeq || isMuted(marks));
}

/**
 * A response says what the private stream has not told, or what it passes over. `readBefore` is how far the copy knew the user
 * had read.
 */
export function takeMarks(copy: CopyWriter, head: ConversationRecord, told: Conversation, readBefore: number): void {
  const { marks = {}, toldMarks = 0 } = head;
  const next = { ...marks };
  if (!(toldMarks & muted)) next.mutedUntil = told.mutedUntil;
  if (!(toldMarks & pinned)) next.pinOrder = told.pinOrder;
  if (!(toldMarks & archived)) next.archivedSeq = told.archivedSeq;
  if (!(toldMarks & unread)) next.markedUnread = told.markedUnread && told.readSeq >= head.readSeq || undefined;
  else if (told.readSeq > readBefore) next.markedUnread = undefined;
  copy.setHead(head.id, { marks: next, toldMarks: all });
  if (toldMarks !== all) copy.setHead(head.id, { marksVersion: Math.random() });
}

export const markKinds = ["muted", "pinned", "archived", "markedUnread"];

export function applyMark(copy: CopyWriter, head: ConversationRecord, change: PrivateChange): void {
  const { mutedUntil, pinOrder, archivedSeq, readSeq = 0 } = change;
  const { marks = {}, toldMarks = 0 } = head;
  const set = (changes: Marks, told: number) =>
    copy.setHead(head.id, {
      marks: { ...marks, ...changes },
      toldMarks: toldMarks | told,
      marksVersion: Math.random(),
      readSeq: Math.max(head.readSeq, readSeq),
    });
  if (change.kind === "muted") set({ mutedUntil, archivedSeq }, muted | archived);
  else if (change.kind === "pinned") set({ pinOrder }, pinned);
  else if (change.kind === "archived") set({ archivedSeq }, archived);
  else set({ markedUnread: change.markedUnread && readSeq >= head.readSeq || undefined }, unread);
}

/** The user has read up to a position, here or elsewhere: reading on ends a mark as unread. */
export function moveRead(copy: CopyWriter, head: ConversationRecord, seq: number): void {
  if (seq <= head.readSeq) return copy.setHead(head.id, {});
  const marks = head.marks?.markedUnread ? { ...head.marks, markedUnread: undefined } : head.marks;
  copy.setHead(head.id, { readSeq: seq, marks });
}

/** A mark is with the server. Unless that has told of marks meanwhile, perhaps of later ones, it is as the user set it. */
export async function completeMark(copy: CopyWriter, id: ConversationId, mark: Mark, after: number): Promise<void> {
  const head = await copy.head(id);
  if (head && (head.marksVersion ?? 0) === after) copy.setHead(id, { marks: withMark(head.marks ?? {}, mark) });
}
