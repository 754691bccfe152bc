/// <reference lib="deno.ns" />
import { accountOf } from "../../core/copy/copy.ts";
import { complete, enqueue, markTried, refuse, sendable } from "../../core/copy/outbox-rows.ts";
import { syncPosition } from "../../core/copy/position.ts";
import { timeline } from "../../core/copy/timeline.ts";
import { conversationList, oneRow, requestRows, unreadTotal } from "../../core/lists.ts";
import { LiveQueries } from "../../core/live.ts";
import type { Conversation, MessageRequest } from "../../core/model.ts";
import type { PendingWrite } from "../../core/outbox/writes.ts";
import { searchCopy } from "../../core/search.ts";
import type { SyncWrite } from "../../core/sync/events.ts";
import { conversation, Copy, expectEqual, message, messageId, send, talk, time } from "./copy.ts";

// What the user is asked about: apart from the conversations until they accept.

const pair = "01900000-0000-8000-8000-00000000cafe";
const at = time(5);
const problem = { status: 409, code: "conflict", title: "", detail: "" };

const written = (seq: number) =>
  message(seq, { id: messageId(100 + seq), conversationId: pair, text: `asked ${seq}`, senderId: "ben" });

function head(lastSeq: number, fields: Partial<Conversation> = {}): Conversation {
  const about = { id: pair, kind: "direct", title: undefined, request: true as const, memberCount: 2 };
  return conversation(lastSeq, { ...about, unreadCount: lastSeq - 1, lastMessage: written(lastSeq), ...fields });
}

const told = (lastSeq: number, fields: Partial<Conversation> = {}, follows = false): SyncWrite => {
  return { write: "conversation", conversation: head(lastSeq, fields), follows };
};

const list = (...requests: MessageRequest[]): SyncWrite => ({ write: "requests", requests });
const request = (lastSeq: number): MessageRequest => ({ at, userId: "ben", conversation: head(lastSeq) });

function page(last: number): SyncWrite {
  const messages = Array.from({ length: last }, (_, index) => written(index + 1));
  const all = { messages, hasMoreBefore: false, hasMoreAfter: false, lastSeq: last };
  return { write: "history", conversation: pair, page: all, place: "newest" };
}

const tells = (useq: number, kind: string, fields = {}): SyncWrite => {
  return { write: "privateChange", change: { useq, kind, at, conversationId: pair, ...fields } };
};

/** A copy with a conversation, and a request of ben's whose messages were read. */
async function asked(): Promise<Copy> {
  const copy = await Copy.begin(5);
  await copy.apply(list(request(3)), page(3));
  return copy;
}

function write(copy: Copy, write: PendingWrite, messageId?: string) {
  const about = { conversationId: pair, messageId, at, idempotencyKey: "key" };
  return copy.change((writer) => enqueue(writer, { ...about, write }));
}

async function done(copy: Copy, body: unknown = null) {
  const row = (await copy.rows()).at(-1)!;
  let isBegun = false;
  await copy.change(async (writer) => isBegun = await complete(writer, row, body));
  return isBegun;
}

async function refused(copy: Copy) {
  const row = (await copy.rows()).at(-1)!;
  await copy.change((writer) => refuse(writer, row, problem));
}

const requests = async (copy: Copy) => (await copy.database.read(requestRows)).map(({ id }) => id);
const row = (copy: Copy) => copy.database.read((rows) => oneRow(rows, pair));
const isWhole = async (copy: Copy) => !!(await copy.database.read(accountOf)).requests?.isWhole;

async function listed(copy: Copy): Promise<string[]> {
  const source = conversationList(new LiveQueries(copy.database), 9, () => {}, "inbox");
  const view = await new Promise<{ rows: { id: string }[] }>((resolve) => {
    source.subscribe((view) => view.isLoaded && resolve(view));
  });
  source.close();
  return view.rows.map(({ id }) => id).sort();
}

async function texts(copy: Copy) {
  const shown = await copy.database.read((rows) => timeline(rows, pair, { at: "end", before: 9, after: 0 }));
  return shown.rows.map(({ message }) => message.text);
}

Deno.test("a request is apart from the conversations: in no list, count or search, and it can be read", async () => {
  const copy = await asked();
  const [shown] = await copy.database.read(requestRows);
  expectEqual([shown!.requester, shown!.request, shown!.isMember, shown!.preview?.text, shown!.others], [
    ...["ben", "waiting", false, "asked 3"],
    ["ben"],
  ]);
  expectEqual(await listed(copy), [talk]);
  expectEqual(await copy.database.read((rows) => unreadTotal(rows, new LiveQueries(copy.database))), 0);
  expectEqual(await copy.database.read((rows) => searchCopy(rows, "asked")), []);
  expectEqual(await texts(copy), ["asked 1", "asked 2", "asked 3"]);
  const { streams, unknown } = await copy.database.read(syncPosition);
  expectEqual([streams.map(({ id }) => id), unknown], [[talk], []]);
  // Who asks does not learn what is read.
  await write(copy, { kind: "read", seq: 3 });
  expectEqual(await copy.rows(), []);
});

Deno.test("it is read again, and only what has changed makes its messages loaded again", async () => {
  const copy = await asked();
  const ranges = async () => (await copy.database.read((rows) => rows.get("conversations", pair)))!.ranges;
  await copy.apply(told(3));
  expectEqual(await ranges(), [[1, 3]]);
  // The page is from before.
  await copy.apply(told(4), page(3));
  expectEqual(await ranges(), []);
  await copy.apply(page(4));
  expectEqual([await ranges(), (await texts(copy)).length], [[[1, 4]], 4]);
});

Deno.test("accepting shows at once, and follows from where the server says; refused, the request is there again", async () => {
  const copy = await asked();
  await write(copy, { kind: "accept" });
  expectEqual([await listed(copy), await requests(copy), (await row(copy))!.isMember], [[pair, talk].sort(), [], true]);
  await refused(copy);
  expectEqual([await listed(copy), await requests(copy)], [[talk], [pair]]);
  await write(copy, { kind: "accept" });
  // What was read would be refused before it.
  await write(copy, { kind: "read", seq: 3 });
  const waits = async () => (await copy.database.read(sendable)).map(({ write }) => write.kind);
  expectEqual(await waits(), ["accept"]);
  const accept = (await copy.rows()).find(({ state, write }) => state === "waiting" && write.kind === "accept");
  let isBegun = false;
  await copy.change(async (writer) => isBegun = await complete(writer, accept!, null));
  expectEqual([isBegun, await waits()], [true, ["read"]]);
  expectEqual((await copy.database.read(syncPosition)).unknown, [pair]);
  await copy.apply(tells(1, "conversation.joined", { lastSeq: 6 }), list());
  await copy.apply(told(6, { request: undefined }, true));
  expectEqual(await listed(copy), [pair, talk].sort());
  const stored = await copy.database.read((rows) => rows.get("conversations", pair));
  // What happened since it was read is in no change.
  expectEqual([stored!.cursor, stored!.ranges, stored!.unread], [6, [], 3]);
});

Deno.test("who writes or reacts accepts; one who is refused is asked as before, with the message that failed", async () => {
  const copy = await asked();
  await write(copy, { kind: "tapback", tapback: "love" }, messageId(101));
  expectEqual(await requests(copy), []);
  await refused(copy);
  expectEqual(await requests(copy), [pair]);
  await write(copy, send("Hi"), messageId(200));
  expectEqual([await listed(copy), await requests(copy)], [[pair, talk].sort(), []]);
  const sent = (await copy.rows()).at(-1)!;
  await refused(copy);
  await write(copy, send("behind it"), messageId(201));
  expectEqual([await listed(copy), await requests(copy)], [[talk], [pair]]);
  await copy.change((writer) => complete(writer, sent, { ...written(4), id: messageId(200), senderId: "anna" }));
  expectEqual(await listed(copy), [pair, talk].sort());
});

Deno.test("what is declined is nowhere at once, with what was written there, and back when the server refuses", async () => {
  const copy = await asked();
  await write(copy, { kind: "draft", draft: { text: "who" } });
  // It stays on the device.
  expectEqual([await copy.database.read(sendable), (await row(copy))!.draft?.text], [[], "who"]);
  await write(copy, { kind: "decline" });
  expectEqual([await requests(copy), await listed(copy), await row(copy)], [[], [talk], null]);
  await refused(copy);
  expectEqual(await requests(copy), [pair]);
  await write(copy, { kind: "decline" });
  expectEqual(await done(copy), false);
  expectEqual(await copy.database.read((rows) => rows.get("conversations", pair)), undefined);
  expectEqual((await copy.rows()).filter(({ write }) => write.kind === "draft"), []);
});

Deno.test("of two decisions the last one is sent, one that was tried is followed by the other", async () => {
  const copy = await asked();
  await write(copy, { kind: "decline" });
  await write(copy, { kind: "accept" });
  const rows = await copy.rows();
  expectEqual(rows.map(({ write }) => write.kind), ["accept"]);
  await copy.change((writer) => markTried(writer, rows));
  await write(copy, { kind: "decline" });
  expectEqual([(await copy.rows()).map(({ write }) => write.kind), await row(copy)], [["accept", "decline"], null]);
});

Deno.test("what was decided elsewhere, taken back, or is in the list no more is gone", async () => {
  const copy = await asked();
  await copy.apply(tells(1, "request", { waiting: false }));
  expectEqual([await requests(copy), await row(copy), await isWhole(copy)], [[], null, false]);
  await copy.apply(list(request(3)), tells(2, "conversation.left"));
  expectEqual([await requests(copy), await isWhole(copy)], [[], false]);
  await copy.apply(list(request(3)), list());
  expectEqual([await requests(copy), await isWhole(copy), await listed(copy)], [[], true, [talk]]);
  await copy.apply(tells(3, "request", { waiting: true }));
  expectEqual(await isWhole(copy), false);
  // A list of before does not take away what was accepted meanwhile.
  await copy.apply(list(request(3)));
  await write(copy, { kind: "accept" });
  await copy.apply(list());
  expectEqual(await listed(copy), [pair, talk].sort());
});

Deno.test("a change of a message that the user has deleted for themselves, before the copy was, does not bring it back", async () => {
  const copy = await Copy.begin(5);
  const others = [1, 2, 4, 5].map((seq) => message(seq));
  const whole = { messages: others, hasMoreBefore: false, hasMoreAfter: false, lastSeq: 5 };
  await copy.apply({ write: "history", conversation: talk, page: whole, place: "newest" });
  const edited = message(3, { changeSeq: 6, text: "edited" });
  const about = { conversationId: talk, seq: 6, kind: "message.edited", at: time(6), actorId: "ben" };
  await copy.apply({ write: "change", change: { ...about, message: edited }, movesCursor: true });
  await copy.apply({ write: "message", message: edited });
  expectEqual(await copy.texts(), ["text 1", "text 2", "text 4", "text 5"]);
});
