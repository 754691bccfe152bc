import type { ConversationId, DeliveryStatus, Member, Message, Status, UserId } from "../model.ts";
import type { ReceiptsView } from "../client.ts";
import { namedMembers } from "../limits.ts";
import { accountOf, type CopyWriter } from "./copy.ts";
import { type ConversationRecord, type HorizonRecord, type Reading, type ReceiptRecord, within } from "./database.ts";
import { messagesBefore } from "./messages.ts";
import { outboxOf } from "./outbox-rows.ts";

const order: (DeliveryStatus | undefined)[] = [undefined, "sent", "delivered", "read"];

// Storing.

type Receipts = Pick<
  Message,
  "status" | "dateDelivered" | "dateRead" | "deliveredCount" | "readCount" | "recipientCount"
>;

/** Stores what a response says about the receipts of an own message. Counts and states only grow. */
export async function storeReceipts(copy: CopyWriter, id: ConversationId, seq: number, told: Receipts): Promise<void> {
  const known: ReceiptRecord = await copy.rows.get("receipts", [id, seq]) ??
    { conversationId: id, seq, deliveredCount: 0, readCount: 0 };
  await copy.rows.put("receipts", {
    ...known,
    status: order.indexOf(told.status) > order.indexOf(known.status) ? told.status : known.status,
    deliveredCount: Math.max(known.deliveredCount, told.deliveredCount ?? 0),
    readCount: Math.max(known.readCount, told.readCount ?? 0),
    recipientCount: told.recipientCount ?? known.recipientCount,
    dateDelivered: known.dateDelivered ?? told.dateDelivered,
    dateRead: known.dateRead ?? told.dateRead,
  });
  copy.showReceipts(id);
}

export async function applyStatus(copy: CopyWriter, status: Status): Promise<void> {
  const id = status.conversationId;
  const head = await copy.head(id);
  if (!head) return;
  await moveHorizons(copy, id, status.delivered ?? {}, status.read ?? {});
  for (const { seq, ...counts } of status.counts ?? []) await storeReceipts(copy, id, seq, counts);
  copy.setHead(id, { statusVersion: Math.max(head.statusVersion, status.statusVersion) }, false);
}

/** Who has read has received. */
async function moveHorizons(
  copy: CopyWriter,
  id: ConversationId,
  delivered: Record<UserId, number>,
  read: Record<UserId, number>,
): Promise<void> {
  const known = await copy.rows.get("horizons", id);
  const horizons: HorizonRecord = {
    conversationId: id,
    delivered: { ...known?.delivered },
    read: { ...known?.read },
  };
  for (const [user, seq] of [...Object.entries(delivered), ...Object.entries(read)]) {
    raise(horizons.delivered, user, seq);
  }
  for (const [user, seq] of Object.entries(read)) raise(horizons.read, user, seq);
  await copy.rows.put("horizons", horizons);
  copy.showReceipts(id);
}

function raise(positions: Record<UserId, number>, user: UserId, seq: number): void {
  positions[user] = Math.max(positions[user] ?? 0, seq);
}

export async function storeMembers(
  copy: CopyWriter,
  head: ConversationRecord,
  members: Member[],
  isFirstPage: boolean,
): Promise<void> {
  const { id } = head;
  if (isFirstPage) await copy.rows.removeAll("members", within(id));
  for (const { userId, role, joinedSeq } of members) {
    await copy.rows.put("members", { conversationId: id, userId, role, joinedSeq });
  }
  copy.showMembers(id);
  if (head.memberCount > namedMembers) return;
  const delivered = Object.fromEntries(members.map(({ userId, deliveredSeq }) => [userId, deliveredSeq]));
  await moveHorizons(copy, id, delivered, Object.fromEntries(members.map(({ userId, readSeq }) => [userId, readSeq])));
}

// Reading.

/** The members that are known, in the order of their ids. A conversation's list is loaded when somebody looks at it. */
export async function membersOf(rows: Reading, id: ConversationId, limit?: number): Promise<Member[]> {
  const members = await rows.all("members", { ...within(id), limit });
  const horizons = await rows.get("horizons", id);
  return members.map(({ userId, role, joinedSeq }) => {
    const [deliveredSeq, readSeq] = [horizons?.delivered[userId] ?? 0, horizons?.read[userId] ?? 0];
    return { userId, role, joinedSeq, deliveredSeq, readSeq };
  });
}

/** So many of the last messages are looked through for one of the user's own. */
const messagesRead = 200;

/** The receipts of the last message that the user sent and has not deleted, if it is one of these. */
export async function lastReceipts(rows: Reading, id: ConversationId): Promise<ReceiptsView | null> {
  const head = await rows.get("conversations", id);
  if (!head) return null;
  const { userId } = await accountOf(rows);
  const waiting = (await outboxOf(rows, id)).filter(({ write, state }) =>
    write.kind === "delete" && state === "waiting"
  );
  const deleted = waiting.map(({ messageId }) => messageId);
  const messages = await messagesBefore(rows, id, head.clearedSeq + 1, head.lastSeq, messagesRead);
  const own = messages.findLast(({ id, senderId, kind, deletedForEveryone }) => {
    return senderId === userId && kind !== "system" && !deletedForEveryone && !deleted.includes(id);
  });
  return own ? await receiptsOf(rows, id, own) : null;
}

/**
 * The receipts of one of the user's own messages: what the server has counted, or what the horizons of the other members
 * say if that is more. Who joined later is no recipient.
 */
export async function receiptsOf(rows: Reading, id: ConversationId, message: Message): Promise<ReceiptsView> {
  const { id: messageId, seq } = message;
  const head = await rows.get("conversations", id);
  const told = await rows.get("receipts", [id, seq]);
  const horizons = await rows.get("horizons", id);
  const { userId } = await accountOf(rows);
  const users = Object.keys(horizons?.delivered ?? {}).filter((user) => user !== userId);
  const joined = await Promise.all(users.map((user) => rows.get("members", [id, user])));
  const recipients = users.filter((_, index) => (joined[index]?.joinedSeq ?? 0) <= seq);
  const countOf = (positions?: Record<UserId, number>) =>
    recipients.filter((user) => (positions?.[user] ?? 0) >= seq).length;
  const deliveredCount = Math.max(told?.deliveredCount ?? 0, countOf(horizons?.delivered));
  const readCount = Math.max(told?.readCount ?? 0, countOf(horizons?.read));
  const recipientCount = told?.recipientCount ?? (head ? head.memberCount - 1 : undefined);
  const { dateDelivered, dateRead } = told ?? {};
  let status = told?.status ?? "sent";
  if (recipientCount && readCount >= recipientCount) status = "read";
  else if (recipientCount && deliveredCount >= recipientCount && status !== "read") status = "delivered";
  return { messageId, status, deliveredCount, readCount, recipientCount, dateDelivered, dateRead };
}
