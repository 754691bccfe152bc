import type {
  Conversation,
  ConversationId,
  ConversationSettings,
  Message,
  MessageId,
  Problem,
  Settings,
} from "../model.ts";
import { joined, type PendingFile, type PendingWrite } from "../outbox/writes.ts";
import { clearHistory, hideMessage, storeAlone, storeConversation } from "./apply.ts";
import { completeBlock, enqueueBlock, showBlocks } from "./blocks.ts";
import { accountOf, type CopyWriter } from "./copy.ts";
import type { ConversationRecord, OutboxRow, Reading } from "./database.ts";
import { enqueueDraft, finishDraft } from "./drafts.ts";
import { completeMark, moveRead } from "./marks.ts";
import { forgetPreviews, messageById } from "./messages.ts";
import { answerIn, answers, completeRequest, dropUntriedDecisions, isRequest } from "./requests.ts";

// Writing: what the user does is a row before it is anything else.

export interface NewWrite {
  write: PendingWrite;
  /** Empty for the user's own settings and blocks. */
  conversationId: ConversationId;
  messageId?: MessageId;
  at: string;
  /** New for each. */
  idempotencyKey: string;
}

/**
 * Stores what the user did, or joins it to what waits: the text of a message that no request was made with yet is
 * replaced, a later tapback takes the place of an earlier one, and so on.
 */
export async function enqueue(copy: CopyWriter, { write, ...about }: NewWrite): Promise<void> {
  const { conversationId, messageId } = about;
  copy.showOutbox();
  if (write.kind === "block") return await enqueueBlock(copy, { ...about, write, state: "waiting", wasTried: false });
  if (conversationId) copy.show(conversationId);
  if (write.kind === "draft") {
    return await enqueueDraft(copy, { ...about, write, state: "waiting", wasTried: false }, write.draft);
  }
  const head = await copy.head(conversationId);
  const rows = await outboxOf(copy.rows, conversationId);
  // Who asks must not learn that they are read.
  const isUnseen = isRequest(copy.account, conversationId) && answerIn(rows) !== "accepted";
  if (write.kind === "read" && isUnseen) return;
  if (write.kind === "read" && head) await readTo(copy, head, write.seq);
  if (write.kind === "mark") write = { ...write, after: head?.marksVersion ?? 0 };
  if (write.kind === "accept" || write.kind === "decline") await dropUntriedDecisions(copy, rows);
  const unsent = rows.find((row) => row.write.kind === "send" && row.messageId === messageId && isUnknown(row));
  if (messageId !== undefined && unsent && await joinUnsent(copy, unsent, write)) return;
  const untried = rows.filter((row) => row.messageId === messageId && row.state === "waiting" && !row.wasTried);
  const last = untried.findLast((row) => row.write.kind === write.kind);
  const both = last && joined(last.write, write);
  if (both) return await copy.rows.put("outbox", { ...last, write: both });
  // What would happen to a message before its deletion need not happen.
  if (write.kind === "delete") { for (const { key } of untried) await copy.rows.remove("outbox", key); }
  await copy.rows.append("outbox", { ...about, write, state: "waiting", wasTried: false });
}

/** Who reads on after marking does not want the mark. */
async function readTo(copy: CopyWriter, head: ConversationRecord, seq: number): Promise<void> {
  for (const { key, write, wasTried } of seq > head.readSeq ? await outboxOf(copy.rows, head.id) : []) {
    const isMark = write.kind === "mark" && write.mark.of === "unread";
    if (isMark && !wasTried) await copy.rows.remove("outbox", key);
  }
  moveRead(copy, head, seq);
}

/** A message that the server cannot have: it was not sent, or was refused. */
function isUnknown(row: OutboxRow): boolean {
  return !row.wasTried || row.state === "failed";
}

/** An edited message is sent with its new text, also if it was refused; a deleted one is not sent. */
async function joinUnsent(copy: CopyWriter, unsent: OutboxRow, write: PendingWrite): Promise<boolean> {
  if (write.kind === "delete") {
    await discardUnsent(copy, unsent.conversationId, unsent.messageId!);
    return true;
  }
  const both = joined(unsent.write, write);
  if (both && unsent.state === "failed") {
    await copy.rows.put("outbox", waiting(unsent, await withFilesAnew(copy, { ...unsent, write: both })));
    await askAgain(copy, unsent.conversationId);
  } else if (both) await copy.rows.put("outbox", { ...unsent, write: both });
  return both !== undefined;
}

function waiting(row: OutboxRow, write = row.write): OutboxRow {
  return { ...row, write, state: "waiting", wasTried: false, problem: undefined };
}

/** Notes that requests with these rows are about to be made. */
export async function markTried(copy: CopyWriter, rows: OutboxRow[]): Promise<void> {
  for (const row of rows) if (!row.wasTried) await copy.rows.put("outbox", { ...row, wasTried: true });
}

// By the user.

/**
 * Sends a refused message again, and asks again for its conversation where that was refused. If the message's id is in use for
 * something else, it gets the new one.
 */
export async function retry(copy: CopyWriter, id: ConversationId, message: MessageId, newId: MessageId): Promise<void> {
  const rows = await outboxOf(copy.rows, id);
  const failed = rows.find((row) => row.messageId === message && row.state === "failed");
  if (!failed) return;
  copy.showOutbox();
  copy.show(id);
  await copy.rows.put("outbox", waiting(failed, await withFilesAnew(copy, failed)));
  await askAgain(copy, id);
  if (failed.problem?.code === "conflict") await rename(copy, id, message, newId);
}

async function askAgain(copy: CopyWriter, id: ConversationId): Promise<void> {
  const creation = (await outboxOf(copy.rows, id)).find(isRefusedCreation);
  if (creation) await copy.rows.put("outbox", waiting(creation));
}

/** Where the server has not, or has refused, what a message carries, that is uploaded again. */
async function withFilesAnew(copy: CopyWriter, { write, problem }: OutboxRow): Promise<PendingWrite> {
  const isOfFiles = ["mediaNotReady", "mediaRefused", "notFound"].includes(problem?.code ?? "");
  if (write.kind !== "send" || !write.files || !isOfFiles) return write;
  for (const { upload } of write.files) if (upload) await copy.release({ id: upload, isUpload: true });
  return { ...write, files: write.files.map((file) => ({ ...file, upload: undefined, attachment: undefined })) };
}

async function rename(copy: CopyWriter, id: ConversationId, old: MessageId, messageId: MessageId): Promise<void> {
  for (const row of await outboxOf(copy.rows, id)) {
    const { write } = row;
    if (row.messageId === old) await copy.rows.put("outbox", { ...row, messageId });
    if (write.kind === "send" && write.replyTo === old) {
      await copy.rows.put("outbox", { ...row, write: { ...write, replyTo: messageId } });
    }
  }
}

/** Takes back a message that the server does not have, with what was done to it since. */
export async function discardUnsent(copy: CopyWriter, id: ConversationId, message: MessageId): Promise<void> {
  for (const row of await outboxOf(copy.rows, id)) {
    if (row.messageId !== message) continue;
    await copy.rows.remove("outbox", row.key);
    await releaseFiles(copy, row, true);
  }
  await settleRefusedCreation(copy, id);
  copy.showOutbox();
  copy.show(id);
}

/** What was to be sent is not needed on this device any more, nor, if it is not sent, on the server. */
async function releaseFiles(copy: CopyWriter, { write }: OutboxRow, isDiscarded = false): Promise<void> {
  for (const { key, upload } of write.kind === "send" ? write.files ?? [] : []) {
    await copy.release({ id: key });
    if (upload && isDiscarded) await copy.release({ id: upload, isUpload: true });
  }
}

/** The user was told that a write was refused. */
export async function dismiss(copy: CopyWriter, key: number): Promise<void> {
  if ((await copy.rows.get("outbox", key))?.state === "refused") await copy.rows.remove("outbox", key);
  copy.showOutbox();
}

// By the server.

/**
 * The server has carried a write out: it leaves the outbox in the transaction that stores what it did. Returns whether the
 * user is in the conversation by that, so that the server has to be asked about it.
 */
export async function complete(copy: CopyWriter, row: OutboxRow, body: unknown): Promise<boolean> {
  if (row.write.kind === "draft") return await finishDraft(copy, row), false;
  await storeResponse(copy, row, body);
  await storeUntold(copy, row);
  await copy.rows.remove("outbox", row.key);
  const { write } = row;
  if (write.kind === "block") await completeBlock(copy, write.user, write.isBlocked, write.after);
  await releaseFiles(copy, row);
  copy.showOutbox();
  if (row.conversationId) copy.show(row.conversationId);
  return await completeRequest(copy, write, row.conversationId) || write.kind === "create";
}

async function storeResponse(copy: CopyWriter, { write, conversationId }: OutboxRow, body: unknown): Promise<void> {
  const head = await copy.head(conversationId);
  const tells = write.kind === "tapback" ? write.tapback !== null : write.kind === "pinMessage" && write.pins;
  if (["send", "edit", "vote", "closePoll"].includes(write.kind) || tells) {
    await storeAlone(copy, body as Message);
  } else if (["create", "rename", "permissions", "lifetime"].includes(write.kind)) {
    // The user may have taken it out of the list since.
    if (head || write.kind === "create") await storeConversation(copy, body as Conversation, false);
  } else if (write.kind === "settings") {
    copy.setAccount({ settings: body as Settings });
  } else if (write.kind === "conversationSettings" && head) {
    copy.setHead(conversationId, { settings: body as ConversationSettings });
  }
}

/**
 * What the response does not tell is done to the copy, so that nothing flickers until the change arrives, which then is the
 * newer state.
 */
async function storeUntold(copy: CopyWriter, row: OutboxRow): Promise<void> {
  const { write, conversationId, messageId, at, wasTried } = row;
  if (!await copy.head(conversationId)) return;
  if (write.kind === "mark") return await completeMark(copy, conversationId, write.mark, write.after);
  if (write.kind === "clear") return await clearHistory(copy, conversationId, write.through);
  // The private stream tells of a conversation that left the list, before it may tell that the user came back.
  if (messageId === undefined) return;
  if (write.kind === "delete" && write.scope === "me") return await hideMessage(copy, conversationId, messageId);
  const message = await messageById(copy.rows, conversationId, messageId);
  if (!message) return;
  if (write.kind === "delete") {
    await copy.rows.put("messages", buried(message, at));
    await forgetPreviews(copy, message);
    await copy.releaseAttachments(message);
    await copy.rows.remove("revisions", [conversationId, messageId]);
    // The response to a repetition may be older than a tapback of another device, which must stay.
  } else if (write.kind === "tapback" && write.tapback === null && !wasTried) {
    await copy.rows.put("messages", withTapback(message, null, copy.account.userId));
  } else if (write.kind === "pinMessage" && !write.pins && !wasTried) {
    await copy.rows.put("messages", { ...message, pinned: undefined });
  }
}

/**
 * The server has refused a write for good. A message fails, and so does a conversation for which one was written; anything else
 * is undone, and the user is to be told.
 */
export async function refuse(copy: CopyWriter, row: OutboxRow, problem: Problem): Promise<void> {
  copy.showOutbox();
  if (row.conversationId) copy.show(row.conversationId);
  // It may have been joined or taken back since.
  const present = await copy.rows.get("outbox", row.key);
  if (!present) return;
  if (row.write.kind === "draft") await finishDraft(copy, row, problem);
  else if (row.write.kind === "send") await fail(copy, present, problem);
  else if (row.write.kind === "create" && (await outboxOf(copy.rows, row.conversationId)).some(isMessage)) {
    await copy.rows.put("outbox", { ...present, state: "failed", problem });
    await settleRefusedCreation(copy, row.conversationId);
  } // Nobody waits for these.
  else if (row.write.kind === "read") await copy.rows.remove("outbox", row.key);
  else await copy.rows.put("outbox", { ...present, state: "refused", problem });
  if (row.write.kind === "block") await showBlocks(copy);
}

const isMessage = ({ write }: OutboxRow) => write.kind === "send";
const isRefusedCreation = ({ write, state }: OutboxRow) => write.kind === "create" && state === "failed";

/** A conversation that was refused stays while there are messages for it, and the first of them has failed by that. */
async function settleRefusedCreation(copy: CopyWriter, id: ConversationId): Promise<void> {
  const rows = await outboxOf(copy.rows, id);
  const [creation, first] = [rows.find(isRefusedCreation), rows.find(isMessage)];
  if (creation && !first) { for (const { key } of rows) await copy.rows.remove("outbox", key); }
  if (creation && first?.state === "waiting") await fail(copy, first, creation.problem!);
}

/** Later writes to a message that the server will never have join it now. */
async function fail(copy: CopyWriter, row: OutboxRow, problem: Problem): Promise<void> {
  const { conversationId, messageId } = row;
  let { write } = row;
  for (const later of await outboxOf(copy.rows, conversationId)) {
    if (later.messageId !== messageId || later.key <= row.key) continue;
    if (later.write.kind === "delete") return await discardUnsent(copy, conversationId, messageId!);
    write = joined(write, later.write) ?? write;
    await copy.rows.remove("outbox", later.key);
  }
  await copy.rows.put("outbox", { ...row, write, state: "failed", problem });
}

/** A message came back by the stream: its row is done, whatever becomes of the request. */
export async function forgetSent(copy: CopyWriter, id: ConversationId, message: Message): Promise<void> {
  if (message.senderId !== copy.account.userId) return;
  for (const row of await outboxOf(copy.rows, id)) {
    if (row.messageId !== message.id || row.write.kind !== "send") continue;
    await copy.rows.remove("outbox", row.key);
    await releaseFiles(copy, row);
    copy.showOutbox();
  }
}

// Files, as they are uploaded.

/** Notes what became of a file. False: its message was discarded meanwhile. */
export async function setFile(copy: CopyWriter, key: number, changed: PendingFile): Promise<boolean> {
  const row = await copy.rows.get("outbox", key);
  if (row?.write.kind !== "send" || !row.write.files?.some((file) => file.key === changed.key)) return false;
  const files = row.write.files.map((file) => file.key === changed.key ? changed : file);
  await copy.rows.put("outbox", { ...row, write: { ...row.write, files } });
  copy.show(row.conversationId);
  copy.showOutbox();
  return true;
}

// Reading.

export function outboxOf(rows: Reading, conversationId: ConversationId): Promise<OutboxRow[]> {
  return rows.all("outbox", { index: "conversation", from: conversationId, to: conversationId });
}

/**
 * The rows that may be sent: not the messages behind one that failed, nothing behind a conversation that was refused, and no
 * draft in one that is being created, or not accepted. Where an answer waits that accepts, all else waits for it.
 */
export async function sendable(rows: Reading): Promise<OutboxRow[]> {
  const all = await rows.all("outbox");
  const asked = Object.keys((await accountOf(rows)).requests?.asked ?? {});
  const accepted = asked.filter((id) => answerIn(all.filter((row) => row.conversationId === id)) === "accepted");
  const [failed, undrafted] = [new Set<ConversationId>(), new Set(asked)];
  const refused = new Set(all.filter(isRefusedCreation).map(({ conversationId }) => conversationId));
  return all.filter(({ state, write: { kind }, conversationId: id }) => {
    if (state === "failed") failed.add(id);
    if (kind === "create") undrafted.add(id);
    const waits = kind === "send" && failed.has(id) || kind === "draft" && undrafted.has(id) ||
      !answers.includes(kind) && accepted.includes(id);
    return state === "waiting" && !waits && !refused.has(id);
  });
}

// Messages as they are after a write.

export function buried<Row extends Message>(message: Row, at: string): Row {
  const deleted = { text: null, deletedForEveryone: true as const, deletedAt: message.deletedAt ?? at };
  const nothing = { editedAt: undefined, tapbacks: [], tapbackCounts: {}, mentions: [], mentionsAll: undefined };
  const gone = { sealed: undefined, poll: undefined, forwarded: undefined, attachments: undefined, extra: undefined };
  return { ...message, ...deleted, ...nothing, ...gone, pinned: undefined };
}

/** As it counts once the server has it. */
export function withVote(message: Message, options: number[], user = ""): Message {
  const { poll } = message;
  if (!poll) return message;
  const old = poll.vote?.options ?? [];
  const voters = poll.voters + Number(options.length > 0) - Number(old.length > 0);
  const counted = poll.options.map(({ text, votes }, place) => ({
    text,
    votes: votes + Number(options.includes(place)) - Number(old.includes(place)),
  }));
  return { ...message, poll: { ...poll, options: counted, voters, vote: { userId: user, options } } };
}

/** Pinned anew it is the latest pin, until the server has said where. */
export function withPin(message: Message, pins: boolean, at: string, user = ""): Message {
  if (message.deletedForEveryone || pins && message.pinned) return message;
  return { ...message, pinned: pins ? { seq: Number.MAX_SAFE_INTEGER, userId: user, at } : undefined };
}

export function withTapback<Row extends Message>(message: Row, kind: string | null, user?: string): Row {
  if (user === undefined || message.deletedForEveryone) return message;
  const tapbackCounts = { ...message.tapbackCounts };
  const old = message.tapbacks.find(({ userId }) => userId === user)?.kind;
  if (old !== undefined && --tapbackCounts[old]! <= 0) delete tapbackCounts[old];
  const tapbacks = message.tapbacks.filter(({ userId }) => userId !== user);
  if (kind === null) return { ...message, tapbacks, tapbackCounts };
  tapbackCounts[kind] = (tapbackCounts[kind] ?? 0) + 1;
  return { ...message, tapbacks: [{ userId: user, kind }, ...tapbacks], tapbackCounts };
}
