import type { Message, UserId } from "../model.ts";
import { type hiddenIn, isShown } from "./blocks.ts";
import type { ConversationRecord, MessageRecord, Reading } from "./database.ts";
import { isExpiredHere } from "./messages.ts";
import { rangeAt } from "./ranges.ts";

type IsHidden = ReturnType<typeof hiddenIn>;
/** What is counted: by the index `mentioned` those that mention the user. */
type Part = "mentioned" | undefined;

const most = 100;
/** The user's own messages and tombstones are passed over; beyond this many rows nobody counts. */
const mostRead = 1_000;
const rowsAtOnce = 120;

/**
 * The unread messages, counted in the copy where it has them all. Where it has not, the server's count stands, less what
 * was read since and is in the copy, what was deleted for everyone since, and what of it is known to be not shown, and the
 * messages after it are added.
 */
export async function countUnread(
  rows: Reading,
  head: ConversationRecord,
  isHidden: IsHidden,
  own?: UserId,
  part?: Part,
): Promise<number> {
  const seen = Math.max(head.readSeq, head.clearedSeq);
  if (seen >= head.lastSeq) return 0;
  const isWhole = (rangeAt(head.ranges, seen + 1)?.[1] ?? 0) >= head.lastSeq;
  const { seq } = head.toldUnread;
  const told = isWhole || seen >= seq
    ? 0
    : Math.min(await countTold(rows, head, seen, isHidden, own, part), seq - seen);
  const after = isWhole ? seen : Math.max(seen, seq);
  if (told >= most || after >= head.lastSeq) return Math.min(most, told);
  const counts = (message: Message) => isUnread(message, own) && isShown(message, isHidden);
  return Math.min(most, told + await countStored(rows, head, after + 1, Infinity, counts, part));
}

/** What is left of the server's count. A hundred may be more. */
async function countTold(
  rows: Reading,
  head: ConversationRecord,
  seen: number,
  isHidden: IsHidden,
  own?: UserId,
  part?: Part,
): Promise<number> {
  const { seq, after, mentions = 0 } = head.toldUnread;
  const count = part ? mentions : head.toldUnread.count;
  if (!count || count >= most) return count;
  const hasRead = (rangeAt(head.ranges, after + 1)?.[1] ?? 0) >= seen;
  // A message that is deleted does not change any more.
  const isGone = (message: MessageRecord) =>
    isCounted(message, own) &&
    (message.deletedForEveryone
      ? message.changeSeq > seq || isExpiredHere(message)
      : message.seq <= seen || !isShown(message, isHidden));
  return Math.max(0, count - await countStored(rows, head, (hasRead ? after : seen) + 1, seq, isGone, part));
}

/** The server's count without what is removed before a position: those that are stored were in it. */
export async function toldWithout(
  rows: Reading,
  head: ConversationRecord,
  keptFrom: number,
  own?: UserId,
): Promise<ConversationRecord["toldUnread"]> {
  const { count, seq, after, mentions } = head.toldUnread;
  if (!count) return head.toldUnread;
  const wasCounted = (message: MessageRecord) =>
    isCounted(message, own) && (!message.deletedForEveryone || message.changeSeq > seq || isExpiredHere(message));
  const stored = (part: Part) => countStored(rows, head, after + 1, Math.min(seq, keptFrom - 1), wasCounted, part);
  return {
    ...head.toldUnread,
    count: Math.max(0, count - await stored(undefined)),
    mentions: mentions && Math.max(0, mentions - await stored("mentioned")),
  };
}

async function countStored(
  rows: Reading,
  head: ConversationRecord,
  first: number,
  last: number,
  counts: (message: MessageRecord) => boolean,
  index: Part,
): Promise<number> {
  let count = 0;
  for (let [from, read] = [first, 0]; count < most && read < mostRead && from <= last; read += rowsAtOnce) {
    const messages = await rows.all("messages", {
      index,
      from: [head.id, from],
      to: [head.id, last === Infinity ? [] : last],
      limit: rowsAtOnce,
    });
    count += messages.filter(counts).length;
    if (messages.length < rowsAtOnce) break;
    from = messages.at(-1)!.seq + 1;
  }
  return count;
}

export function isUnread(message: Message, own?: UserId): boolean {
  return isCounted(message, own) && !message.deletedForEveryone;
}

function isCounted(message: Message, own?: UserId): boolean {
  return message.senderId !== own && isSpoken(message);
}

/** Whether it is something a user wrote. */
export function isSpoken({ kind }: Message): boolean {
  return ["text", "reply", "sealed", "poll"].includes(kind);
}
