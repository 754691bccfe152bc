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
  if (call.call === "settings") return get("/v1/settings");
  if (call.call === "blocks") return get("/v1/blocks");
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
  return { method: "POST", path: "/v1/messages:batch", body: { messages } };
}

function newMessage({ messageId: id, write }: NewWrite) {
  if (write.kind !== "send") throw new Error("a batch is of messages");
  const { text, replyTo, mentions, sentAt, files } = write;
  const attachments = files?.map(({ attachment }) => ({ id: attachment!.id }));
  // Beside files there may be no text, but none that is empty.
  return {
    id,
    text: text || undefined,
    replyTo,
    mentions: mentions.length ? mentions : undefined,
    sentAt,
    attachments,
  };
}

function markRequest(mark: Mark, path: string): HTTPRequest {
  const put = (name: string, value: unknown, body?: unknown): HTTPRequest =>
    value === null || value === false
      ? { method: "DELETE", path: `${path}/${name}` }
      : { method: "PUT", path: `${path}/${name}`, body };
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

function rowRequest(row: OutboxRow): HTTPRequest {
  const { write, conversationId, idempotencyKey } = row;
  const path = conversationPath(conversationId);
  const message = messagePath(conversationId, row.messageId ?? "");
  switch (write.kind) {
    case "send":
      return { method: "POST", path: `${path}/messages`, body: newMessage(row) };
    case "read":
      return { method: "POST", path: `${path}/receipts`, body: { readSeq: write.seq } };
    case "create": {
      const { members, title } = write;
      return { method: "POST", path: "/v1/conversations", body: { id: conversationId, kind: "group", members, title } };
    }
    case "edit":
      return { method: "PATCH", path: message, body: { text: write.text }, idempotencyKey };
    case "delete":
      return { method: "DELETE", path: `${message}?scope=${write.scope}`, idempotencyKey };
    case "tapback": {
      if (write.tapback === null) return { method: "DELETE", path: `${message}/tapback`, idempotencyKey };
      return { method: "PUT", path: `${message}/tapback`, body: { kind: write.tapback }, idempotencyKey };
    }
    case "clear":
      return { method: "DELETE", path: `${path}/history?through=${write.through}`, idempotencyKey };
    case "rename":
      return { method: "PATCH", path, body: { title: write.title }, idempotencyKey };
    case "member": {
      const member = `${path}/members/${encodeURIComponent(write.user)}`;
      if (write.isRemoved) return { method: "DELETE", path: member, idempotencyKey };
      return { method: "PUT", path: member, body: { role: write.role }, idempotencyKey };
    }
    case "unlist":
      return { method: "DELETE", path, idempotencyKey };
    case "settings":
      return { method: "PUT", path: "/v1/settings", body: write.settings, idempotencyKey };
    case "conversationSettings": {
      return { method: "PUT", path: `${path}/settings`, body: write.settings, idempotencyKey };
    }
    case "block": {
      const method = write.isBlocked ? "PUT" : "DELETE";
      return { method, path: `/v1/blocks/${encodeURIComponent(write.user)}`, idempotencyKey };
    }
    case "draft": {
      const body = kept(write.draft);
      return { method: body ? "PUT" : "DELETE", path: `${path}/draft`, body };
    }
    case "mark":
      return { ...markRequest(write.mark, path), idempotencyKey };
  }
}
