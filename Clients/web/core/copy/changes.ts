import type { Change, ConversationId, History, PrivateChange, Window } from "../model.ts";
import { restricting } from "../permissions.ts";
import type { Place } from "../sync/events.ts";
import { clearHistory, followFrom, hideMessage, outdate } from "./apply.ts";
import { applyBlock, hiddenIn, isShown } from "./blocks.ts";
import type { CopyWriter } from "./copy.ts";
import type { ConversationRecord } from "./database.ts";
import { dropDrafts, tellDraft } from "./drafts.ts";
import { applyMark, drafted, markKinds, moveRead } from "./marks.ts";
import { storeMessage } from "./messages.ts";
import { cover, coveredBy, rangeAt } from "./ranges.ts";
import { forgetSent } from "./outbox-rows.ts";
import { trimHistory } from "./retention.ts";
import { applyRequest, forgetRequest, isRequest, outdateRequests } from "./requests.ts";
import { isUnread } from "./unread.ts";

// Changes of a conversation, of the private stream, and pages of history, in the copy.

/** Applying a change again changes nothing. */
export async function applyChange(copy: CopyWriter, change: Change, movesCursor: boolean): Promise<void> {
  const { conversationId: id, seq, message } = change;
  const known = await copy.headOrNew(id);
  // Where every message is stored, one that is missing was deleted by the user for themselves.
  const isAway = message && message.seq < seq && rangeAt(known.ranges, message.seq) &&
    !await copy.rows.get("messages", [id, message.seq]);
  if (message && !isAway) await storeMessage(copy, id, message);
  if (change.keptFrom !== undefined) await trimHistory(copy, id, change.keptFrom);
  await applyToHead(copy, (await copy.head(id))!, change);
  if (movesCursor) moveCursor(copy, (await copy.head(id))!, seq);
  // Members and titles are shown by messages of the system, which the change does not carry: these positions stay
  // uncovered until somebody looks at them.
  const { ranges, unsureThrough = 0 } = (await copy.head(id))!;
  if (!isShownWithoutMessage(change) && seq > unsureThrough) copy.setHead(id, { ranges: cover(ranges, [seq, seq]) });
  if (change.kind !== "message.created" || !message) return;
  await forgetSent(copy, id, message);
  const isHidden = hiddenIn(copy.account, (await copy.head(id))!);
  if (movesCursor && isShown(message, isHidden) && isUnread(message, copy.account.userId)) copy.announce(message);
}

function moveCursor(copy: CopyWriter, head: ConversationRecord, seq: number): void {
  if (head.cursor === undefined) followFrom(copy, head, seq);
  else copy.setHead(head.id, { cursor: Math.max(head.cursor, seq) });
}

const carryTheirMessage = [
  ...["message.created", "message.edited", "message.deleted", "message.pinned", "message.unpinned"],
  ...["tapback.set", "tapback.removed", "poll.voted", "poll.closed"],
];
const notShown = ["conversation.created", "permissions.changed", "lifetime.changed", "history.trimmed"];
const shownBySystem = ["member.added", "member.removed", "member.changed", "conversation.renamed"];

/** Whether the history may show it by a message that the change does not carry. */
function isShownWithoutMessage({ kind, message }: Change): boolean {
  if (shownBySystem.includes(kind)) return true;
  return !message && !notShown.includes(kind) && !carryTheirMessage.includes(kind);
}

async function applyToHead(copy: CopyWriter, head: ConversationRecord, change: Change): Promise<void> {
  const { id } = head;
  // The server has told more already, or nothing yet: then it is asked.
  if (!head.headSeq || change.seq <= head.headSeq) return;
  // What goes by itself is no activity.
  const isOver = change.kind === "history.trimmed" || change.message?.expired && change.kind === "message.deleted";
  const lastActivityAt = isOver ? head.lastActivityAt : change.at;
  copy.setHead(id, { headSeq: change.seq, lastSeq: Math.max(head.lastSeq, change.seq), lastActivityAt });
  if (change.kind === "conversation.renamed") return copy.setHead(id, { title: change.title });
  if (change.kind === "lifetime.changed") return copy.setHead(id, { messageLifetime: change.messageLifetime });
  if (change.permissions) return copy.setHead(id, { permissions: restricting(change.permissions) });
  const { userId, role, seq } = change;
  if (userId === undefined || role === undefined) return;
  const isOwn = userId === copy.account.userId;
  if (change.kind === "member.added") {
    const windows = isOwn ? joinedAt(head.windows, seq) : head.windows;
    copy.setHead(id, { memberCount: head.memberCount + 1, windows, role: isOwn ? role : head.role });
    await copy.rows.put("members", { conversationId: id, userId, role, joinedSeq: seq });
  } else if (change.kind === "member.removed") {
    const windows = isOwn ? leftAt(head.windows, seq) : head.windows;
    // Former members are not told who may do what, and how long messages stay.
    const { permissions, messageLifetime } = isOwn ? {} as Partial<ConversationRecord> : head;
    copy.setHead(id, { memberCount: Math.max(0, head.memberCount - 1), windows, permissions, messageLifetime });
    await copy.rows.remove("members", [id, userId]);
  } else if (change.kind === "member.changed") {
    const member = await copy.rows.get("members", [id, userId]);
    if (member) await copy.rows.put("members", { ...member, role });
    if (isOwn) copy.setHead(id, { role });
  }
  copy.showMembers(id);
}

function joinedAt(windows: Window[], seq: number): Window[] {
  const last = windows.at(-1);
  return !last || last.to !== undefined && seq > last.to ? [...windows, { from: seq }] : windows;
}

function leftAt(windows: Window[], seq: number): Window[] {
  const last = windows.at(-1);
  return last && last.to === undefined ? [...windows.slice(0, -1), { ...last, to: seq }] : windows;
}

// The private stream.

/** Applies a private change, and moves the cursor if it is the next one. Changes that were applied are passed over. */
export async function applyPrivateChange(copy: CopyWriter, change: PrivateChange): Promise<void> {
  const useq = copy.account.useq ?? 0;
  if (change.useq <= useq) return;
  await applyNew(copy, change);
  if (change.useq === useq + 1) copy.setAccount({ useq: change.useq });
}

async function applyNew(copy: CopyWriter, change: PrivateChange): Promise<void> {
  const { conversationId: id, kind } = change;
  if (id === undefined) return kind === "settings.changed" ? applyOwnSettings(copy, change) : undefined;
  if (kind === "conversation.joined") return await join(copy, id, change.lastSeq ?? 0);
  if (kind === "conversation.removed") return await copy.discard(id);
  // A response that was asked for before may be what the conversation begins with here.
  if (markKinds.includes(kind)) return applyMark(copy, await copy.headOrNew(id), change);
  if (kind === "draft") {
    await copy.headOrNew(id);
    await tellDraft(copy, id, change.draft);
    return copy.setHead(id, { toldMarks: ((await copy.head(id))!.toldMarks ?? 0) | drafted });
  }
  if (kind === "conversation.left" || change.blocked) await dropDrafts(copy, id);
  if (kind === "request" || kind === "conversation.left") return await applyRequest(copy, id, change);
  if (kind === "blocked") {
    await applyBlock(copy, change);
    outdateRequests(copy);
    return await moveWindow(copy, id, !change.blocked);
  }
  const head = await copy.head(id);
  if (!head) return;
  if (kind === "message.hidden" && change.messageId !== undefined) await hideMessage(copy, id, change.messageId);
  else if (kind === "history.cleared") await clearHistory(copy, id, change.throughSeq ?? 0);
  else if (kind === "join.requested") copy.setHead(id, { joinRequested: change.useq });
  else if (kind === "scheduled") copy.setHead(id, { scheduled: change.useq });
  else if (kind === "read.moved") moveRead(copy, head, change.readSeq ?? 0);
  else if (kind === "settings.changed") {
    copy.setHead(id, { settings: { readReceipts: change.readReceipts ?? true, inherited: change.inherited ?? [] } });
  }
}

/**
 * A window of the direct conversation has ended or begun, which no change tells. Messages of before may have changed unseen
 * until it began, which also brings it back into the list.
 */
async function moveWindow(copy: CopyWriter, id: ConversationId, isOpen: boolean): Promise<void> {
  const head = isOpen ? await copy.headOrNew(id) : await copy.head(id);
  if (isOpen) outdate(copy, head!, [1, Math.max(1, head!.headSeq, head!.cursor ?? 0)]);
  if (head) copy.setHead(id, { needsHead: true });
}

function applyOwnSettings(copy: CopyWriter, { readReceipts, presence }: PrivateChange): void {
  const known = copy.account.settings;
  if (!known && (readReceipts === undefined || presence === undefined)) return;
  copy.setAccount({
    settings: {
      readReceipts: readReceipts ?? known?.readReceipts ?? true,
      presence: presence ?? known?.presence ?? true,
    },
  });
}

/** The user is in the conversation, perhaps again: then the messages of earlier stays may have changed unseen. */
async function join(copy: CopyWriter, id: ConversationId, lastSeq: number): Promise<void> {
  const head = await copy.headOrNew(id);
  forgetRequest(copy, id);
  if (head.cursor === undefined) {
    followFrom(copy, head, lastSeq);
  } else if (lastSeq > 0) {
    outdate(copy, head, [1, lastSeq]);
    const { firstCursor } = (await copy.head(id))!;
    copy.setHead(id, { firstCursor: Math.max(firstCursor, lastSeq) });
  }
  // Who else came and went in between is in no change.
  copy.setHead(id, { needsHead: true });
}

// Pages of history.

/**
 * Stores a page. One of before the copy followed the conversation is ignored: changes may be missing from it that never
 * come. So is one of a request from before it was read again.
 */
export async function storePage(copy: CopyWriter, id: ConversationId, page: History, place: Place): Promise<void> {
  const head = await copy.head(id);
  if (!head || head.cursor === undefined && !isRequest(copy.account, id)) return;
  if (page.lastSeq < (head.cursor === undefined ? head.headSeq : head.firstCursor)) return;
  for (const message of page.messages) await storeMessage(copy, id, message);
  copy.show(id);
  const covered = coveredBy(page, place);
  if (!covered) return;
  // A message that the copy has and the page has not was deleted by the user for themselves, perhaps so long ago that the
  // private stream does not tell any more.
  const present = new Set(page.messages.map(({ seq }) => seq));
  for (const message of await copy.rows.all("messages", { from: [id, covered[0]], to: [id, covered[1]] })) {
    if (!present.has(message.seq)) await hideMessage(copy, id, message.id);
  }
  copy.setHead(id, { ranges: cover((await copy.head(id))!.ranges, covered) });
}
