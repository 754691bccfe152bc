import type { Conversation, ConversationId, MessageRequest, PrivateChange, UserId } from "../model.ts";
import type { PendingWrite } from "../outbox/writes.ts";
import { outdate, storeTold } from "./apply.ts";
import type { CopyWriter } from "./copy.ts";
import type { Account, ConversationRecord, OutboxRow } from "./database.ts";
import { dropDrafts } from "./drafts.ts";
import { outboxOf } from "./outbox-rows.ts";

// What the user is asked about: conversations that are not followed, and in no list, count or search until they are accepted.

export interface Requests {
  /** Who asks, by conversation, the latest first; undefined where it is not known. */
  asked: Record<ConversationId, UserId | undefined>;
  /** These are all, as far as the server tells. */
  isWhole: boolean;
}

const nothing: Requests = { asked: {}, isWhole: false };

export function isRequest({ requests = nothing }: Account, id: ConversationId): boolean {
  return id in requests.asked;
}

/** With these a user answers: whoever writes or reacts accepts. */
export const answers = ["accept", "decline", "send", "tapback"];

/**
 * What the user did about it that the server does not know yet. What waits behind a message that failed is not sent.
 */
export function answerIn(pending: OutboxRow[]): "accepted" | "declined" | undefined {
  const hasFailed = pending.some(({ state }) => state === "failed");
  const last = pending.findLast(({ write: { kind }, state }) =>
    state === "waiting" && answers.includes(kind) && !(hasFailed && kind === "send")
  );
  return last && (last.write.kind === "decline" ? "declined" : "accepted");
}

function set(copy: CopyWriter, changes: Partial<Requests>): void {
  copy.setAccount({ requests: { ...nothing, ...copy.account.requests, ...changes } });
}

// By the server.

/** Takes the whole list. What the user has accepted meanwhile is not in it. */
export async function storeRequests(copy: CopyWriter, requests: MessageRequest[]): Promise<void> {
  const asked = Object.fromEntries(requests.map(({ conversation, userId }) => [conversation.id, userId]));
  for (const [id, user] of Object.entries(copy.account.requests?.asked ?? {})) {
    if (id in asked) continue;
    if (answerIn(await outboxOf(copy.rows, id)) === "accepted") asked[id] = user;
    else await copy.discard(id);
  }
  set(copy, { asked, isWhole: true });
  for (const { conversation } of requests) await storeTold(copy, conversation, false);
}

/** The list is read again when somebody looks at it. */
export function outdateRequests(copy: CopyWriter): void {
  set(copy, { isWhole: false });
}

/** Whether the user is asked is as a response says, which is not older than what is known. */
export async function takeRequest(copy: CopyWriter, told: Conversation, { headSeq }: ConversationRecord) {
  const { id, lastSeq } = told;
  if (!told.request) return void forgetRequest(copy, id);
  if (!isRequest(copy.account, id)) set(copy, { asked: { ...copy.account.requests?.asked, [id]: undefined } });
  copy.setHead(id, { needsHead: false });
  // No change has told what is different.
  if (lastSeq > headSeq) outdate(copy, (await copy.head(id))!, [1, lastSeq]);
}

/** It is none, or not any more. Returns whether it was one. */
export function forgetRequest(copy: CopyWriter, id: ConversationId): boolean {
  if (!isRequest(copy.account, id)) return false;
  const { [id]: _, ...asked } = copy.account.requests!.asked;
  set(copy, { asked });
  copy.show(id);
  return true;
}

/** The private stream tells of requests, or that the user was taken out of a conversation. */
export async function applyRequest(copy: CopyWriter, id: ConversationId, { kind, waiting }: PrivateChange) {
  const isKnown = isRequest(copy.account, id);
  if (isKnown && !waiting) await end(copy, id);
  if (isKnown || kind === "request") outdateRequests(copy);
}

async function end(copy: CopyWriter, id: ConversationId): Promise<void> {
  await dropDrafts(copy, id);
  await copy.discard(id);
}

// By the user.

/** The last decision counts, except for what the server may know of already. */
export async function dropUntriedDecisions(copy: CopyWriter, rows: OutboxRow[]): Promise<void> {
  for (const { key, write, state, wasTried } of rows) {
    const isDecision = write.kind === "accept" || write.kind === "decline";
    if (isDecision && state === "waiting" && !wasTried) await copy.rows.remove("outbox", key);
  }
}

/**
 * The server has an answer of the user. Returns whether they are in the conversation by it, of which the server has to be
 * asked then.
 */
export async function completeRequest(copy: CopyWriter, write: PendingWrite, id: ConversationId): Promise<boolean> {
  if (write.kind === "decline" && isRequest(copy.account, id)) await end(copy, id);
  const accepts = write.kind === "accept" || write.kind === "send" ||
    write.kind === "tapback" && write.tapback !== null;
  if (!accepts || !forgetRequest(copy, id)) return false;
  if (await copy.head(id)) copy.setHead(id, { needsHead: true });
  return true;
}
