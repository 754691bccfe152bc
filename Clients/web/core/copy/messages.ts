import type { ConversationId, Message, MessageId, UserId } from "../model.ts";
import type { CopyWriter } from "./copy.ts";
import { type MessageRecord, type Reading, within } from "./database.ts";
import { storeReceipts } from "./receipts.ts";

/**
 * Stores a message if it is newer than the stored state, and the user has neither hidden nor cleared it. Takes the receipts
 * that came with it in any case.
 */
export async function storeMessage(copy: CopyWriter, id: ConversationId, message: Message): Promise<void> {
  const head = (await copy.head(id))!;
  const { status, dateDelivered, dateRead, deliveredCount, readCount, recipientCount, ...told } = message;
  const receipts = { status, dateDelivered, dateRead, deliveredCount, readCount, recipientCount };
  if (status) await storeReceipts(copy, id, message.seq, receipts);
  if (message.seq <= head.clearedSeq || message.seq < (head.keptFrom ?? 1)) return;
  // Most messages are new: nothing has to be read for them.
  if (head.hasHidden && await copy.rows.get("hidden", [id, message.id])) return;
  const known = message.seq > head.topSeq ? undefined : await copy.rows.get("messages", [id, message.seq]);
  const own = copy.account.userId;
  // Changes of others tell nothing of the user's vote.
  const tellsVote = told.poll?.vote?.userId === own;
  if (told.poll && !tellsVote) told.poll = { ...told.poll, vote: known?.poll?.vote };
  const isNewer = !known || told.changeSeq > known.changeSeq ||
    told.changeSeq === known.changeSeq && (known.epoch < head.epoch || tellsVote && !known.poll?.vote);
  if (!isNewer) return;
  const mentionedAt = mentions(told, copy.account.userId) ? told.seq : undefined;
  const kept = told.deletedForEveryone ? known?.mentionedAt : mentionedAt;
  const replyTo = await completed(copy, told, known);
  const quotes = replyTo?.preview === undefined ? undefined : replyTo.seq;
  await copy.rows.put("messages", { ...told, replyTo, epoch: head.epoch, mentionedAt: kept, quotes });
  if (message.seq > head.topSeq) copy.setHead(id, { topSeq: message.seq });
  if (told.deletedForEveryone) {
    await copy.rows.removeAll("revisions", within(id, message.id));
    await copy.releaseAttachments(known);
    await forgetPreviews(copy, told);
  }
  copy.show(id);
}

/** What this device has found to be over is of no epoch: whatever the server says of it is newer. */
export const noEpoch = -1;

/** Whether it is this device that has found it to be over, so that the server's count has it. */
export function isExpiredHere({ expired, epoch }: MessageRecord): boolean {
  return !!expired && epoch === noEpoch;
}

/** Whether it mentions a user, by name or with everybody. */
export function mentions(message: Message, user?: UserId): boolean {
  return message.senderId !== user && (!!message.mentionsAll || !!user && message.mentions.includes(user));
}

/** Changes name a parent only: what was known of it stays known, as long as it is there. */
async function completed(copy: CopyWriter, message: Message, known?: Message): Promise<Message["replyTo"]> {
  const { conversationId, replyTo } = message;
  const both = replyTo && !replyTo.unavailable && known?.replyTo ? { ...known.replyTo, ...replyTo } : replyTo;
  if (both?.preview === undefined) return both;
  const parent = await messageById(copy.rows, conversationId, both.messageId);
  return parent?.deletedForEveryone ? { ...both, preview: undefined } : both;
}

/** What was taken back is in no reply any more. */
export async function forgetPreviews(copy: CopyWriter, { conversationId, seq }: Message): Promise<void> {
  const place = [conversationId, seq];
  for (const reply of await copy.rows.all("messages", { index: "quoting", from: place, to: place })) {
    await copy.rows.put("messages", {
      ...reply,
      replyTo: { ...reply.replyTo!, preview: undefined },
      quotes: undefined,
    });
  }
}

export function messageById(rows: Reading, id: ConversationId, message: MessageId): Promise<MessageRecord | undefined> {
  return rows.get("messages", [id, message], "id");
}

type Shown = (message: Message) => boolean;

const all: Shown = () => true;

/** The last messages within positions that are shown, ascending. */
export async function messagesBefore(
  rows: Reading,
  id: ConversationId,
  first: number,
  last: number,
  limit: number,
  isShown = all,
): Promise<MessageRecord[]> {
  let found: MessageRecord[] = [];
  // Reading backwards one by one is slow in browsers. Not every position has a message, so the pieces grow.
  for (let [end, span] = [last, limit]; end >= first && found.length < limit; span *= 4) {
    const begin = Math.max(first, end - span + 1);
    const read = await rows.all("messages", { from: [id, begin], to: [id, end] });
    found = [...read.filter(isShown), ...found];
    end = begin - 1;
  }
  return found.slice(-limit);
}

/** The first messages within positions, or all, ascending. */
export function messagesAfter(
  rows: Reading,
  id: ConversationId,
  first: number,
  last: number,
  limit?: number,
): Promise<MessageRecord[]> {
  return first > last ? Promise.resolve([]) : rows.all("messages", { from: [id, first], to: [id, last], limit });
}

/** The first messages within positions that are shown, ascending. */
export async function shownAfter(
  rows: Reading,
  id: ConversationId,
  first: number,
  last: number,
  limit: number,
  isShown: Shown,
): Promise<MessageRecord[]> {
  const found: MessageRecord[] = [];
  for (let from = first; found.length < limit;) {
    const read = await messagesAfter(rows, id, from, last, limit);
    found.push(...read.filter(isShown));
    if (read.length < limit) break;
    from = read.at(-1)!.seq + 1;
  }
  return found.slice(0, limit);
}
