import type { Random } from "../../../core/backoff.ts";
import { syncRequest } from "../../../core/http.ts";
import type { FrameFromClient } from "../../../core/model.ts";
import type { SyncEvent, SyncNotice, SyncPosition, SyncStep, SyncWrite } from "../../../core/sync/events.ts";
import { Synchronizer } from "../../../core/sync/synchronizer.ts";

// A recorded script: what happens to a client, and what it must store, send and ask, in the order of the file. Every client
// of Parley runs the scripts in `Tests/ClientScripts`, whatever language it is in.

export interface Script {
  about: string;
  /** What was stored before. */
  position: SyncPosition;
  steps: Step[];
}

export interface Step {
  /** In milliseconds; `wake` is the time that the client asked to be woken at. */
  at: number | "wake";
  /** How long before it wakes: the client may choose, within these bounds. */
  within?: [least: number, most: number];
  event: SyncEvent;
  expect?: Expected;
}

/** Empty lists are left out. */
export interface Expected {
  /** A name, and what tells it from another one of the name. */
  writes?: unknown[];
  connection?: string;
  frames?: unknown[];
  /** Paths with their queries; all of them are read. */
  requests?: string[];
  token?: string;
  notices?: unknown[];
}

/** Stands for the id of the last ping, which clients choose as they like. */
const ping = "$ping";

/** Runs a script: calls with each step and what the client did. */
export function play(script: Script, random: Random, check: (step: Step, done: Expected, index: number) => void): void {
  const sync = new Synchronizer(script.position, random);
  let now = 0;
  let lastPing = "";
  for (const [index, step] of script.steps.entries()) {
    const before = now;
    now = step.at === "wake" ? sync.wakeAt ?? NaN : step.at;
    const [least, most] = step.within ?? [-Infinity, Infinity];
    if (!(now - before >= least && now - before <= most)) {
      throw new Error(`step ${index} wakes after ${now - before} ms`);
    }
    const event = JSON.parse(JSON.stringify(step.event).replaceAll(ping, lastPing)) as SyncEvent;
    const done = sync.handle(event, now);
    for (const frame of done.frames) if (frame.type === "ping") lastPing = frame.id;
    check(step, described(done), index);
  }
}

function described(step: SyncStep): Expected {
  const expected: Expected = {
    writes: step.writes.map(describeWrite),
    connection: step.connection,
    frames: step.frames.map(describeFrame),
    requests: step.requests.map(({ call }) => syncRequest(call).path),
    token: step.token,
    notices: step.notices.map(describeNotice),
  };
  const told = Object.entries(expected).filter(([, value]) => value !== undefined && value.length !== 0);
  return JSON.parse(JSON.stringify(Object.fromEntries(told)));
}

function describeWrite(write: SyncWrite): unknown[] {
  switch (write.write) {
    case "session":
      return ["session", write.userId, write.logId, write.useq];
    case "discardAll":
      return ["discardAll"];
    case "settings":
      return ["settings", write.settings.readReceipts, write.settings.presence];
    case "blocks":
      return ["blocks", write.users, write.useq ?? null];
    case "requests":
      return ["requests", write.requests.map(({ conversation }) => conversation.id)];
    case "profiles":
      return ["profiles", write.profiles.map(({ userId, version }) => [userId, version])];
    case "listComplete":
      return ["listComplete", write.isComplete];
    case "syncCursor":
      return ["syncCursor", write.cursor];
    case "conversation":
      return ["conversation", write.conversation.id, write.conversation.lastSeq, write.follows];
    case "discard":
      return ["discard", write.conversation];
    case "change":
      return ["change", write.change.conversationId, write.change.seq, write.movesCursor];
    case "passed":
      return ["passed", write.conversation, write.through];
    case "history":
      return ["history", write.conversation, write.place, write.page.messages.map(({ seq }) => seq)];
    case "message":
      return ["message", write.message.id];
    case "status":
      return ["status", write.status.conversationId, write.status.statusVersion];
    case "members":
      return ["members", write.conversation, write.members.map(({ userId }) => userId), write.isFirstPage];
    case "revisions":
      return ["revisions", write.conversation, write.message, write.revisions.map(({ text }) => text)];
    case "outdated":
      return ["outdated", write.conversation ?? null, write.range ?? null];
    case "delivered":
      return ["delivered", write.conversation, write.seq];
    case "privateChange":
      return ["privateChange", write.change.useq, write.change.kind];
    case "privateStream":
      return ["privateStream", write.useq];
  }
}

function describeFrame(frame: FrameFromClient): unknown {
  return frame.type === "ping" ? { ...frame, id: ping } : frame;
}

function describeNotice(notice: SyncNotice): unknown[] {
  switch (notice.notice) {
    case "connection":
      return ["connection", notice.state];
    case "typing":
      return ["typing", notice.conversation, notice.user, notice.active];
    case "presence":
      return ["presence", notice.user, notice.online];
    case "caughtUp":
      return ["caughtUp"];
    case "digest":
      return ["digest", notice.conversation, notice.digest.lastSeq];
  }
}
