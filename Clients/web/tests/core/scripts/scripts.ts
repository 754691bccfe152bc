import type { Change, Conversation, FrameFromServer, History, Message } from "../../../core/model.ts";
import type { CallFailure, SyncEvent, SyncPosition } from "../../../core/sync/events.ts";
import type { Step } from "./script.ts";

// What happens in each script. What is expected of a client is recorded (`record.ts`).

const A = "0198c2a4-5d10-7c3e-9a41-00000000000a";
const B = "0198c2a4-5d10-7c3e-9a41-00000000000b";
const C = "0198c2a4-5d10-7c3e-9a41-00000000000c";
const D = "0198c2a4-5d10-7c3e-9a41-00000000000d";
const log = "0198c2a4-0000-4000-8000-000000000001";
const otherLog = "0198c2a4-0000-4000-8000-000000000002";
const at = "2026-03-07T17:02:11.250Z";

type Event = Pick<Step, "at" | "within" | "event">;

const nothing: SyncPosition = { isListComplete: false, streams: [], unknown: [] };
const stream = (id: string, cursor: number, statusVersion = 0) => ({ id, cursor, statusVersion, deliveredSeq: cursor });
const known: SyncPosition = {
  ...{ userId: "anna", logId: log, useq: 3, syncCursor: "c1", isListComplete: true },
  ...{ streams: [stream(A, 5, 2), stream(B, 9)], unknown: [] },
};

/** Some seconds later. */
const later = (seconds: number) => at.replace("11.", `${11 + seconds}.`);

function messageOf(id: string, seq: number): Message {
  return {
    ...{ id: `0198c2a5-0000-7000-8000-${String(seq).padStart(12, "0")}`, conversationId: id, seq, changeSeq: seq },
    ...{ senderId: "ben", kind: "text", text: `text ${seq}`, sentAt: at, createdAt: at },
    ...{ tapbacks: [], tapbackCounts: {}, mentions: [] },
  };
}

function conversation(id: string, lastSeq: number, fields: Partial<Conversation> = {}): Conversation {
  return {
    ...{ id, kind: "group", createdAt: at, lastSeq, lastActivityAt: at, memberCount: 2, role: "member" },
    ...{ windows: [{ from: 1 }], clearedSeq: 0, unreadCount: 0, readSeq: 0, deliveredSeq: lastSeq, ...fields },
  };
}

const asked = (id: string, lastSeq: number) => conversation(id, lastSeq, { request: true });

function created(conversationId: string, seq: number): Change {
  const message = messageOf(conversationId, seq);
  return { conversationId, seq, kind: "message.created", at, actorId: "ben", message };
}

const welcome = (fields: Partial<Extract<FrameFromServer, { type: "welcome" }>> = {}) =>
  frame({
    ...{ type: "welcome", userId: "anna", sessionId: otherLog, serverTime: at, logId: log, useq: 3 },
    ...{ heartbeatSeconds: 25, capabilities: [], conversations: [], more: false, blocked: [], ...fields },
  } as FrameFromServer);
const frame = (frame: FrameFromServer): SyncEvent => ({ type: "frame", frame });
const change = (id: string, seq: number) => frame({ type: "change", change: created(id, seq) });
const secret = (useq: number, kind: string, fields = {}) => frame({ type: "private", useq, kind, at, ...fields });
const body = (id: number, body: unknown): SyncEvent => ({ type: "response", id, response: { body } });
const fails = (id: number, failure: CallFailure): SyncEvent => ({ type: "response", id, response: { failure } });
const refused = (id: number, status: number, code: string, retryAfter?: number) =>
  fails(id, { problem: { title: code, status, code, detail: "for a test" }, retryAfter });
const time: SyncEvent = { type: "time" };
const wake = (least: number, most: number): Event => ({ at: "wake", within: [least, most], event: time });
const changes = (id: string, seqs: number[], lastSeq: number, more: boolean) => ({
  changes: seqs.map((seq) => created(id, seq)),
  lastSeq,
  more,
});

const page: History = { messages: [messageOf(A, 5)], hasMoreBefore: true, hasMoreAfter: false, lastSeq: 5 };

/** Events at their times, each a millisecond after the one before unless it says when. */
function timed(...events: (SyncEvent | Event)[]): Event[] {
  let now = 0;
  return events.map((event) => {
    if ("at" in event) return typeof event.at === "number" ? (now = event.at, event) : event;
    return { at: ++now, event };
  });
}

/** Up to where a session is open. */
const opening: SyncEvent[] = [{ type: "start" }, { type: "token", token: "t1" }, { type: "opened" }];

interface Sketch {
  about: string;
  position: SyncPosition;
  events: Event[];
}

export const scripts: Record<string, Sketch> = {
  "first-session": {
    about: "A new device: the list is loaded in pages, what arrives is told as delivered",
    position: nothing,
    events: timed(
      ...opening,
      welcome({ conversations: [conversation(A, 5), conversation(B, 9, { deliveredSeq: 7 })], more: true }),
      body(1, { readReceipts: true, presence: true }),
      body(2, { conversations: [conversation(B, 9, { deliveredSeq: 7 })], nextCursor: "next +/" }),
      change(A, 6),
      secret(4, "read.moved", { conversationId: C, readSeq: 4 }),
      body(3, { conversations: [conversation(C, 4)] }),
      body(4, conversation(C, 4, { readSeq: 4 })),
      // What moved up between the two pages.
      body(5, { conversations: [conversation(A, 6, { deliveredSeq: 5 }), conversation(B, 9), conversation(C, 4)] }),
      { at: 500, event: time },
      frame({ type: "pong", id: "$ping" }),
    ),
  },
  "return": {
    about: "A device that was away: it names its cursors, and each change moves its cursor once",
    position: known,
    events: timed(
      ...opening,
      welcome({ useq: 5 }),
      secret(4, "message.hidden", { conversationId: A, messageId: messageOf(A, 2).id }),
      secret(4, "message.hidden", { conversationId: A, messageId: messageOf(A, 2).id }),
      secret(5, "read.moved", { conversationId: A, readSeq: 5 }),
      change(A, 6),
      change(A, 6),
      change(A, 7),
      frame({ type: "status", conversationId: A, statusVersion: 4, delivered: { ben: 6 }, at }),
      frame({ type: "status", conversationId: C, statusVersion: 1, at }),
      frame({ type: "typing", conversationId: A, userId: "ben", active: true }),
      frame({ type: "presence", userId: "ben", online: true }),
    ),
  },
  "gap": {
    about: "What is missing between two changes is paged, and changes during that are left to the pages",
    position: known,
    events: timed(
      ...opening,
      welcome(),
      change(A, 8),
      change(A, 9),
      body(1, changes(A, [6, 7, 8], 8, false)),
      body(2, changes(A, [9], 9, false)),
      change(A, 10),
      frame({ type: "reload", conversationId: B, lastSeq: 13 }),
      body(3, changes(B, [10, 11], 13, true)),
      body(4, changes(B, [], 13, false)),
      change(B, 14),
    ),
  },
  "contradiction": {
    about: "A history that never brings what the session told of: the session ends, and another begins",
    position: known,
    events: timed(
      ...opening,
      welcome(),
      change(A, 8),
      ...[1, 2, 3, 4, 5, 6].map((id) => body(id, changes(A, [], 5, false))),
      wake(500, 1_000),
    ),
  },
  "private-reload": {
    about: "The private stream's changes are not kept any more: list, settings and histories are loaded again",
    position: known,
    events: timed(
      ...opening,
      { type: "look", conversation: A, place: "newest" },
      welcome({ useq: 2_000 }),
      { type: "created", conversation: C },
      frame({ type: "reload", useq: 2_000 }),
      // Read before the stream told of what happened to them: they do not count.
      body(1, page),
      body(2, conversation(C, 4)),
      body(3, page),
      body(4, conversation(C, 4)),
      body(5, { readReceipts: false, presence: true }),
      body(6, { users: [{ userId: "ben", at }] }),
      body(7, { conversations: [conversation(A, 5), conversation(C, 4)] }),
      secret(2_001, "settings.changed", { readReceipts: true, presence: true }),
    ),
  },
  "restored": {
    about: "The server's database was restored: everything is discarded and loaded again",
    position: known,
    events: timed(
      ...opening,
      welcome({ logId: otherLog, useq: 1, conversations: [conversation(A, 3)], more: false }),
      frame({ type: "reset" }),
      body(1, { readReceipts: true, presence: true }),
      change(A, 4),
    ),
  },
  "reset": {
    about: "One conversation, and then everything, is behind the device: it is discarded and asked for",
    position: known,
    events: timed(
      ...opening,
      welcome(),
      frame({ type: "reset", conversationId: A }),
      change(A, 4),
      body(1, conversation(A, 3)),
      change(A, 5),
      frame({ type: "reset" }),
      frame({ type: "reset" }),
      body(2, { readReceipts: true, presence: true }),
      body(3, { users: [{ userId: "ben", at }, { userId: "dora", at }] }),
      body(4, { conversations: [conversation(B, 2)] }),
    ),
  },
  "joining": {
    about: "A conversation that is joined, one that is only heard of, and one that is taken out of the list",
    position: known,
    events: timed(
      ...opening,
      welcome(),
      secret(4, "conversation.joined", { conversationId: C, lastSeq: 6 }),
      change(C, 7),
      body(1, conversation(C, 6)),
      secret(5, "conversation.removed", { conversationId: B }),
      change(B, 10),
      secret(6, "conversation.joined", { conversationId: B, lastSeq: 11 }),
      change(B, 12),
      refused(2, 404, "notFound"),
      { type: "created", conversation: B },
      { type: "created", conversation: A },
    ),
  },
  "blocks-missed": {
    about:
      "Private changes were missed: the list of blocks is asked for, until a session brings it; of a server without blocks there is none",
    position: known,
    events: timed(
      ...opening,
      welcome({ useq: 2_000, blocked: ["ben"] }),
      frame({ type: "reload", useq: 2_000 }),
      { type: "closed" },
      wake(500, 1_000),
      { at: 2_001, event: { type: "token", token: "t2" } },
      { type: "opened" },
      welcome({ useq: 2_001, blocked: ["ben", "carla"] }),
      // It was asked for before.
      body(2, { users: [{ userId: "ben", at }] }),
      frame({ type: "reload", useq: 2_002 }),
      refused(4, 404, "notFound"),
    ),
  },
  "blocks": {
    about:
      "The list of blocks comes with each session; a conversation is asked for again when its window ends or begins with a block, also one that was taken out of the list",
    position: known,
    events: timed(
      ...opening,
      welcome({ blocked: ["carla", "dora"] }),
      secret(4, "blocked", { conversationId: B, userId: "ben", blocked: true }),
      body(1, conversation(B, 9)),
      secret(5, "conversation.removed", { conversationId: B }),
      secret(6, "blocked", { conversationId: B, userId: "ben", blocked: true }),
      secret(7, "blocked", { conversationId: B, userId: "ben", blocked: false }),
      body(2, conversation(B, 11)),
      secret(8, "blocked", { conversationId: D, userId: "dora", blocked: true }),
      refused(3, 404, "notFound"),
      secret(9, "blocked", { conversationId: A, userId: "eve", blocked: true }),
      secret(10, "blocked", { conversationId: A, userId: "eve", blocked: false }),
      // Read before the block ended.
      body(4, conversation(A, 5, { windows: [{ from: 1, to: 5 }] })),
      body(5, conversation(A, 5, { windows: [{ from: 1, to: 5 }, { from: 6 }] })),
    ),
  },
  "requests": {
    about:
      "What the user is asked about is loaded when somebody looks, and again when it may be older than what was told; a request is not followed until it is accepted, here or elsewhere",
    position: known,
    events: timed(
      ...opening,
      welcome(),
      { type: "lookAtRequests" },
      secret(4, "request", { conversationId: C, waiting: true }),
      // Read before.
      body(1, { requests: [] }),
      body(2, { requests: [{ at, userId: "eve", conversation: asked(C, 2) }] }),
      { type: "look", conversation: C, place: "newest" },
      body(3, { messages: [messageOf(C, 2)], hasMoreBefore: false, hasMoreAfter: false, lastSeq: 2 }),
      { type: "lookAgain", conversation: C },
      body(4, asked(C, 3)),
      // Accepted, while it is read again.
      { type: "lookAgain", conversation: C },
      { type: "created", conversation: C },
      body(5, asked(C, 3)),
      body(6, conversation(C, 4)),
      secret(5, "conversation.joined", { conversationId: C, lastSeq: 4 }),
      body(7, conversation(C, 4)),
      change(C, 5),
      // A list of before, and one that was declined on another device, which tells so, or is read again.
      { type: "lookAtRequests" },
      body(8, { requests: [{ at, userId: "eve", conversation: asked(C, 3) }, { at, conversation: asked(D, 1) }] }),
      secret(6, "request", { conversationId: D, waiting: false }),
      { type: "lookAgain", conversation: D },
      body(9, conversation(D, 1, { windows: [{ from: 1, to: 1 }] })),
      // Taken back.
      secret(7, "conversation.left", { conversationId: D }),
      { type: "lookAgain", conversation: D },
      refused(10, 404, "notFound"),
      // A server without requests.
      { type: "lookAtRequests" },
      refused(11, 404, "notFound"),
    ),
  },
  "list": {
    about:
      "What the list does not bring is not in it any more, whatever is replayed of it, unless it is new; nor what was taken out since",
    position: { ...known, isListComplete: false },
    events: timed(
      ...opening,
      welcome({ conversations: [conversation(A, 7)], more: true }),
      change(B, 10),
      change(C, 4),
      secret(4, "conversation.removed", { conversationId: D }),
      body(1, { conversations: [conversation(A, 7), conversation(D, 3)] }),
      body(2, conversation(C, 4)),
    ),
  },
  "list-moved": {
    about:
      "What moves up between two pages of the list is on neither: the list is loaded again down to what has not moved",
    position: { ...known, isListComplete: false },
    events: timed(
      ...opening,
      welcome({ conversations: [conversation(A, 5, { lastActivityAt: later(5) })], more: true }),
      body(1, { conversations: [conversation(A, 5, { lastActivityAt: later(5) })], nextCursor: "five" }),
      change(B, 10),
      body(2, { conversations: [conversation(C, 4, { lastActivityAt: later(4) })] }),
      body(3, {
        conversations: [conversation(B, 10, { lastActivityAt: later(7), readSeq: 9 })],
        nextCursor: "seven",
      }),
      body(4, {
        conversations: [conversation(A, 5, { lastActivityAt: later(5) }), conversation(C, 4)],
        nextCursor: "four",
      }),
      body(5, { conversations: [conversation(B, 10, { lastActivityAt: later(7) })], nextCursor: "seven" }),
      body(6, { conversations: [conversation(A, 5, { lastActivityAt: later(5) })], nextCursor: "five" }),
      body(7, {
        conversations: [conversation(B, 10, { lastActivityAt: later(8) }), conversation(A, 5)],
        nextCursor: "five",
      }),
    ),
  },
  "list-cut": {
    about: "A list that was not loaded to its end is loaded again, in whichever way the session ended",
    position: { ...known, isListComplete: false },
    events: timed(
      ...opening,
      welcome({ more: true }),
      body(1, { conversations: [conversation(A, 5, { lastActivityAt: later(5) })], nextCursor: "five" }),
      body(2, { conversations: [conversation(B, 9)] }),
      { type: "stop" },
      body(3, { conversations: [conversation(A, 5)] }),
      { type: "start" },
      { type: "token", token: "t2" },
      { type: "opened" },
      welcome({ more: true }),
      body(4, { conversations: [conversation(A, 5)], nextCursor: "five" }),
      { type: "closed" },
    ),
  },
  "list-again": {
    about: "Pages of a list do not count when its loading begins anew: it would seem to be complete without the others",
    position: { ...known, isListComplete: false },
    events: timed(
      ...opening,
      welcome({ more: true }),
      body(1, { conversations: [conversation(A, 5)], nextCursor: "five" }),
      frame({ type: "reload", useq: 2_000 }),
      body(2, { conversations: [conversation(B, 9)] }),
      body(3, { readReceipts: true, presence: true }),
      body(4, { users: [] }),
      body(5, { conversations: [conversation(A, 5), conversation(B, 9)] }),
    ),
  },
  "tokens": {
    about: "Tokens that are about to end, refused or cannot be had",
    position: known,
    events: timed(
      { type: "start" },
      { type: "tokenFailed" },
      wake(500, 1_000),
      { at: 2_001, event: { type: "token", token: "t2" } },
      { type: "opened" },
      welcome(),
      frame({ type: "tokenExpiring", at }),
      { type: "token", token: "t3" },
      { type: "lookAtMembers", conversation: A },
      refused(1, 401, "unauthenticated"),
      { type: "look", conversation: A, place: { around: 3 } },
      { type: "token", token: "t4" },
      frame({ type: "bye", code: "unauthenticated", reason: "expired" }),
      { type: "closed" },
    ),
  },
  "token-awaited": {
    about:
      "A token that cannot be had after a refusal is asked for again, whatever was on its way and succeeds meanwhile",
    position: known,
    events: timed(
      ...opening,
      welcome(),
      { type: "lookAtMembers", conversation: A },
      { type: "lookAtMembers", conversation: B },
      refused(1, 401, "unauthenticated"),
      { type: "tokenFailed" },
      body(2, { members: [] }),
      wake(250, 750),
      { at: 2_001, event: { type: "token", token: "t2" } },
    ),
  },
  "suspended": {
    about:
      "A suspended user returns when the server says, what is refused is asked for again, and nothing is taken away",
    position: known,
    events: timed(
      ...opening,
      welcome(),
      { type: "lookAgain", conversation: A },
      refused(1, 403, "suspended"),
      wake(250, 750),
      body(2, conversation(A, 5)),
      frame({ type: "bye", code: "suspended", reason: "", retryAfter: 3_600, until: "2026-03-08T17:02:11.250Z" }),
      { type: "closed" },
      wake(3_600_000, 4_500_000),
      { at: 4_500_001, event: { type: "token", token: "t2" } },
      { type: "opened" },
      welcome(),
    ),
  },
  "ends": {
    about: "How a session ends: replaced servers are returned to when they say, a superseding device is left alone",
    position: known,
    events: timed(
      ...opening,
      welcome(),
      frame({ type: "bye", code: "draining", reason: "", retryAfter: 7 }),
      { type: "closed" },
      wake(7_000, 8_750),
      { at: 9_001, event: { type: "token", token: "t2" } },
      { type: "closed" },
      { at: 9_500, event: { type: "start" } },
      { type: "token", token: "t3" },
      { type: "opened" },
      welcome(),
      frame({ type: "bye", code: "superseded", reason: "" }),
      { type: "closed" },
      { type: "look", conversation: A, place: "newest" },
      { type: "start" },
      { type: "stop" },
    ),
  },
  "silence": {
    about: "A server that does not greet is left, and a token of another user ends it",
    position: known,
    events: timed(
      ...opening,
      change(A, 6),
      wake(29_900, 30_000),
      wake(500, 1_000),
      { at: 31_500, event: { type: "token", token: "t2" } },
      { type: "opened" },
      welcome({ userId: "carla" }),
    ),
  },
  "failures": {
    about: "Calls are repeated after what may pass, and given up after what will not",
    position: known,
    events: timed(
      ...opening,
      welcome(),
      { type: "look", conversation: A, place: { before: 3 } },
      refused(1, 503, "overloaded", 4_000),
      { type: "lookAtRevisions", conversation: A, message: messageOf(A, 2).id },
      wake(4_000, 5_000),
      body(2, { revisions: [{ text: "one", at }, { text: "two", at }] }),
      fails(3, {}),
      wake(250, 1_000),
      body(4, { ...page, messages: [messageOf(A, 1), messageOf(A, 2)], hasMoreBefore: false, hasMoreAfter: true }),
      frame({ type: "reload", conversationId: B, lastSeq: 13 }),
      refused(5, 404, "notFound"),
      { type: "look", conversation: B, place: "newest" },
      refused(6, 404, "notFound"),
    ),
  },
  "unknown": {
    about: "Frames and kinds of a later version are passed over, and still move cursors",
    position: known,
    events: timed(
      ...opening,
      welcome(),
      frame({ type: "later", conversationId: A } as unknown as FrameFromServer),
      frame({ type: "change", change: { conversationId: A, seq: 6, kind: "poll.opened", at, actorId: "ben" } }),
      secret(4, "blocked.later", {}),
      frame({ type: "bye", code: "later", reason: "" }),
      { type: "closed" },
      wake(500, 1_000),
    ),
  },
  "profiles": {
    about: "Of whom nobody sees, nothing is asked; the private stream moves on",
    position: known,
    events: timed(
      ...opening,
      welcome(),
      frame({ type: "profile", userId: "ben", version: 3 }),
      secret(4, "profile.changed", { profileVersion: 2 }),
      frame({ type: "bye", code: "draining", reason: "" }),
      { type: "closed" },
      wake(500, 1_000),
    ),
  },
  "names": {
    about:
      "Those who are shown are asked for, and again when they have changed: one request at a time, and nobody too often",
    position: known,
    events: timed(
      { type: "show", users: ["ben"] },
      ...opening,
      welcome(),
      { type: "show", users: ["carla+c@x", "anna"] },
      frame({ type: "profile", userId: "ben", version: 4 }),
      // Nobody shows them.
      frame({ type: "profile", userId: "dave", version: 1 }),
      body(1, { profiles: [{ userId: "ben", version: 3, displayName: "Ben" }] }),
      wake(90, 100),
      { at: 200, event: refused(2, 503, "overloaded", 1_000) },
      secret(4, "profile.changed", { profileVersion: 2 }),
      wake(1_000, 1_250),
      { at: 1_500, event: body(3, { profiles: [{ userId: "carla+c@x", version: 0 }] }) },
      wake(3_000, 5_000),
      { at: 5_050, event: body(4, { profiles: [{ userId: "ben", version: 4, displayName: "Benjamin" }] }) },
      wake(0, 200),
      { at: 5_200, event: refused(5, 400, "invalid") },
      // Asked for long enough ago.
      { at: 20_000, event: secret(5, "profile.changed", { profileVersion: 3 }) },
      body(6, { profiles: [{ userId: "anna", version: 3 }] }),
      { at: 100_000, event: { type: "show", users: ["ben", "anna"] } },
      { at: 400_000, event: { type: "show", users: ["ben"] } },
      wake(90, 100),
      { at: 401_000, event: body(7, { profiles: [] }) },
      { type: "closed" },
      { at: 410_000, event: { type: "start" } },
      { type: "token", token: "t2" },
      { type: "opened" },
      // Changes may have been missed.
      welcome(),
    ),
  },
  "catching-up": {
    about: "Without a session the copy is brought up to date once",
    position: known,
    events: timed(
      { type: "catchUp" },
      body(1, {
        ...{
          conversations: [conversation(A, 7)],
          private: [{ useq: 4, kind: "read.moved", at, conversationId: A, readSeq: 5 }],
        },
        ...{ cursor: "c2", more: true },
      }),
      body(2, changes(A, [6, 7], 7, false)),
      body(3, { conversations: [], private: [], reload: true, cursor: "c3", more: false }),
      { type: "catchUp" },
      refused(4, 400, "invalid"),
    ),
  },
  "catching-up-reload": {
    about:
      "Without a session, too, the private stream's changes may not be kept any more: what it tells about is loaded again, and what the pages do not bring is not in the list",
    position: known,
    events: timed(
      { type: "look", conversation: A, place: "newest" },
      { type: "catchUp" },
      body(2, { conversations: [conversation(A, 7)], private: [], reload: true, cursor: "c2", more: true }),
      // Read before: it does not count.
      body(1, page),
      body(3, page),
      body(4, { readReceipts: false, presence: true }),
      body(5, { users: [] }),
      body(6, changes(A, [6, 7], 7, false)),
      body(7, { conversations: [conversation(C, 4)], private: [], cursor: "c3", more: false }),
      { type: "catchUp" },
      body(8, {
        ...{ conversations: [], cursor: "c4", more: false },
        private: [{ useq: 2_001, kind: "message.hidden", at, conversationId: A, messageId: messageOf(A, 2).id }],
      }),
      ...opening,
      // The session knows where the private stream stands, and loads its state once more.
      welcome({ useq: 2_003, conversations: [conversation(A, 7), conversation(C, 4)] }),
    ),
  },
  "looking": {
    about: "What somebody looks at comes first, four calls at a time, the same one once; differences are repaired",
    position: known,
    events: timed(
      ...opening,
      welcome(),
      { type: "look", conversation: A, place: "newest" },
      { type: "look", conversation: A, place: "newest" },
      { type: "look", conversation: A, place: { before: 4 } },
      { type: "lookAtMembers", conversation: B },
      { type: "compare", conversation: A },
      { type: "look", conversation: A, place: { after: 1 } },
      { type: "look", conversation: A, place: { around: 2 } },
      body(3, {
        members: [{ userId: "ben", role: "owner", joinedSeq: 1, deliveredSeq: 0, readSeq: 0 }],
        nextCursor: "ben+b@x",
      }),
      body(4, { lastSeq: 5, useq: 3, pages: [{ fromSeq: 1, toSeq: 5, changes: "", state: "" }], more: false }),
      { type: "differs", conversation: A, range: [1, 5] },
      body(1, { messages: [messageOf(A, 5)], hasMoreBefore: true, hasMoreAfter: false, lastSeq: 5 } as History),
    ),
  },
};
