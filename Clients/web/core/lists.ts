import type { ConversationList, ConversationRow, ListView } from "./client.ts";
import { accountOf } from "./copy/copy.ts";
import type { ConversationRecord, Reading } from "./copy/database.ts";
import { within } from "./copy/database.ts";
import { messagesBefore } from "./copy/messages.ts";
import { outboxOf } from "./copy/outbox-rows.ts";
import { unsentMessage } from "./copy/timeline.ts";
import { LiveQueries, LiveQuery } from "./live.ts";
import type { Conversation, ConversationId } from "./model.ts";

// Conversations as a list shows them.

/** Of larger groups without a title the members are not loaded for their names. */
const mostNamed = 50;
/** How many members a name is made of. */
const namesShown = 4;

export async function conversationRow(rows: Reading, head: ConversationRecord): Promise<ConversationRow> {
  const { userId } = await accountOf(rows);
  const [lastMessage] = await messagesBefore(rows, head.id, head.clearedSeq + 1, head.lastSeq, 1);
  const pending = await outboxOf(rows, head.id);
  const unsent = pending.findLast(({ write }) => write.kind === "send");
  const isPending = unsent !== undefined && unsent.messageId !== lastMessage?.id;
  const members = await rows.all("members", { ...within(head.id), limit: namesShown + 1 });
  const renamed = pending.findLast(({ write, state }) => write.kind === "rename" && state === "waiting")?.write;
  const title = renamed?.kind === "rename" ? renamed.title : head.title;
  return {
    id: head.id,
    conversation: conversationOf({ ...head, title }),
    others: members.map((member) => member.userId).filter((user) => user !== userId).slice(0, namesShown),
    preview: isPending ? unsentMessage(unsent, head.id, userId) : lastMessage,
    previewState: isPending ? unsent.state === "failed" ? "failed" : "sending" : lastMessage && "stored",
    draft: (await rows.get("drafts", head.id))?.text,
    isMember: head.windows.at(-1)?.to === undefined,
  };
}

function conversationOf(head: ConversationRecord): Conversation {
  const { id, kind, title, createdAt, lastSeq, memberCount, role, windows, clearedSeq, readSeq, deliveredSeq } = head;
  const lastActivityAt = head.lastActivityAt ?? createdAt;
  const [fields, positions] = [{ id, kind, title, createdAt, lastActivityAt }, {
    lastSeq,
    clearedSeq,
    readSeq,
    deliveredSeq,
  }];
  return { ...fields, ...positions, memberCount, role, windows, unreadCount: head.unread ?? 0 };
}

/** A conversation that the user creates, before the server knows it. */
async function createdRow(rows: Reading, id: ConversationId): Promise<ConversationRow | null> {
  const pending = await outboxOf(rows, id);
  const created = pending.find(({ write, state }) => write.kind === "create" && state === "waiting");
  if (created?.write.kind !== "create") return null;
  const { members, title } = created.write;
  const [createdAt, none] = [created.at, { lastSeq: 0, clearedSeq: 0, readSeq: 0, deliveredSeq: 0, unreadCount: 0 }];
  const about = { id, kind: "group", title, createdAt, lastActivityAt: createdAt, memberCount: members.length + 1 };
  const conversation: Conversation = { ...about, ...none, role: "owner", windows: [{ from: 1 }] };
  const unsent = pending.findLast(({ write }) => write.kind === "send");
  const { userId } = await accountOf(rows);
  const preview = unsent && unsentMessage(unsent, id, userId);
  return { id, conversation, others: members.slice(0, namesShown), preview, isMember: true };
}

export async function oneRow(rows: Reading, id: ConversationId): Promise<ConversationRow | null> {
  const head = await rows.get("conversations", id);
  return head?.headSeq ? await conversationRow(rows, head) : await createdRow(rows, id);
}

/** The conversations by their latest activity, before them those that are being created. */
export function conversationList(
  queries: LiveQueries,
  limit: number,
  lookAtMembers: (id: ConversationId) => void,
): ConversationList {
  let count = limit;
  const known = new Map<ConversationId, ConversationRow>();
  const stale = new Set<ConversationId>();
  const asked = new Set<ConversationId>();
  const read = async (rows: Reading): Promise<ListView<ConversationRow>> => {
    const heads = await rows.all("conversations", { index: "activity", isDescending: true, limit: count + 1 });
    const created = (await rows.all("outbox")).filter(({ write }) => write.kind === "create");
    const listed: ConversationRow[] = [];
    for (const { conversationId } of created) {
      const row = heads.some(({ id }) => id === conversationId) ? null : await createdRow(rows, conversationId);
      if (row) listed.push(row);
    }
    for (const head of heads.slice(0, count)) {
      if (stale.delete(head.id) || !known.has(head.id)) known.set(head.id, await conversationRow(rows, head));
      const row = known.get(head.id)!;
      listed.push(row);
      const isNameless = !row.others.length && !head.title && head.memberCount > 1 && head.memberCount <= mostNamed;
      if (isNameless && !asked.has(head.id)) asked.add(head.id), lookAtMembers(head.id);
    }
    return { rows: listed, isLoaded: true, hasMore: heads.length > count };
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

export async function unreadTotal(rows: Reading): Promise<number> {
  const unread = await rows.all("conversations", { index: "unread" });
  return unread.reduce((sum, head) => sum + (head.unread ?? 0), 0);
}
