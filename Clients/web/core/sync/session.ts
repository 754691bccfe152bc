import type { ConnectionState } from "../client.ts";
import type { ConversationId, Time, Welcome } from "../model.ts";
import { takeListed } from "./responses.ts";
import type { SyncStep } from "./events.ts";
import { discardAll, loadPrivateState } from "./frames.ts";
import type { Synchronizer } from "./synchronizer.ts";

// A session from the token to its end.

/** A larger `hello` could be refused; the remaining conversations are looked after by paging. */
const greetedConversations = 8_000;
const welcomePatience = 30_000;
const stableAfter = 10_000;
/** Receipts that come together are told together. */
const deliveryDelay = 200;
const receiptsPerFrame = 500;

export function start(sync: Synchronizer, step: SyncStep): void {
  if (!["off", "ended", "pausing"].includes(sync.phase.is)) return;
  sync.phase = { is: "needsToken" };
  step.token = sync.requests.awaitsToken ? "fresh" : "any";
  tell(step, "connecting");
}

export function stop(sync: Synchronizer, step: SyncStep): void {
  step.connection = "close";
  endSession(sync);
  sync.phase = { is: "off" };
  tell(step, "off");
}

export function takeToken(sync: Synchronizer, token: string, step: SyncStep): void {
  sync.token = token;
  sync.requests.tokenArrived();
  if (sync.phase.is === "needsToken") {
    sync.phase = { is: "connecting" };
    step.connection = "open";
  } else if (sync.phase.is === "live") {
    step.frames.push({ type: "auth", token });
  }
}

export function tokenFailed(sync: Synchronizer, now: number, step: SyncStep): void {
  if (sync.requests.awaitsToken) sync.requests.pause(now);
  if (sync.phase.is !== "needsToken") return;
  pause(sync, now, undefined);
  tell(step, "waiting");
}

export function passTime(sync: Synchronizer, now: number, step: SyncStep): void {
  const { phase } = sync;
  if (phase.is === "pausing" && phase.until <= now) {
    start(sync, step);
  } else if (phase.is === "greeting" && phase.until <= now) {
    step.connection = "close";
    closed(sync, now, step);
  } else if (phase.is === "live" && sync.deliverAt !== undefined && sync.deliverAt <= now) {
    tellDelivered(sync, step);
  }
  if (sync.requests.takeTokenDue(now)) step.token = "fresh";
}

// The beginning.

export function greet(sync: Synchronizer, now: number, step: SyncStep): void {
  if (sync.phase.is !== "connecting" || sync.token === undefined) return;
  sync.phase = { is: "greeting", until: now + welcomePatience };
  // These would say where a conversation stood before the session: what came in between would be missed.
  sync.requests.cancel(({ call }) => call === "conversation" || call === "conversations" || call === "sync");
  sync.listed = undefined;
  sync.isListAtEnd = false;
  sync.removed.clear();
  // Positions of which it is not known in which database they are would be replayed from, and then discarded.
  const isKnown = sync.logId !== undefined;
  sync.greeted = new Set(isKnown ? sync.order.slice(0, greetedConversations) : []);
  const cursors: Record<string, number> = {};
  const statusVersions: Record<string, number> = {};
  for (const id of sync.greeted) {
    const { cursor, statusVersion } = sync.streams.get(id)!;
    cursors[id] = cursor;
    if (statusVersion > 0) statusVersions[id] = statusVersion;
  }
  const { token, logId } = sync;
  step.frames.push({ type: "hello", token, cursors, useq: isKnown ? sync.useq : undefined, statusVersions, logId });
}

export function takeWelcome(sync: Synchronizer, welcome: Welcome, now: number, step: SyncStep): void {
  if (sync.phase.is !== "greeting") return;
  if (sync.userId !== undefined && sync.userId !== welcome.userId) return end(sync, "otherUser", step);
  sync.phase = { is: "live" };
  sync.stableAt = now + stableAfter;
  sync.hasDiscarded = false;
  sync.welcome = welcome;
  sync.userId = welcome.userId;
  tell(step, "online");
  // What was loaded before the first session may be of a database that was restored since: only a welcome names it.
  const isEmpty = !sync.streams.size && !sync.unknown.size && sync.useq === undefined;
  if (sync.logId !== welcome.logId && (sync.logId !== undefined || !isEmpty)) discardAll(sync, step);
  begin(sync, welcome, now, step);
}

/** Takes the positions and conversations of a welcome. */
export function begin(sync: Synchronizer, welcome: Welcome, now: number, step: SyncStep): void {
  const { userId, logId, useq, serverTime } = welcome;
  sync.logId = logId;
  step.writes.push({ write: "session", userId, logId, useq, serverTime });
  if (sync.useq === undefined) {
    sync.useq = useq;
    loadPrivateState(sync, step);
  }
  if (welcome.blocked) {
    step.writes.push({ write: "blocks", users: welcome.blocked, useq });
    sync.requests.cancel(({ call }) => call === "blocks");
  }
  sync.profiles.allChanged(now);
  if (!sync.isListComplete) sync.beginList();
  for (const conversation of welcome.conversations) takeListed(sync, conversation, now, step);
  if (!sync.isListComplete) {
    if (welcome.more) sync.requests.ask({ call: "conversations" });
    else sync.isListAtEnd = true;
  } else if (sync.streams.size > greetedConversations) {
    // Those that the greeting could not name: what they missed shows in the list.
    sync.beginList();
    sync.requests.ask({ call: "conversations" });
  }
  for (const conversation of [...sync.unknown].sort()) sync.requests.ask({ call: "conversation", conversation });
  for (const [id, stream] of sync.streams) if (stream.cursor > stream.deliveredSeq) deliverSoon(sync, id, now);
}

// The end.

export function closed(sync: Synchronizer, now: number, step: SyncStep): void {
  const { phase, farewell } = sync;
  if (["off", "ended", "pausing"].includes(phase.is)) return;
  const wasStable = phase.is === "live" && sync.stableAt !== undefined && sync.stableAt <= now;
  endSession(sync);
  if (wasStable) sync.backoff.succeeded();
  if (farewell?.code === "superseded") return end(sync, "superseded", step);
  if (farewell?.code === "unauthenticated") {
    sync.token = undefined;
    sync.requests.awaitsToken = true;
  }
  pause(sync, now, farewell?.retryAfter === undefined ? undefined : farewell.retryAfter * 1_000);
  if (farewell?.code === "suspended") tell(step, "suspended", farewell.until);
  else tell(step, "waiting");
}

function pause(sync: Synchronizer, now: number, asked: number | undefined): void {
  sync.phase = { is: "pausing", until: now + sync.backoff.pause(asked) };
}

function end(sync: Synchronizer, state: ConnectionState, step: SyncStep): void {
  endSession(sync);
  sync.phase = { is: "ended" };
  step.connection = "close";
  tell(step, state);
}

function endSession(sync: Synchronizer): void {
  sync.farewell = undefined;
  sync.stableAt = undefined;
  sync.deliveries.clear();
  sync.deliverAt = undefined;
  sync.listed = undefined;
  sync.isListAtEnd = false;
}

function tell(step: SyncStep, state: ConnectionState, until?: Time): void {
  step.notices.push(until === undefined ? { notice: "connection", state } : { notice: "connection", state, until });
}

// Receipts.

export function deliverSoon(sync: Synchronizer, id: ConversationId, now: number): void {
  sync.undelivered.add(id);
  sync.deliverAt ??= now + deliveryDelay;
}

function tellDelivered(sync: Synchronizer, step: SyncStep): void {
  sync.deliverAt = undefined;
  const followed = [...sync.undelivered].sort().filter((id) => sync.streams.has(id));
  const positions = followed.map((id) => ({ conversationId: id, seq: sync.streams.get(id)!.cursor }));
  sync.undelivered.clear();
  for (let first = 0; first < positions.length; first += receiptsPerFrame) {
    const items = positions.slice(first, first + receiptsPerFrame);
    const id = `delivered-${++sync.lastPing}`;
    sync.deliveries.set(id, items);
    // Frames with receipts have no response. A ping has, and arrives after them.
    step.frames.push({ type: "delivered", items }, { type: "ping", id });
  }
}

export function confirmDelivered(sync: Synchronizer, id: string, step: SyncStep): void {
  for (const { conversationId, seq } of sync.deliveries.get(id) ?? []) {
    const stream = sync.streams.get(conversationId);
    if (!stream || stream.deliveredSeq >= seq) continue;
    stream.deliveredSeq = seq;
    step.writes.push({ write: "delivered", conversation: conversationId, seq });
  }
  sync.deliveries.delete(id);
}
