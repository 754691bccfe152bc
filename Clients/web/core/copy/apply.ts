import type { Conversation, ConversationId, Message } from "../model.ts";
import type { Range, SyncWrite } from "../sync/events.ts";
import { applyChange, applyPrivateChange, storePage } from "./changes.ts";
import { outdateBlocks, storeBlocks } from "./blocks.ts";
import type { CopyWriter } from "./copy.ts";
import type { ConversationRecord } from "./database.ts";
import { within } from "./database.ts";
import { dropDrafts, tellDraft } from "./drafts.ts";
import { drafted, takeMarks } from "./marks.ts";
import { messagesAfter, storeMessage } from "./messages.ts";
import { boundProfiles, storeProfiles } from "./profiles.ts";
import { rangeAt, uncover } from "./ranges.ts";
import { applyStatus, storeMembers } from "./receipts.ts";
import { trimHistory } from "./retention.ts";
import { outdateRequests, storeRequests, takeRequest } from "./requests.ts";

// What synchronisation found out, in the copy.

export async function applyWrites(copy: CopyWriter, writes: SyncWrite[]): Promise<void> {
  for (const write of writes) await apply(copy, write);
}

async function apply(copy: CopyWriter, write: SyncWrite): Promise<void> {
  switch (write.write) {
    case "session": {
      const { userId, logId, useq, serverTime } = write;
      const clockAhead = serverTime ? Date.now() - Date.parse(serverTime) : copy.account.clockAhead;
      copy.setAccount({ userId, logId, useq: copy.account.useq ?? useq, clockAhead });
      return await boundProfiles(copy);
    }
    case "discardAll":
      return await copy.discardAll();
    case "settings":
      return copy.setAccount({ settings: write.settings });
    case "blocks":
      return await storeBlocks(copy, write.users, write.useq);
    case "requests":
      return await storeRequests(copy, write.requests);
    case "profiles":
      return await storeProfiles(copy, write.profiles);
    case "listComplete":
      return copy.setAccount({ isListComplete: write.isComplete });
    case "syncCursor":
      return copy.setAccount({ syncCursor: write.cursor });
    case "privateStream":
      return copy.setAccount({ useq: write.useq ?? undefined });
    case "privateChange":
      return await applyPrivateChange(copy, write.change);
    case "conversation":
      return await storeTold(copy, write.conversation, write.follows);
    case "discard":
      return await copy.discard(write.conversation);
    case "change":
      return await applyChange(copy, write.change, write.movesCursor);
    case "history":
      return await storePage(copy, write.conversation, write.page, write.place);
    case "message":
      return await storeAlone(copy, write.message);
    case "status":
      return await applyStatus(copy, write.status);
    case "outdated":
      return await outdateSome(copy, write.conversation, write.range);
    default: {
      const head = await copy.head(write.conversation);
      if (head) await applyToKnown(copy, head, write);
    }
  }
}

type OfConversation = Extract<SyncWrite, { write: "passed" | "members" | "revisions" | "delivered" }>;

async function applyToKnown(copy: CopyWriter, head: ConversationRecord, write: OfConversation): Promise<void> {
  const { id } = head;
  switch (write.write) {
    case "passed":
      if (head.cursor !== undefined) copy.setHead(id, { cursor: Math.max(head.cursor, write.through) }, false);
      return;
    case "delivered":
      return copy.setHead(id, { deliveredSeq: Math.max(head.deliveredSeq, write.seq) }, false);
    case "members":
      return await storeMembers(copy, head, write.members, write.isFirstPage);
    case "revisions": {
      const message = await copy.rows.get("messages", [id, write.message], "id");
      if (!message || message.deletedForEveryone) return;
      const { message: messageId, revisions } = write;
      await copy.rows.put("revisions", { conversationId: id, messageId, revisions });
      copy.show(id);
    }
  }
}

// What the server says of a conversation.

export async function storeTold(copy: CopyWriter, told: Conversation, follows: boolean): Promise<void> {
  await storeConversation(copy, told, follows);
  await takeHidden(copy, told);
}

export async function storeConversation(copy: CopyWriter, told: Conversation, follows: boolean): Promise<void> {
  const { id } = told;
  const head = await copy.headOrNew(id);
  // An older response says nothing new, except what only grows. If it was asked for because changes do not tell enough, it
  // counts, and the changes after it are applied to it.
  if (told.lastSeq >= head.headSeq || head.needsHead && follows) {
    const { kind, title, createdAt, lastSeq, lastActivityAt, memberCount, role, permissions, windows } = told;
    const { messageLifetime } = told;
    const needsHead = head.cursor === undefined || head.cursor > lastSeq;
    const { unreadCount: count, unreadMentions: mentions } = told;
    const toldUnread = { count, seq: lastSeq, after: Math.max(told.readSeq, told.clearedSeq), mentions };
    const fields = { kind, title, createdAt, lastSeq, lastActivityAt, memberCount, role, permissions, windows };
    copy.setHead(id, { ...fields, messageLifetime, headSeq: lastSeq, needsHead, toldUnread });
  }
  copy.setHead(id, {
    readSeq: Math.max(head.readSeq, told.readSeq),
    deliveredSeq: Math.max(head.deliveredSeq, told.deliveredSeq),
  });
  const { toldMarks = 0 } = (await copy.head(id))!;
  takeMarks(copy, (await copy.head(id))!, told, head.readSeq);
  if (!(toldMarks & drafted)) await tellDraft(copy, id, told.draft, true);
  if (told.lastSeq >= head.headSeq && told.windows.at(-1)?.to !== undefined) await dropDrafts(copy, id);
  await clearHistory(copy, id, told.clearedSeq);
  if (told.keptFrom !== undefined) await trimHistory(copy, id, told.keptFrom);
  await takeRequest(copy, told, head);
  if (follows && !told.request && head.cursor === undefined) followFrom(copy, (await copy.head(id))!, told.lastSeq);
  if (told.lastMessage) await storeMessage(copy, id, told.lastMessage);
}

/**
 * The server was asked for a conversation after the private stream was interrupted: of messages behind its position the
 * stream tells what the user hides, and up to there its last message is the last that they have not hidden.
 */
async function takeHidden(copy: CopyWriter, { id, lastSeq, lastMessage }: Conversation): Promise<void> {
  const { unsureThrough, ranges } = (await copy.head(id))!;
  if (!unsureThrough) return;
  const [first, last] = [(lastMessage?.seq ?? 0) + 1, Math.min(lastSeq, unsureThrough)];
  for (const message of await messagesAfter(copy.rows, id, first, last)) {
    if (rangeAt(ranges, message.seq)) continue;
    await copy.rows.remove("messages", [id, message.seq]);
    await copy.releaseAttachments(message);
  }
  copy.setHead(id, { unsureThrough: Math.min(unsureThrough, lastSeq) });
}

/** Begins to follow a conversation: everything after `seq` will come. What was loaded before is not kept up to date. */
export function followFrom(copy: CopyWriter, head: ConversationRecord, seq: number): void {
  const needsHead = head.headSeq === 0 || head.headSeq < seq;
  copy.setHead(head.id, { cursor: seq, firstCursor: seq, needsHead, ranges: [] });
}

/** Takes away what the user cleared. */
export async function clearHistory(copy: CopyWriter, id: ConversationId, through: number): Promise<void> {
  const head = await copy.head(id);
  if (!head || !through) return;
  // Most responses tell of what was cleared long ago.
  if (through > head.clearedSeq) {
    for (const message of await messagesAfter(copy.rows, id, head.clearedSeq + 1, through)) {
      await copy.releaseAttachments(message);
    }
  }
  copy.setHead(id, { clearedSeq: Math.max(head.clearedSeq, through) });
  await copy.rows.removeAll("messages", { from: [id, 0], to: [id, through] });
}

/** A message by itself, such as the response to an edit: what is around it stays unknown. */
export async function storeAlone(copy: CopyWriter, message: Message): Promise<void> {
  const id = message.conversationId;
  const head = await copy.head(id);
  if (!head) return;
  // A restored server may have it at another position, which it tells before the session tells of the restoration.
  const known = await copy.rows.get("messages", [id, message.id], "id");
  // Where every message is stored, one that is missing was deleted by the user for themselves.
  if (!known && rangeAt(head.ranges, message.seq)) return;
  if (known && known.seq !== message.seq) await copy.rows.remove("messages", [id, known.seq]);
  await storeMessage(copy, id, message);
}

// What may be outdated.

async function outdateSome(copy: CopyWriter, id?: ConversationId, range?: Range): Promise<void> {
  if (id !== undefined) {
    const head = await copy.head(id);
    if (head) outdate(copy, head, range);
    return;
  }
  for (const head of await copy.allHeads()) outdate(copy, head, range);
  outdateBlocks(copy);
  outdateRequests(copy);
  copy.showEverything();
}

/**
 * Takes positions, or all, out of the ranges, so that they are loaded again, and lets a message that is loaded replace the
 * stored one also if it is not newer. A page that is on its way may be older than what is stored: it does not count.
 */
export function outdate(copy: CopyWriter, head: ConversationRecord, range?: Range): void {
  copy.setHead(head.id, {
    ranges: range ? uncover(head.ranges, range) : [],
    epoch: head.epoch + 1,
    firstCursor: Math.max(head.firstCursor, head.cursor ?? 0),
    unsureThrough: range ? head.unsureThrough : Number.MAX_SAFE_INTEGER,
    // What was told of marks meanwhile was missed.
    toldMarks: range ? head.toldMarks : 0,
  });
}

/** The user deleted a message for themselves: it is taken away, and kept away. */
export async function hideMessage(copy: CopyWriter, id: ConversationId, messageId: string): Promise<void> {
  await copy.rows.put("hidden", { conversationId: id, messageId });
  copy.setHead(id, { hasHidden: true });
  const message = await copy.rows.get("messages", [id, messageId], "id");
  if (message) await copy.rows.remove("messages", [id, message.seq]);
  await copy.releaseAttachments(message);
  await copy.rows.removeAll("revisions", within(id, messageId));
}
