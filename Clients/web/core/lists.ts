import type { ConversationList, ConversationRow, Folder, ListView, RowState } from "./client.ts";
import { hiddenIn, isShown } from "./copy/blocks.ts";
import { accountOf } from "./copy/copy.ts";
import type { Account, ConversationRecord, OutboxRow, Reading } from "./copy/database.ts";
import { within } from "./copy/database.ts";
import { shownDraft } from "./copy/drafts.ts";
import { isArchived, isMuted, shownMarks } from "./copy/marks.ts";
import { messagesBefore } from "./copy/messages.ts";
import { outboxOf } from "./copy/outbox-rows.ts";
import { answerIn, isRequest } from "./copy/requests.ts";
import { namedMembers } from "./limits.ts";
import { unsentMessage } from "./copy/timeline.ts";
import { LiveQueries, LiveQuery } from "./live.ts";
import { pendingLifetime } from "./copy/lifetimes.ts";
import { restricting } from "./permissions.ts";
import type { SyncEvent } from "./sync/events.ts";
import type { Conversation, ConversationId, Message } from "./model.ts";

// Conversations as a list shows them.

/** How many members a name is made of. */
const namesShown = 4;

export async function conversationRow(rows: Reading, head: ConversationRecord): Promise<ConversationRow> {
  const account = await accountOf(rows);
  const { userId, blocked } = account;
  const lastMessage = await lastShown(rows, head, account);
  const pending = await outboxOf(rows, head.id);
  const unsent = pending.findLast(({ write }) => write.kind === "send");
  const isPending = unsent !== undefined && unsent.messageId !== lastMessage?.id;
  const members = await rows.all("members", { ...within(head.id), limit: namesShown + 1 });
  let { title, permissions, messageLifetime } = head;
  for (const { write, state } of pending) {
    if (state !== "waiting") continue;
    if (write.kind === "rename") title = write.title;
    if (write.kind === "permissions") permissions = restricting(permissions, write.permissions);
    if (write.kind === "lifetime") messageLifetime = pendingLifetime(write.seconds, write.from);
  }
  const marks = shownMarks(head, pending);
  const others = members.map((member) => member.userId).filter((user) => user !== userId).slice(0, namesShown);
  const answer = isRequest(account, head.id) ? answerIn(pending) ?? "waiting" : undefined;
  const request = answer === "accepted" ? undefined : answer;
  const requester = answer && account.requests!.asked[head.id];
  // Before the members are loaded.
  if (!others.length && head.kind === "direct" && requester) others.push(requester);
  return {
    id: head.id,
    conversation: { ...conversationOf({ ...head, title, permissions, messageLifetime }), ...marks },
    others,
    preview: isPending ? unsentMessage(unsent, head.id, userId) : lastMessage,
    previewState: isPending ? unsentState(pending) : lastMessage && "stored",
    draft: shownDraft(head, pending),
    request,
    requester,
    isMember: !request && head.windows.at(-1)?.to === undefined,
    isBlocked: head.kind === "direct" && !!blocked?.includes(others[0] ?? ""),
    isMuted: isMuted(marks),
    isArchived: isArchived(marks, lastMessage?.seq ?? 0),
    joinRequested: head.joinRequested,
    scheduled: head.scheduled,
  };
}

function conversationOf(head: ConversationRecord): Conversation {
  const { id, kind, title, createdAt, lastSeq, memberCount, windows, clearedSeq, readSeq, deliveredSeq } = head;
  const { role, permissions, messageLifetime } = head;
  const lastActivityAt = head.lastActivityAt ?? createdAt;
  const [fields, positions] = [{ id, kind, title, createdAt, lastActivityAt }, {
    lastSeq,
    clearedSeq,
    readSeq,
    deliveredSeq,
  }];
  const about = { memberCount, role, permissions, messageLifetime, windows };
  return { ...fields, ...positions, ...about, unreadCount: head.unread ?? 0, unreadMentions: head.mentions };
}

async function lastShown(rows: Reading, head: ConversationRecord, account: Account): Promise<Message | undefined> {
  const isHidden = hiddenIn(account, head);
  const shows = (message: Message) => isShown(message, isHidden);
  return (await messagesBefore(rows, head.id, head.clearedSeq + 1, head.lastSeq, 1, shows))[0];
}

/** What waits behind a message that failed is not on its way. */
function unsentState(pending: OutboxRow[]): RowState {
  return pending.some(({ state }) => state === "failed") ? "failed" : "sending";
}

const inInbox = { isMuted: false, isArchived: false, isBlocked: false };

/** A conversation that the user creates, before the server knows it, or which it has refused. */
async function createdRow(rows: Reading, id: ConversationId): Promise<ConversationRow | null> {
  const pending = await outboxOf(rows, id);
  const created = pending.find(({ write, state }) => write.kind === "create" && state !== "refused");
  if (created?.write.kind !== "create") return null;
  const { members, title } = created.write;
  const [createdAt, none] = [created.at, { lastSeq: 0, clearedSeq: 0, readSeq: 0, deliveredSeq: 0, unreadCount: 0 }];
  const about = { id, kind: "group", title, createdAt, lastActivityAt: createdAt, memberCount: members.length + 1 };
  const conversation: Conversation = { ...about, ...none, role: "owner", windows: [{ from: 1 }] };
  const unsent = pending.findLast(({ write }) => write.kind === "send");
  const { userId } = await accountOf(rows);
  const preview = unsent && unsentMessage(unsent, id, userId);
  const [previewState, draft] = [preview && unsentState(pending), shownDraft(undefined, pending)];
  const others = members.slice(0, namesShown);
  return { id, conversation, others, preview, previewState, draft, isMember: true, ...inInbox };
}

export async function oneRow(rows: Reading, id: ConversationId): Promise<ConversationRow | null> {
  const head = await rows.get("conversations", id);
  if (!head?.headSeq) return await createdRow(rows, id);
  const row = await conversationRow(rows, head);
  return row.request === "declined" ? null : row;
}

/** What the user is asked about, without conversations with those whom they have blocked. */
export async function requestRows(rows: Reading): Promise<ConversationRow[]> {
  const ids = Object.keys((await accountOf(rows)).requests?.asked ?? {});
  const all = await Promise.all(ids.map((id) => oneRow(rows, id)));
  return all.filter((row) => row?.request && !row.isBlocked) as ConversationRow[];
}

/** Which conversations are pinned, and where, with what waits in the outbox. */
async function pinnedOrders(rows: Reading, outbox: OutboxRow[]): Promise<Map<ConversationId, number>> {
  const orders = new Map<ConversationId, number>();
  for (const { id, marks } of await rows.all("conversations", { index: "pinned" })) orders.set(id, marks!.pinOrder!);
  for (const { conversationId, write, state } of outbox) {
    if (write.kind !== "mark" || write.mark.of !== "pinned" || state !== "waiting") continue;
    if (write.mark.order === null) orders.delete(conversationId);
    else orders.set(conversationId, write.mark.order);
  }
  return orders;
}

/** Latest activity first, after the pinned ones by their order. */
async function headsInOrder(rows: Reading, outbox: OutboxRow[], limit: number): Promise<ConversationRecord[]> {
  const orders = await pinnedOrders(rows, outbox);
  const latest = await rows.all("conversations", { index: "activity", isDescending: true, limit: limit + orders.size });
  const pinned: ConversationRecord[] = [];
  for (const id of orders.keys()) {
    const head = latest.find((head) => head.id === id) ?? await rows.get("conversations", id);
    if (head?.headSeq) pinned.push(head);
  }
  pinned.sort((one, other) =>
    orders.get(one.id)! - orders.get(other.id)! || (one.lastActivityAt! < other.lastActivityAt! ? 1 : -1)
  );
  return [...pinned, ...latest.filter(({ id }) => !orders.has(id))].slice(0, limit);
}

/** A folder's conversations, the pinned first, then by their latest activity; before them those that are being created. */
export function conversationList(
  queries: LiveQueries,
  limit: number,
  look: (event: SyncEvent) => void,
  folder: Folder,
): ConversationList {
  let count = limit;
  const known = new Map<ConversationId, ConversationRow>();
  const stale = new Set<ConversationId>();
  const asked = new Set<ConversationId>();
  const searched = new Set<ConversationId>();
  const read = async (rows: Reading): Promise<ListView<ConversationRow>> => {
    const outbox = await rows.all("outbox");
    const created = folder === "inbox" ? outbox.filter(({ write }) => write.kind === "create") : [];
    const listed: ConversationRow[] = [];
    const { heads, hasMore } = await headsOf(rows, outbox);
    for (const { conversationId } of created) {
      const row = heads.some(({ id }) => id === conversationId) ? null : await createdRow(rows, conversationId);
      if (row) listed.push(row);
    }
    for (const head of heads) {
      const row = known.get(head.id)!;
      listed.push(row);
      // Of larger groups the members are not loaded for their names.
      const isNameless = !row.others.length && !head.title && head.memberCount > 1 && head.memberCount <= namedMembers;
      if (isNameless && !asked.has(head.id)) asked.add(head.id), look({ type: "lookAtMembers", conversation: head.id });
      // The copy may have nothing but messages that are not shown.
      if (!row.preview && head.topSeq && !searched.has(head.id)) {
        searched.add(head.id);
        look({ type: "look", conversation: head.id, place: "newest" });
      }
    }
    return { rows: listed, isLoaded: true, hasMore };
  };
  /** Those of the folder, for whose number more may have to be looked at. */
  const headsOf = async (rows: Reading, outbox: OutboxRow[]) => {
    for (let limit = count + 1;; limit *= 2) {
      const all = await headsInOrder(rows, outbox, limit);
      const heads: ConversationRecord[] = [];
      for (const head of all) {
        if (stale.delete(head.id) || !known.has(head.id)) {
          const row = await conversationRow(rows, head);
          known.set(head.id, row);
          queries.refreshAtEndOfMute(head.id, row.conversation.mutedUntil);
        }
        const { isArchived, request } = known.get(head.id)!;
        if (!request && isArchived === (folder === "archive")) heads.push(head);
      }
      if (heads.length > count || all.length < limit) {
        return { heads: heads.slice(0, count), hasMore: heads.length > count };
      }
    }
  };
  const initial = { rows: [], isLoaded: false, hasMore: false };
  const query = new LiveQuery<ListView<ConversationRow>>(queries, initial, (touched) => {
    if (touched.everything) known.clear();
    for (const id of [...touched.conversations, ...touched.members]) stale.add(id);
    return touched.everything || touched.outbox || touched.conversations.length > 0 || touched.members.length > 0;
  }, read);
  const extend = () => {
    if (!query.value.hasMore) return;
    count += limit;
    query.refresh();
  };
  return Object.assign(query, { extend });
}

export async function unreadTotal(rows: Reading, queries: LiveQueries): Promise<number> {
  const unread = await rows.all("conversations", { index: "unread" });
  const outbox = await rows.all("outbox");
  const account = await accountOf(rows);
  let sum = 0;
  for (const head of unread) {
    const marks = shownMarks(head, outbox.filter(({ conversationId }) => conversationId === head.id));
    queries.refreshAtEndOfMute(head.id, marks.mutedUntil);
    if (isMuted(marks)) continue;
    // What is not shown brings nothing back from the archive.
    const last = marks.archivedSeq === undefined ? 0 : (await lastShown(rows, head, account))?.seq ?? 0;
    if (!isArchived(marks, last)) sum += head.unread ?? 0;
  }
  return sum;
}

/** A mute holds for mentions, too. */
export async function isNews(rows: Reading, { conversationId, seq }: Message): Promise<boolean> {
  const head = await rows.get("conversations", conversationId);
  if (!head || seq <= Math.max(head.readSeq, head.clearedSeq)) return false;
  return !isMuted(shownMarks(head, await outboxOf(rows, conversationId)));
}
