import type { OutboxRow } from "./copy/database.ts";
import { kept } from "./copy/drafts.ts";
import type { NewWrite } from "./copy/outbox-rows.ts";
import type { OutboxCall } from "./outbox/sender.ts";
import type { Mark } from "./outbox/writes.ts";
import type { Place, SyncCall } from "./sync/events.ts";

// Calls as HTTP has them.

export interface HTTPRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With its query, percent-encoded. */
  path: string;
  /** A text is JSON already. */
  body?: unknown;
  /** The response is wanted as it is written. */
  isText?: true;
  idempotencyKey?: string;
}

const messagesPerPage = 100;

export function get(path: string, query: Record<string, string | number | undefined> = {}): HTTPRequest {
  const fields = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = fields.map(([name, value]) => `${name}=${encodeURIComponent(value!)}`).join("&");
  return { method: "GET", path: text ? `${path}?${text}` : path };
}

export function conversationPath(id: string): string {
  return `/v1/conversations/${id}`;
}

export function messagePath(id: string, message: string): string {
  return `${conversationPath(id)}/messages/${message}`;
}

/** `versions`: those of the profiles that the copy has. */
export function syncRequest(call: SyncCall, versions?: number[]): HTTPRequest {
  if (call.call === "conversations") return get("/v1/conversations", { limit: 200, before: call.before });
  if (call.call === "settings" || call.call === "blocks" || call.call === "requests") return get(`/v1/${call.call}`);
  if (call.call === "profiles") {
    return get("/v1/profiles", { ids: `${call.users}`, versions: versions && `${versions}` });
  }
  if (call.call === "sync") return get("/v1/sync", { since: call.since });
  const path = conversationPath(call.conversation);
  switch (call.call) {
    case "conversation":
      return get(path);
    case "changes":
      return get(`${path}/changes`, { after: call.after, limit: 1_000 });
    case "history":
      return get(`${path}/messages`, { limit: messagesPerPage, ...placeQuery(call.place) });
    case "members":
      return get(`${path}/members`, { limit: 1_000, after: call.after });
    case "revisions":
      return get(`${messagePath(call.conversation, call.message)}/revisions`);
    case "digest":
      return get(`${path}/digest`, { after: call.after });
  }
}

function placeQuery(place: Place): Record<string, number> {
  return place === "newest" ? {} : place;
}

export function outboxRequest(rows: OutboxCall): HTTPRequest {
  const [row] = rows as [OutboxRow];
  if (rows.length === 1) return rowRequest(row);
  const messages = rows.map((row) => ({ conversationId: row.conversationId, ...newMessage(row) }));
  return call("POST", "/v1/messages:batch", { messages });
}

function newMessage({ messageId: id, write }: NewWrite) {
  if (write.kind !== "send") throw new Error("a batch is of messages");
  if (write.forward) return { id, forward: write.forward, sentAt: write.sentAt };
  const { text, sealed, poll, replyTo, mentions, mentionsAll, sentAt, files, extra } = write;
  const attachments = files?.map(({ attachment }) => ({ id: attachment!.id }));
  // Beside files there may be no text, but none that is empty.
  return {
    id,
    text: text || undefined,
    sealed,
    poll,
    replyTo,
    mentions: mentions.length ? mentions : undefined,
    mentionsAll,
    sentAt,
    attachments,
    extra,
  };
}

function call(method: HTTPRequest["method"], path: string, body?: unknown): HTTPRequest {
  return { method, path, body };
}

function markRequest(mark: Mark, path: string): HTTPRequest {
  const put = (name: string, value: unknown, body?: unknown) =>
    value === null || value === false ? call("DELETE", `${path}/${name}`) : call("PUT", `${path}/${name}`, body);
  switch (mark.of) {
    case "muted":
      return put("mute", mark.until, { until: mark.until });
    case "pinned":
      return put("pin", mark.order, { order: mark.order });
    case "archived":
      return put("archive", mark.through, { throughSeq: mark.through });
    case "unread":
      return put("unread", mark.isMarked);
  }
}

/** What is repeatable by itself: by an id of its own, or as it is written again with what is new. */
const withoutKey = ["send", "read", "create", "draft"];

function rowRequest(row: OutboxRow): HTTPRequest {
  const request = plainRequest(row);
  return withoutKey.includes(row.write.kind) ? request : { ...request, idempotencyKey: row.idempotencyKey };
}

function plainRequest(row: OutboxRow): HTTPRequest {
  const { write, conversationId } = row;
  const path = conversationPath(conversationId);
  const message = messagePath(conversationId, row.messageId ?? "");
  switch (write.kind) {
    case "send":
      return call("POST", `${path}/messages`, newMessage(row));
    case "read":
      return call("POST", `${path}/receipts`, { readSeq: write.seq });
    case "create": {
      const { members, title } = write;
      return call("POST", "/v1/conversations", { id: conversationId, kind: "group", members, title });
    }
    case "edit":
      return call("PATCH", message, write.sealed ? { sealed: write.sealed } : { text: write.text });
    case "delete":
      return call("DELETE", `${message}?scope=${write.scope}`);
    case "tapback":
      if (write.tapback === null) return call("DELETE", `${message}/tapback`);
      return call("PUT", `${message}/tapback`, { kind: write.tapback });
    case "pinMessage":
      return call(write.pins ? "PUT" : "DELETE", `${message}/pin`);
    case "vote":
      return call("PUT", `${message}/vote`, { options: write.options });
    case "closePoll":
      return call("POST", `${message}/close`);
    case "clear":
      return call("DELETE", `${path}/history?through=${write.through}`);
    case "rename":
      return call("PATCH", path, { title: write.title });
    case "member": {
      const member = `${path}/members/${encodeURIComponent(write.user)}`;
      return write.isRemoved ? call("DELETE", member) : call("PUT", member, { role: write.role });
    }
    case "permissions":
      return call("PUT", `${path}/permissions`, write.permissions);
    case "lifetime":
      return call("PUT", `${path}/lifetime`, { seconds: write.seconds, from: write.from });
    case "ban":
      return call("DELETE", `${path}/bans/${encodeURIComponent(write.user)}`);
    case "unlist":
      return call("DELETE", path);
    case "settings":
      return call("PUT", "/v1/settings", write.settings);
    case "conversationSettings":
      return call("PUT", `${path}/settings`, write.settings);
    case "block":
      return call(write.isBlocked ? "PUT" : "DELETE", `/v1/blocks/${encodeURIComponent(write.user)}`);
    case "accept":
      return call("PUT", `${path}/acceptance`);
    case "decline":
      return call("DELETE", `${path}/acceptance`);
    case "draft": {
      const body = kept(write.draft);
      return call(body ? "PUT" : "DELETE", `${path}/draft`, body);
    }
    case "mark":
      return markRequest(write.mark, path);
  }
}
