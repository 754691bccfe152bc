import type { RowState, TimelineRow } from "../client.ts";
import type { Attachment, ConversationId, Message, MessageId, UserId } from "../model.ts";
import type { Place } from "../sync/events.ts";
import { hiddenIn, isShown, withShownTapbacks } from "./blocks.ts";
import { accountOf } from "./copy.ts";
import type { Account, ConversationRecord, OutboxRow, Reading } from "./database.ts";
import { messageById, messagesAfter, messagesBefore, shownAfter } from "./messages.ts";
import { buried, outboxOf, withPin, withTapback, withVote } from "./outbox-rows.ts";
import { rangeAt } from "./ranges.ts";
import { isUnread } from "./unread.ts";
import type { PendingFile } from "../outbox/writes.ts";
import { shownText } from "../media/kinds.ts";

// Windows of a conversation's timeline. What they cost depends on their size alone.

/** Which part to show: `before` rows up to a position, and `after` rows behind it. */
export interface TimelinePart {
  at: number | "end";
  before: number;
  after: number;
}

/** Messages in order, without a hole between them. */
export interface TimelinePage {
  rows: TimelineRow[];
  /** Whether there is more, in the copy or on the server. */
  hasMoreBefore: boolean;
  hasMoreAfter: boolean;
  /** What has to be loaded to show more than this; undefined if everything asked for is here. */
  gap?: Place;
}

/** A hole in the copy ends a page, and is named as its gap. */
export async function timeline(rows: Reading, id: ConversationId, part: TimelinePart): Promise<TimelinePage> {
  const pending = await outboxOf(rows, id);
  const account = await accountOf(rows);
  const { userId } = account;
  const head = await rows.get("conversations", id);
  const isHidden = hiddenIn(account, head ?? { kind: "" });
  const page = head?.headSeq ? await stored(rows, head, account, pending, part) : emptyPage;
  const untold = head?.headSeq && part.at === "end" ? await ahead(rows, head, userId) : [];
  const known = [...page.messages, ...untold].map((message) => withShownTapbacks(message, isHidden));
  const messages = withPending(known, page.hasMoreAfter ? [] : pending, id, userId);
  const shown = messages.flatMap((row) => withChanges(row, pending, userId));
  const keptFrom = head?.keptFrom ?? 1;
  const parents = await Promise.all(
    shown.map(({ message }) =>
      (message.replyTo?.seq ?? keptFrom) < keptFrom ? undefined : shownParent(rows, message, pending, isHidden, userId)
    ),
  );
  const { hasMoreBefore, hasMoreAfter, gap } = page;
  return { rows: shown.map((row, index) => ({ ...row, parent: parents[index] })), hasMoreBefore, hasMoreAfter, gap };
}

type StoredPage = Omit<TimelinePage, "rows"> & { messages: Message[] };

const emptyPage: StoredPage = { messages: [], hasMoreBefore: false, hasMoreAfter: false };

function stored(
  rows: Reading,
  head: ConversationRecord,
  account: Account,
  pending: OutboxRow[],
  part: TimelinePart,
): Promise<StoredPage> | StoredPage {
  const cleared = pending.map(({ write, state }) => state === "waiting" && write.kind === "clear" ? write.through : 0);
  const first = Math.max(head.windows[0]?.from ?? 1, head.keptFrom ?? 1, Math.max(head.clearedSeq, ...cleared) + 1);
  if (first > head.lastSeq) return emptyPage;
  const isHidden = hiddenIn(account, head);
  const shows = (message: Message) => isShown(message, isHidden);
  return part.at === "end"
    ? newest(rows, head, first, part.before, shows)
    : around(rows, head, first, part.at, part, shows);
}

async function newest(
  rows: Reading,
  head: ConversationRecord,
  firstSeq: number,
  limit: number,
  shows: (message: Message) => boolean,
): Promise<StoredPage> {
  const range = head.ranges.at(-1);
  if (!range || range[1] < firstSeq) return { messages: [], hasMoreBefore: true, hasMoreAfter: false, gap: "newest" };
  const first = Math.max(range[0], firstSeq);
  const found = await messagesBefore(rows, head.id, first, range[1], limit + 1, shows);
  const isEnough = found.length > limit;
  const hasMoreBefore = isEnough || first > firstSeq;
  let gap: Place | undefined;
  // A few changes are on their way, or a long absence is being made up for.
  if (range[1] < head.lastSeq) gap = head.lastSeq - range[1] < 100 ? { after: range[1] } : "newest";
  else if (!isEnough && first > firstSeq) gap = { before: range[0] };
  return { messages: found.slice(-limit), hasMoreBefore, hasMoreAfter: false, gap };
}

/**
 * The user's own messages that a response told of and the stream has not brought yet: they stay where they were while they
 * were on their way.
 */
async function ahead(rows: Reading, { id, cursor = 0, ranges }: ConversationRecord, own?: UserId): Promise<Message[]> {
  const last = Math.max(cursor, ranges.at(-1)?.[1] ?? 0);
  const found = await messagesAfter(rows, id, last + 1, Infinity, 1_000);
  return found.filter(({ senderId }) => senderId === own);
}

async function around(
  rows: Reading,
  { id, ranges, lastSeq }: ConversationRecord,
  firstSeq: number,
  seq: number,
  { before, after }: TimelinePart,
  shows: (message: Message) => boolean,
): Promise<StoredPage> {
  const range = rangeAt(ranges, seq);
  if (!range) return { messages: [], hasMoreBefore: true, hasMoreAfter: true, gap: { around: seq } };
  const first = Math.max(range[0], firstSeq);
  const older = await messagesBefore(rows, id, first, seq, before + 1, shows);
  const newer = await shownAfter(rows, id, seq + 1, range[1], after + 1, shows);
  const [isEnoughBefore, isEnoughAfter] = [older.length > before, newer.length > after];
  let gap: Place | undefined;
  if (!isEnoughBefore && first > firstSeq) gap = { before: range[0] };
  else if (!isEnoughAfter && range[1] < lastSeq) gap = { after: range[1] };
  return {
    messages: [...older.slice(-before), ...newer.slice(0, after)],
    hasMoreBefore: isEnoughBefore || first > firstSeq,
    hasMoreAfter: isEnoughAfter || range[1] < lastSeq,
    gap,
  };
}

/** The first message of others after a position; undefined until the copy has everything up to it. */
export async function firstUnread(rows: Reading, id: ConversationId, seen: number): Promise<Message | undefined> {
  const head = await rows.get("conversations", id);
  const range = rangeAt(head?.ranges ?? [], seen + 1);
  if (!range) return undefined;
  const account = await accountOf(rows);
  const isHidden = hiddenIn(account, head!);
  const messages = await messagesAfter(rows, id, seen + 1, range[1], 200);
  return messages.find((message) => isUnread(message, account.userId) && isShown(message, isHidden));
}

// What the user did since.

function withPending(messages: Message[], pending: OutboxRow[], id: ConversationId, own?: UserId): TimelineRow[] {
  const known = new Set(messages.map((message) => message.id));
  const unsent = pending.filter(({ write, messageId }) => write.kind === "send" && !known.has(messageId!));
  return [
    ...messages.map((message) => timelineRow(message, own)),
    ...unsent.map((row) => {
      const state: RowState = row.state === "failed" ? "failed" : "sending";
      return { ...timelineRow(unsentMessage(row, id, own), own), state, problem: row.problem };
    }),
  ];
}

function timelineRow(message: Message, own?: UserId): TimelineRow {
  return { id: message.id, message, state: "stored", isOwn: message.senderId === own };
}

/** The message that a row sends. */
export function unsentMessage({ messageId, write, at }: OutboxRow, conversationId: ConversationId, own = ""): Message {
  if (write.kind !== "send") throw new Error("only a send has a message");
  const { sealed, poll, forwarded, attachments, replyTo, mentions, mentionsAll, sentAt, files, extra } = write;
  const options = poll?.options.map((text) => ({ text, votes: 0 }));
  const asked = options && { poll: { options, multiple: !!poll!.multiple, voters: 0 } };
  const [text, kind] = [write.text || null, poll ? "poll" : sealed ? "sealed" : replyTo ? "reply" : "text"];
  return {
    ...{ id: messageId!, conversationId, seq: 0, changeSeq: 0, senderId: own, kind, text, sealed },
    ...{ sentAt, createdAt: at, replyTo: replyTo ? { messageId: replyTo } : undefined },
    ...{ tapbacks: [], tapbackCounts: {}, mentions, mentionsAll, extra, forwarded },
    attachments: files?.map(unsentAttachment) ?? attachments,
    ...asked,
  };
}

function unsentAttachment({ key, name, type, size, width, height, duration, attachment }: PendingFile): Attachment {
  return { id: key, name, type, size, width, height, duration, ...attachment, local: key };
}

/** A row after the changes that wait; nothing if it is not shown any more. */
function withChanges(row: TimelineRow, pending: OutboxRow[], own?: UserId): TimelineRow[] {
  let { message } = row;
  for (const { write, state, messageId, at } of pending) {
    if (messageId !== message.id || state !== "waiting") continue;
    if (write.kind === "delete" && write.scope === "me") return [];
    if (write.kind === "delete") message = buried(message, at);
    if (write.kind === "edit" && !message.deletedForEveryone) {
      message = { ...message, text: write.text || null, sealed: write.sealed, editedAt: at };
    }
    if (write.kind === "tapback") message = withTapback(message, write.tapback, own);
    if (write.kind === "vote") message = withVote(message, write.options, own);
    if (write.kind === "closePoll" && message.poll) message = { ...message, poll: { closedAt: at, ...message.poll } };
    if (write.kind === "pinMessage") message = withPin(message, write.pins, at, own);
  }
  return [message === row.message ? row : { ...row, message }];
}

/** The parent of a reply, unless it is of somebody who is not shown. */
async function shownParent(
  rows: Reading,
  message: Message,
  pending: OutboxRow[],
  isHidden: ReturnType<typeof hiddenIn>,
  own?: UserId,
): Promise<TimelineRow["parent"]> {
  const parent = await parentOf(rows, message, pending, own);
  return isHidden(parent?.senderId) ? undefined : parent;
}

/** The parent of a reply, as far as it may be shown. */
async function parentOf(
  rows: Reading,
  { conversationId, replyTo, deletedForEveryone }: Message,
  pending: OutboxRow[],
  own?: UserId,
): Promise<TimelineRow["parent"]> {
  if (!replyTo || deletedForEveryone) return undefined;
  const id = replyTo.messageId;
  const known = await messageById(rows, conversationId, id);
  if (known) return withChanges(timelineRow(known), pending, own).map(({ message }) => quoted(message))[0];
  const sending = pending.find(({ messageId, write }) => messageId === id && write.kind === "send");
  if (sending) return quoted(unsentMessage(sending, conversationId, own));
  if (replyTo.unavailable || await rows.get("hidden", [conversationId, id])) return undefined;
  return { id, senderId: replyTo.senderId, preview: replyTo.preview };
}

function quoted(message: Message): TimelineRow["parent"] {
  const { id, senderId, deletedForEveryone } = message;
  return deletedForEveryone ? undefined : { id, senderId, preview: firstCharacters(shownText(message), 50) };
}

const characters = new Intl.Segmenter();

/** What a reader calls characters: an emoji with its skin tone is one. */
function firstCharacters(text: string, count: number): string {
  let shown = "";
  // No character that somebody means has more than 40 units; of hostile ones a part is shown.
  for (const { segment, index } of characters.segment(text.slice(0, 40 * count))) {
    if (--count < 0) return text.slice(0, index);
    shown += segment;
  }
  return shown;
}

/** Where a message is, if the copy has it. */
export async function seqOf(rows: Reading, id: ConversationId, message: MessageId): Promise<number | undefined> {
  return (await messageById(rows, id, message))?.seq;
}
