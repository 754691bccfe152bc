/// <reference lib="deno.ns" />
import { cover, coveredBy, uncover } from "../../core/copy/ranges.ts";
import { compare, digestOf } from "../../core/copy/digest.ts";
import { MemoryDatabase } from "../../core/copy/memory.ts";
import { complete } from "../../core/copy/outbox-rows.ts";
import { receiptsOf } from "../../core/copy/receipts.ts";
import { isNews, oneRow } from "../../core/lists.ts";
import type { Message } from "../../core/model.ts";
import { searchCopy } from "../../core/search.ts";
import type { Range } from "../../core/sync/events.ts";
import { changed, conversation, Copy, created, expectEqual, history, message, messageId, send, talk } from "./copy.ts";

Deno.test("ranges neither touch nor overlap, whatever is added and taken away", () => {
  expectEqual(cover([[1, 3], [7, 9]], [4, 6]), [[1, 9]]);
  expectEqual(cover([[1, 3], [7, 9]], [5, 5]), [[1, 3], [5, 5], [7, 9]]);
  expectEqual(uncover([[1, 9]], [4, 6]), [[1, 3], [7, 9]]);
  // Against a set of positions, for all small cases.
  for (let bits = 0; bits < 64; bits++) {
    const whole = [0, 1, 2, 3, 4, 5].filter((bit) => bits >> bit & 1);
    const ranges = whole.reduce<Range[]>((ranges, seq) => cover(ranges, [seq, seq]), []);
    for (let first = 0; first < 6; first++) {
      for (let last = first; last < 6; last++) {
        const positions = (list: Range[]) =>
          [0, 1, 2, 3, 4, 5].filter((seq) => list.some(([a, b]) => a <= seq && seq <= b));
        const isApart = (list: Range[]) => list.every(([a], index) => !index || a > list[index - 1]![1] + 1);
        const [more, less] = [cover(ranges, [first, last]), uncover(ranges, [first, last])];
        const inside = (seq: number) => first <= seq && seq <= last;
        expectEqual(positions(more), [0, 1, 2, 3, 4, 5].filter((seq) => whole.includes(seq) || inside(seq)));
        expectEqual(positions(less), whole.filter((seq) => !inside(seq)));
        expectEqual([isApart(more), isApart(less)], [true, true]);
      }
    }
  }
});

Deno.test("a page covers from its edges, or from the ends of the history", () => {
  const page = (hasMoreBefore: boolean, hasMoreAfter: boolean) => ({
    messages: [message(4), message(6)],
    hasMoreBefore,
    hasMoreAfter,
    lastSeq: 9,
  });
  expectEqual(coveredBy(page(true, true), { around: 5 }), [4, 6]);
  expectEqual(coveredBy(page(false, true), "newest"), [1, 6]);
  expectEqual(coveredBy(page(true, false), "newest"), [4, 9]);
  expectEqual(coveredBy(page(true, true), { before: 8 }), [4, 7]);
  expectEqual(coveredBy(page(true, true), { after: 1 }), [2, 6]);
  expectEqual(coveredBy({ ...page(true, true), messages: [] }, "newest") ?? null, null);
});

Deno.test("of two states of a message the newer one stays, and equal ones only replace what may be outdated", async () => {
  const copy = await Copy.begin(5);
  await copy.apply(history(1, 5, 5));
  await copy.apply(changed(6, { message: message(3, { changeSeq: 6, text: "edited" }) }));
  await copy.apply({ write: "message", message: message(3) });
  expectEqual((await copy.texts())[2], "edited");
  await copy.apply({ write: "message", message: message(3, { changeSeq: 6, text: "as new" }) });
  expectEqual((await copy.texts())[2], "edited");
  await copy.apply({ write: "outdated" }, { write: "message", message: message(3, { changeSeq: 6, text: "as new" }) });
  expectEqual((await copy.stored(3))!.text, "as new");
  await copy.apply({ write: "message", message: message(3, { changeSeq: 6, text: "as old" }) });
  expectEqual((await copy.stored(3))!.text, "as new");
});

Deno.test("the preview of what was deleted, here or elsewhere, goes from its replies, whichever comes first", async () => {
  const copy = await Copy.begin(4);
  const quoting = (seq: number) => ({ messageId: messageId(seq), seq, senderId: "ben", preview: "secret" });
  const deleted = (seq: number, changeSeq: number) => {
    const tombstone = message(seq, { changeSeq, text: null, deletedForEveryone: true });
    return changed(changeSeq, { kind: "message.deleted", message: tombstone });
  };
  const previews = async (...seqs: number[]) =>
    await Promise.all(seqs.map(async (seq) => (await copy.stored(seq))!.replyTo?.preview ?? null));
  // Of one parent the copy has the message, of the other the preview alone.
  await copy.apply(created(5), created(6, { replyTo: quoting(5) }), created(7, { replyTo: quoting(1) }));
  expectEqual(await previews(6, 7), ["secret", "secret"]);
  await copy.apply(deleted(5, 8), deleted(1, 9));
  expectEqual(await previews(6, 7), [null, null]);
  // A response that was on its way.
  await copy.apply(created(10, { replyTo: quoting(5) }));
  await copy.apply({ write: "message", message: message(6, { changeSeq: 6, replyTo: quoting(5) }) });
  expectEqual(await previews(6, 10), [null, null]);

  await copy.apply(created(11, { senderId: "anna" }), created(12, { replyTo: quoting(11) }));
  await copy.write({ kind: "delete", scope: "everyone" }, messageId(11));
  const [row] = await copy.rows();
  await copy.change((writer) => complete(writer, row!, null));
  expectEqual(await previews(12), [null]);
});

Deno.test("a message that a page does not have any more was hidden by the user", async () => {
  const copy = await Copy.begin(5);
  await copy.apply(history(1, 5, 5), { write: "outdated" });
  const messages = [1, 2, 4, 5].map((seq) => message(seq));
  const page = { messages, hasMoreBefore: false, hasMoreAfter: false, lastSeq: 5 };
  await copy.apply({ write: "history", conversation: talk, page, place: "newest" });
  await copy.apply(changed(6, { message: message(3, { changeSeq: 6 }) }));
  expectEqual(await copy.texts(), ["text 1", "text 2", "text 4", "text 5"]);
});

Deno.test("hidden and cleared messages do not come back, by changes or by pages", async () => {
  const copy = await Copy.begin(5);
  const secret = { write: "privateChange" as const };
  await copy.apply(
    history(1, 5, 5),
    { ...secret, change: { useq: 1, kind: "message.hidden", at: "", conversationId: talk, messageId: messageId(4) } },
    { ...secret, change: { useq: 2, kind: "history.cleared", at: "", conversationId: talk, throughSeq: 2 } },
  );
  await copy.apply(history(1, 5, 5), changed(6, { message: message(4, { changeSeq: 6 }) }));
  expectEqual(await copy.texts(), ["text 3", "text 5"]);
});

Deno.test("after the private stream was interrupted, changes of before do not show what their positions read", async () => {
  const copy = await Copy.begin(5);
  await copy.apply(history(1, 5, 5), { write: "outdated" }, created(6));
  expectEqual((await copy.head()).ranges, []);
  await copy.apply({ write: "conversation", conversation: conversation(7), follows: false }, created(7), created(8));
  expectEqual((await copy.head()).ranges, [[8, 8]]);
});

Deno.test("a conversation that was asked for before the private stream was interrupted makes nothing sure", async () => {
  const copy = await Copy.begin(10);
  await copy.write({ kind: "rename", title: "Monday" });
  await copy.apply({ write: "outdated" });
  // The response to a write may have been made before, when the twelfth message was not written and hidden yet.
  const [row] = await copy.rows();
  await copy.change((writer) => complete(writer, row!, conversation(10)));
  await copy.apply(created(11), created(12), created(13));
  expectEqual((await copy.head()).ranges, []);
});

Deno.test("what the user may have hidden meanwhile is not found, and is no preview when the list says so", async () => {
  const copy = await Copy.begin(10);
  await copy.apply(history(1, 10, 10), { write: "outdated" });
  const found = async () =>
    (await copy.database.read((rows) => searchCopy(rows, "text"))).map(({ message }) => message.seq);
  const preview = async () => (await copy.database.read((rows) => oneRow(rows, talk)))!.preview!.seq;
  expectEqual([await found(), await preview()], [[], 10]);
  const told = conversation(10, { lastMessage: message(8) });
  await copy.apply({ write: "conversation", conversation: told, follows: false });
  expectEqual(await preview(), 8);
  const page = {
    messages: [6, 7, 8].map((seq) => message(seq)),
    hasMoreBefore: true,
    hasMoreAfter: false,
    lastSeq: 10,
  };
  await copy.apply({ write: "history", conversation: talk, page, place: { before: 9 } });
  expectEqual(await found(), [8, 7, 6]);
});

Deno.test("unread messages are counted where the copy has them, else as the server counted them", async () => {
  const copy = await Copy.begin(10, { unreadCount: 7, readSeq: 2 });
  const unread = async () => (await copy.head()).unread ?? 0;
  expectEqual(await unread(), 7);
  await copy.apply(created(11), created(12, { senderId: "anna" }));
  expectEqual(await unread(), 8);
  await copy.apply(history(1, 12, 12));
  // The page brought the user's own message as one of ben's, which is not newer.
  expectEqual(await unread(), 9);
  await copy.write({ kind: "read", seq: 11 });
  expectEqual(await unread(), 0);
});

Deno.test("unread mentions are counted where the copy has them, else as the server counted them", async () => {
  const copy = await Copy.begin(100, { unreadCount: 42, unreadMentions: 3, readSeq: 50 });
  const mentions = async () => (await copy.database.read((rows) => oneRow(rows, talk)))!.conversation.unreadMentions;
  expectEqual(await mentions(), 3);
  await copy.apply(created(101, { mentions: ["carla"] }), created(102, { senderId: "anna", mentionsAll: true }));
  expectEqual(await mentions(), 3);
  await copy.apply(created(103, { mentions: ["carla", "anna"] }), created(104, { mentionsAll: true }));
  expectEqual(await mentions(), 5);
  const page = (first: number, last: number, lastSeq: number, mentioning?: number) => {
    const write = history(first, last, lastSeq);
    if (write.write !== "history") throw new Error();
    const messages = write.page.messages.map((message) =>
      message.seq === mentioning ? { ...message, mentions: ["anna"] } : message
    );
    return { ...write, page: { ...write.page, messages } };
  };
  await copy.apply(page(51, 60, 104, 55));
  expectEqual(await mentions(), 5);
  await copy.write({ kind: "read", seq: 55 });
  expectEqual(await mentions(), 4);
  const gone = { text: null, deletedForEveryone: true as const, deletedAt: "2026-03-07T12:00:00.000Z" };
  const deleted = (seq: number, changeSeq: number) =>
    changed(changeSeq, { kind: "message.deleted", message: message(seq, { changeSeq, ...gone }) });
  await copy.apply(deleted(104, 105));
  expectEqual(await mentions(), 3);
  await copy.apply(page(61, 70, 105, 65));
  await copy.apply(deleted(65, 106));
  expectEqual(await mentions(), 2);
  await copy.apply(page(56, 100, 106));
  expectEqual(await mentions(), 1);
  await copy.write({ kind: "read", seq: 103 });
  expectEqual(await mentions(), undefined);
});

Deno.test("what is read of many unread messages is no longer counted, though the copy has not all of them", async () => {
  const copy = await Copy.begin(100, { unreadCount: 42, readSeq: 50 });
  const unread = async () => (await copy.head()).unread ?? 0;
  await copy.apply(history(41, 80, 100));
  await copy.write({ kind: "read", seq: 65 });
  expectEqual(await unread(), 27);
  // Beyond what the copy has there are no more than the positions that are left.
  await copy.write({ kind: "read", seq: 95 });
  expectEqual(await unread(), 5);
});

Deno.test("what is deleted for everyone is no longer counted as unread, though the copy has it not", async () => {
  const copy = await Copy.begin(100, { unreadCount: 42, readSeq: 50 });
  const unread = async () => (await copy.head()).unread ?? 0;
  const remove = (seq: number, position: number, senderId = "ben") =>
    copy.apply(changed(position, {
      kind: "message.deleted",
      message: message(seq, { senderId, changeSeq: position, text: null, deletedForEveryone: true }),
    }));
  await remove(60, 101);
  expectEqual(await unread(), 41);
  // These were not counted: read before, the user's own, written after the count.
  await remove(50, 102);
  await remove(61, 103, "anna");
  await copy.apply(created(104));
  await remove(104, 105);
  expectEqual(await unread(), 41);
  // Read since, where the copy has the messages, of which one was deleted since.
  await copy.apply(history(51, 55, 105));
  await remove(52, 106);
  expectEqual(await unread(), 40);
  await copy.write({ kind: "read", seq: 55 });
  expectEqual(await unread(), 36);
  const told = conversation(106, { unreadCount: 33, readSeq: 55 });
  await copy.apply({ write: "conversation", conversation: told, follows: false });
  expectEqual(await unread(), 33);
});

Deno.test("ten receipts touch no conversation, and who joined later is no recipient", async () => {
  const copy = await Copy.begin(5);
  const member = (userId: string, joinedSeq: number) => ({
    userId,
    role: "member",
    joinedSeq,
    deliveredSeq: 0,
    readSeq: 0,
  });
  const members = [member("anna", 1), member("ben", 1), member("carla", 1), member("dora", 6)];
  await copy.apply(history(1, 5, 5), { write: "members", conversation: talk, members, isFirstPage: true });
  const status = { type: "status" as const, conversationId: talk, statusVersion: 1, at: "" };
  const touched = await copy.apply({
    write: "status",
    status: { ...status, delivered: { carla: 5 }, read: { ben: 5, dora: 9 } },
  });
  expectEqual([touched.conversations, touched.receipts], [[], [talk]]);
  const seen = await copy.database.read((rows) => receiptsOf(rows, talk, message(5, { senderId: "anna" })));
  expectEqual([seen.status, seen.deliveredCount, seen.readCount, seen.recipientCount], ["delivered", 2, 1, 2]);
  await copy.apply({ write: "status", status: { ...status, statusVersion: 2, read: { carla: 5 } } });
  const later = await copy.database.read((rows) => receiptsOf(rows, talk, message(5, { senderId: "anna" })));
  expectEqual([later.status, later.readCount], ["read", 2]);
});

Deno.test("a transaction that fails leaves nothing", async () => {
  const copy = await Copy.begin(5);
  const before = JSON.stringify(await copy.head());
  const fails = copy.change(async (writer) => {
    await writer.rows.put("messages", { ...message(9), epoch: 0 });
    await writer.rows.removeAll("conversations");
    throw new Error("on purpose");
  });
  expectEqual(await fails.catch((error) => error.message), "on purpose");
  expectEqual([JSON.stringify(await copy.head()), (await copy.page()).rows.length], [before, 0]);
});

Deno.test("records that were stored do not change when somebody changes them in place", async () => {
  const database = new MemoryDatabase();
  const record = { ...message(1), epoch: 0 };
  await database.write((rows) => rows.put("messages", record));
  let isRefused = false;
  try {
    record.seq = 2;
  } catch {
    isRefused = true;
  }
  expectEqual(isRefused, true);
});

Deno.test("digests are those of the contract's example, and say nothing while the copy is elsewhere", async () => {
  const contract = JSON.parse(
    Deno.readTextFileSync(new URL("../../../../Services/Ingest/openapi.json", import.meta.url)),
  );
  const example = contract["x-parley-digest-example"];
  const latest = new Map<string, Message>();
  for (const { message } of example.changes) if (message) latest.set(message.id, message);
  const page = example.answer.pages[0];
  expectEqual(await digestOf([...latest.values()].sort((one, other) => one.seq - other.seq)), page.state);
  const copy = await Copy.begin(2);
  await copy.apply(history(1, 2, 2));
  const state = await digestOf([message(1), message(2)]);
  const told = { fromSeq: 1, toSeq: 2, changes: "", state };
  expectEqual(await compare(copy.database, talk, told, { lastSeq: 2, useq: 0 }), "equal");
  expectEqual(await compare(copy.database, talk, { ...told, state: "" }, { lastSeq: 2, useq: 0 }), "different");
  expectEqual(await compare(copy.database, talk, told, { lastSeq: 3, useq: 0 }), "notComparable");
  expectEqual(await compare(copy.database, talk, told, { lastSeq: 2, useq: 1 }), "notComparable");
});

Deno.test("a discarded copy keeps drafts and outbox, and nothing else", async () => {
  const copy = await Copy.begin(5);
  await copy.apply(history(1, 5, 5));
  await copy.write(send("unsent"), "m");
  await copy.apply({ write: "discardAll" });
  const left = await copy.database.read(async (rows) => [
    ...await rows.all("conversations"),
    ...await rows.all("messages"),
  ]);
  expectEqual([left, (await copy.rows()).length], [[], 1]);
});

Deno.test("the user is called for what is unread, but not where it is muted, also where it mentions them", async () => {
  const copy = await Copy.begin(2, { readSeq: 1 });
  const news = (seq: number) =>
    copy.database.read((rows) => isNews(rows, message(seq, { mentions: ["anna"], mentionsAll: true })));
  expectEqual([await news(1), await news(2)], [false, true]);
  await copy.write({ kind: "mark", mark: { of: "muted", until: "2126-01-01T00:00:00.000Z" }, after: 0 });
  expectEqual(await news(2), false);
  await copy.write({ kind: "mark", mark: { of: "muted", until: "2020-01-01T00:00:00.000Z" }, after: 0 });
  expectEqual(await news(2), true);
  const change = { useq: 1, at: "", conversationId: talk };
  await copy.apply({ write: "privateChange", change: { ...change, kind: "read.moved", readSeq: 2 } });
  expectEqual([await news(2), await news(3)], [false, true]);
});
