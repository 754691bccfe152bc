import type { Change, ConversationId, FrameFromServer, PrivateChange, Status, Welcome } from "../model.ts";
import type { SyncStep } from "./events.ts";
import { begin, closed, confirmDelivered, deliverSoon, takeWelcome } from "./session.ts";
import { newStream, type Synchronizer } from "./synchronizer.ts";

// What the server sends on the WebSocket.

export function takeFrame(sync: Synchronizer, frame: FrameFromServer, now: number, step: SyncStep): void {
  if (frame.type === "welcome") takeWelcome(sync, frame, now, step);
  else if (frame.type === "bye") sync.farewell = frame;
  else if (sync.phase.is === "live") takeLive(sync, frame, now, step);
}

function takeLive(sync: Synchronizer, frame: Exclude<FrameFromServer, Welcome>, now: number, step: SyncStep): void {
  switch (frame.type) {
    case "change":
      return takeChange(sync, frame.change, now, step);
    case "private": {
      const { type: _, ...change } = frame;
      return takePrivate(sync, change, now, step);
    }
    case "status":
      return takeStatus(sync, frame, step);
    case "typing": {
      const { conversationId: conversation, userId: user, active } = frame;
      return void step.notices.push({ notice: "typing", conversation, user, active });
    }
    case "presence": {
      const { userId: user, online, lastSeen } = frame;
      return void step.notices.push({ notice: "presence", user, online, lastSeen });
    }
    case "profile":
      return sync.profiles.changed(frame.userId, now);
    case "reload":
      // One's own may be among what was missed.
      sync.profiles.changed(sync.userId, now);
      return takeReload(sync, frame, step);
    case "reset":
      return reset(sync, frame.conversationId, now, step);
    case "tokenExpiring":
      return void (step.token = "fresh");
    case "pong":
      return frame.id === undefined ? undefined : confirmDelivered(sync, frame.id, step);
    // A frame of a later version.
    default:
      return;
  }
}

// Changes.

function takeChange(sync: Synchronizer, change: Change, now: number, step: SyncStep): void {
  const id = change.conversationId;
  if (sync.removed.has(id)) return;
  const stream = sync.streams.get(id);
  if (!stream) {
    sync.add(id, newStream({ cursor: change.seq - 1 }), true);
    sync.askAbout(id);
    applyChange(sync, change, now, step);
  } else if (stream.isPaging) {
    stream.target = Math.max(stream.target, change.seq);
  } else if (change.seq <= stream.cursor) {
    // The conversation was loaded during the session, at a later position than where the session began.
    step.writes.push({ write: "change", change, movesCursor: false });
  } else if (change.seq === stream.cursor + 1) {
    applyChange(sync, change, now, step);
  } else {
    // Between two stays there are changes that the user must not see. Should one be missing for any other reason, the
    // pages bring it.
    sync.page(id, change.seq);
  }
}

export function applyChange(sync: Synchronizer, change: Change, now: number, step: SyncStep): void {
  const id = change.conversationId;
  sync.streams.get(id)!.cursor = change.seq;
  step.writes.push({ write: "change", change, movesCursor: true });
  if (sync.unknown.has(id)) sync.sinceAsked.set(id, [...sync.sinceAsked.get(id) ?? [], change]);
  deliverSoon(sync, id, now);
}

// The private stream.

export function takePrivate(sync: Synchronizer, change: PrivateChange, now: number, step: SyncStep): void {
  if (change.useq <= (sync.useq ?? 0)) return;
  if (change.useq === (sync.useq ?? 0) + 1) sync.useq = change.useq;
  step.writes.push({ write: "privateChange", change });
  const id = change.conversationId;
  if (change.kind === "profile.changed") sync.profiles.changed(sync.userId, now);
  if (id === undefined) return;
  if (change.kind === "conversation.joined") {
    joined(sync, id, change.lastSeq ?? 0);
    sync.profiles.allChanged(now);
  } else if (change.kind === "conversation.removed") {
    sync.forget(id);
    sync.removed.add(id);
  } else if (change.kind === "request" || change.kind === "conversation.left") {
    // Of one that the user leaves a change tells, too; of a request that was taken back nothing else does.
    sync.requests.askAgain("requests");
  } else if (change.kind === "blocked") {
    sync.requests.askAgain("requests");
    // A window of the direct conversation ended or began, which no change tells.
    sync.requests.askAgain("conversation", id);
    if (change.blocked === false) {
      sync.removed.delete(id);
      sync.requests.askAgain("history", id);
    }
    if (!sync.removed.has(id)) sync.askAbout(id);
  } else if (sync.listed && !sync.streams.has(id) && !sync.removed.has(id)) {
    // The page of the list that brings it may have been read before this.
    sync.askAbout(id);
  }
}

function joined(sync: Synchronizer, id: ConversationId, lastSeq: number): void {
  sync.removed.delete(id);
  sync.listed?.add(id);
  if (!sync.streams.has(id)) sync.add(id, newStream({ cursor: lastSeq }), true);
  // A request that is shown may have been read just before it was accepted.
  sync.requests.askAllAgain(id);
  sync.askAbout(id);
}

/** What happened on the private stream is not known: everything that it tells about is loaded. */
export function loadPrivateState(sync: Synchronizer, step: SyncStep): void {
  sync.isListComplete = false;
  step.writes.push({ write: "listComplete", isComplete: false }, { write: "outdated" });
  sync.requests.askAllAgain();
  sync.requests.ask({ call: "settings" });
  sync.requests.ask({ call: "blocks" });
}

// Receipts, gaps, ends.

function takeStatus(sync: Synchronizer, status: Status, step: SyncStep): void {
  const stream = sync.streams.get(status.conversationId);
  if (!stream) return;
  stream.statusVersion = Math.max(stream.statusVersion, status.statusVersion);
  step.writes.push({ write: "status", status });
}

type Reload = Extract<FrameFromServer, { type: "reload" }>;

function takeReload(sync: Synchronizer, reload: Reload, step: SyncStep): void {
  if (reload.conversationId !== undefined && reload.lastSeq !== undefined) {
    sync.page(reload.conversationId, reload.lastSeq);
  }
  if (reload.useq === undefined) return;
  sync.useq = reload.useq;
  step.writes.push({ write: "privateStream", useq: reload.useq });
  loadPrivateState(sync, step);
  sync.beginList();
  sync.requests.ask({ call: "conversations" });
}

function reset(sync: Synchronizer, id: ConversationId | undefined, now: number, step: SyncStep): void {
  if (id !== undefined) {
    sync.forget(id);
    step.writes.push({ write: "discard", conversation: id });
    sync.askAbout(id);
  } else if (!sync.hasDiscarded && sync.welcome) {
    discardAll(sync, step);
    // What it said of the conversations may be old by now: the list is loaded again.
    begin(sync, { ...sync.welcome, conversations: [], more: true, blocked: undefined }, now, step);
  }
}

export function discardAll(sync: Synchronizer, step: SyncStep): void {
  sync.hasDiscarded = true;
  sync.logId = undefined;
  sync.useq = undefined;
  sync.syncCursor = undefined;
  sync.isListComplete = false;
  sync.streams.clear();
  sync.order = [];
  sync.greeted.clear();
  sync.unknown.clear();
  sync.sinceAsked.clear();
  sync.undelivered.clear();
  sync.deliveries.clear();
  sync.requests.restart();
  step.writes.push({ write: "discardAll" });
}

/** The session and the history contradict each other. A new session begins at the cursor. */
export function breakOff(sync: Synchronizer, now: number, step: SyncStep): void {
  step.connection = "close";
  closed(sync, now, step);
}
