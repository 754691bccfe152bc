/// <reference lib="deno.ns" />
import type { TimelineView } from "../../core/client.ts";
import { digestOf } from "../../core/copy/digest.ts";
import { complete } from "../../core/copy/outbox-rows.ts";
import { isUnread } from "../../core/copy/unread.ts";
import { outboxRequest } from "../../core/http.ts";
import { LiveQueries, shared } from "../../core/live.ts";
import type { PendingWrite } from "../../core/outbox/writes.ts";
import type { Place, SyncWrite } from "../../core/sync/events.ts";
import { LiveTimeline } from "../../core/timeline-window.ts";
import { Copy, created, expectEqual, history, message, messageId, send, talk } from "./copy.ts";

const seqs = (view: { rows: { message: { seq: number } }[] }) => view.rows.map(({ message }) => message.seq);

Deno.test("a hole in the copy ends a window, and is named", async () => {
  const copy = await Copy.begin(300);
  expectEqual((await copy.page()).gap, "newest");
  await copy.apply(history(201, 300, 300));
  const end = await copy.page({ at: "end", before: 100, after: 0 });
  expectEqual([seqs(end)[0], end.hasMoreBefore, end.gap ?? null], [201, true, { before: 201 }]);
  const far = await copy.page({ at: 50, before: 10, after: 10 });
  expectEqual([far.rows.length, far.gap], [0, { around: 50 }]);
  await copy.apply({ ...history(40, 60, 300), place: { around: 50 } } as SyncWrite);
  const around = await copy.page({ at: 50, before: 5, after: 5 });
  expectEqual([seqs(around)[0], seqs(around).at(-1), around.gap ?? null], [46, 55, null]);
});

Deno.test("what is on its way comes last, in the order of writing, and only at the end", async () => {
  const copy = await Copy.begin(5);
  await copy.apply(history(1, 5, 5));
  await copy.write(send("one"), "m1");
  await copy.write(send("two", messageId(2)), "m2");
  await copy.write({ kind: "tapback", tapback: "love" }, messageId(3));
  await copy.write({ kind: "delete", scope: "me" }, messageId(4));
  const { rows } = await copy.page();
  expectEqual(rows.map(({ message }) => message.text), ["text 1", "text 2", "text 3", "text 5", "one", "two"]);
  expectEqual(rows[2]!.message.tapbackCounts, { love: 1 });
  expectEqual(rows.at(-1)!.parent, { id: messageId(2), senderId: "ben", preview: "text 2" });
  const middle = await copy.page({ at: 2, before: 2, after: 1 });
  expectEqual(seqs(middle), [1, 2, 3]);
});

Deno.test("a pin shows at once, stays as the server told it, and what is deleted has none", async () => {
  const copy = await Copy.begin(4);
  const told = { seq: 4, userId: "ben", at: "2026-01-01T00:00:00.000Z" };
  await copy.apply(history(1, 4, 4));
  await copy.apply({ write: "message", message: message(2, { changeSeq: 5, pinned: told }) });
  for (const seq of [1, 2, 3]) await copy.write({ kind: "pinMessage", pins: true }, messageId(seq));
  await copy.write({ kind: "delete", scope: "everyone" }, messageId(3));
  const pins = async () => (await copy.page()).rows.map(({ message }) => message.pinned?.userId ?? null);
  expectEqual(await pins(), ["anna", "ben", null, null]);
  await copy.write({ kind: "pinMessage", pins: false }, messageId(1));
  await copy.write({ kind: "pinMessage", pins: false }, messageId(2));
  expectEqual(await pins(), [null, null, null, null]);
});

Deno.test("what the application adds goes with its message, through an edit", async () => {
  const copy = await Copy.begin(1);
  const extra = { place: { lat: 53.5 }, n: [1, null] };
  await copy.write(
    { kind: "send", text: "one", mentions: [], sentAt: "2026-01-01T00:00:00.000Z", extra },
    messageId(7),
  );
  await copy.write({ kind: "edit", text: "better" }, messageId(7));
  const { rows } = await copy.page();
  expectEqual([rows.at(-1)!.message.text, rows.at(-1)!.message.extra], ["better", extra]);
});

Deno.test("a message that the server has stored stays in sight until the stream brings it", async () => {
  const copy = await Copy.begin(5);
  await copy.apply(history(1, 5, 5));
  await copy.write(send("one"), messageId(7));
  // Position 6 is somebody else's, and not here yet.
  const [row] = await copy.rows();
  await copy.change((writer) => complete(writer, row!, message(7, { text: "one", senderId: "anna" })));
  expectEqual((await copy.rows()).length, 0);
  expectEqual(seqs(await copy.page()), [1, 2, 3, 4, 5, 7]);
  // What the user found by a search is not the end of the conversation.
  await copy.apply({ write: "message", message: message(9) });
  expectEqual(seqs(await copy.page()), [1, 2, 3, 4, 5, 7]);
  await copy.apply(created(6), created(7, { text: "one", senderId: "anna" }));
  expectEqual(seqs(await copy.page()), [1, 2, 3, 4, 5, 6, 7]);

  const cleared = await Copy.begin(5, { clearedSeq: 5 });
  await cleared.write(send("one"), messageId(6));
  const [first] = await cleared.rows();
  await cleared.change((writer) => complete(writer, first!, message(6, { text: "one", senderId: "anna" })));
  expectEqual(seqs(await cleared.page()), [6]);
});

Deno.test("a parent that is gone, or that the user may not see, is not shown; its first 50 characters are", async () => {
  const copy = await Copy.begin(4);
  const family = "👨‍👩‍👧‍👦".repeat(60);
  await copy.apply(
    history(1, 4, 4),
    created(5, { text: family }),
    created(6, { kind: "reply", replyTo: { messageId: messageId(5), seq: 5 } }),
  );
  const parent = async () => (await copy.page()).rows.find(({ message }) => message.seq === 6)!.parent;
  expectEqual((await parent())!.preview, "👨‍👩‍👧‍👦".repeat(50));
  await copy.write({ kind: "delete", scope: "everyone" }, messageId(5));
  expectEqual(await parent() ?? null, null);
});

Deno.test("what is sealed has no text, counts as unread, is part of digests, and goes with a deletion", async () => {
  const copy = await Copy.begin(4);
  const sealed = { kind: "sealed", text: null, sealed: "AAAA" };
  await copy.apply(history(1, 4, 4), created(5, sealed));
  const shown = async () => (await copy.page()).rows.map(({ message }) => [message.sealed ?? null, message.text]);
  expectEqual((await shown()).at(-1), ["AAAA", null]);
  expectEqual(isUnread(message(5, sealed), "anna"), true);
  expectEqual(await digestOf([message(1), message(5, sealed)]) === await digestOf([message(1)]), false);
  const write = { ...send(""), sealed: "BBBB" };
  await copy.write(write, messageId(6));
  await copy.write({ kind: "edit", text: "", sealed: "CCCC" }, messageId(6));
  const waiting = (await copy.rows()).map((row) => outboxRequest([row]));
  expectEqual(waiting.map(({ body }) => body), [{ ...waiting[0]!.body as object, text: undefined, sealed: "CCCC" }]);
  expectEqual((await shown()).at(-1), ["CCCC", null]);
  await copy.write({ kind: "edit", text: "", sealed: "DDDD" }, messageId(5));
  expectEqual((await shown()).at(-2), ["DDDD", null]);
  const [, edit] = await copy.rows();
  expectEqual(outboxRequest([edit!]).body, { sealed: "DDDD" });
  await copy.write({ kind: "delete", scope: "everyone" }, messageId(5));
  expectEqual((await shown()).at(-2), [null, null]);
});

Deno.test("a vote shows at once, the last one counts, and what others do leaves it; digests have the counts", async () => {
  const copy = await Copy.begin(4);
  const asked = (votes: number[], voters: number, more = {}) => ({
    kind: "poll",
    poll: { options: votes.map((votes, place) => ({ text: `${place}`, votes })), multiple: true, voters, ...more },
  });
  await copy.apply(history(1, 4, 4), created(5, asked([1, 0, 2], 2)));
  const shown = async () => {
    const { poll } = (await copy.page()).rows.find(({ id }) => id === messageId(5))!.message;
    return [
      ...poll!.options.map(({ votes }) => votes),
      poll!.voters,
      poll!.vote?.options.join() ?? "-",
      !!poll!.closedAt,
    ];
  };
  expectEqual(await shown(), [1, 0, 2, 2, "-", false]);
  await copy.write({ kind: "vote", options: [0, 1] }, messageId(5));
  await copy.write({ kind: "vote", options: [1] }, messageId(5));
  expectEqual(await shown(), [1, 1, 2, 3, "1", false]);
  const [vote, ...none] = await copy.rows();
  expectEqual([outboxRequest([vote!]).body, none.length], [{ options: [1] }, 0]);
  const told = asked([1, 1, 2], 3, { vote: { userId: "anna", options: [1] } });
  await copy.apply({ write: "message", message: message(5, { changeSeq: 6, ...told }) });
  const others = asked([1, 1, 3], 4, { vote: { userId: "ben", options: [2] } });
  await copy.apply({ write: "message", message: message(5, { changeSeq: 7, ...others }) });
  expectEqual((await shown()).slice(-2), ["1", false]);
  await copy.write({ kind: "vote", options: [0, 2] }, messageId(5));
  expectEqual(await shown(), [2, 0, 4, 4, "0,2", false]);
  await copy.write({ kind: "vote", options: [] }, messageId(5));
  expectEqual(await shown(), [1, 0, 3, 3, "", false]);
  await copy.write({ kind: "closePoll" }, messageId(5));
  expectEqual((await shown()).at(-1), true);
  const digests = [asked([1, 0], 1), asked([0, 1], 1), asked([1, 0], 1, { closedAt: "2026-01-01T00:00:00.000Z" })];
  const different = await Promise.all(digests.map((poll) => digestOf([message(5, poll)])));
  expectEqual(new Set(different).size, 3);
  await copy.write({ ...send("Which?"), poll: { options: ["a", "b"] } } as PendingWrite, messageId(8));
  const { message: unsent } = (await copy.page()).rows.at(-1)!;
  expectEqual([unsent.kind, unsent.poll?.options.length, unsent.poll?.voters], ["poll", 2, 0]);
});

Deno.test("what is forwarded shows the copy's text, files and who wrote it, and is sent without them", async () => {
  const copy = await Copy.begin(4);
  const forward = { conversationId: talk, messageId: messageId(2), origin: true };
  const attachments = [{ id: "f", name: "plan.pdf", type: "application/pdf", size: 3 }];
  const forwarded = { userId: "ben", sentAt: "2026-01-01T00:00:00.000Z" };
  await copy.write({ ...send("Nine?"), forward, attachments, forwarded } as PendingWrite, messageId(8));
  const { message } = (await copy.page()).rows.at(-1)!;
  expectEqual([message.text, message.attachments, message.forwarded], ["Nine?", attachments, forwarded]);
  const sent = (await copy.rows()).map((row) => outboxRequest([row]).body);
  expectEqual(sent, [{ id: messageId(8), forward, sentAt: message.sentAt }]);
});

/** A window on a copy, and what it asked to be loaded. */
class Opened {
  readonly looks: Place[] = [];
  readonly views: TimelineView[] = [];
  readonly queries: LiveQueries;
  readonly window: LiveTimeline;

  constructor(readonly copy: Copy, anchor: ConstructorParameters<typeof LiveTimeline>[2] = "newest") {
    this.queries = new LiveQueries(copy.database);
    const find = (id: string) => Promise.resolve(Number(id.slice(-12)));
    const look = (place: Place) => void this.looks.push(place);
    this.window = new LiveTimeline(talk, {
      queries: this.queries,
      look,
      find,
      readAgain() {},
      whenConnected: new Set(),
    }, anchor);
    this.window.subscribe((view) => this.views.push(view));
  }

  get last(): TimelineView {
    return this.views.at(-1)!;
  }

  /** Changes the copy, and waits until the window has shown it. */
  async apply(...writes: SyncWrite[]): Promise<void> {
    this.queries.touched(await this.copy.apply(...writes));
    await settled();
  }
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 120));

Deno.test("a window opens where the unread messages begin, loads what is missing there, and marks the first", async () => {
  const copy = await Copy.begin(161, { readSeq: 81, unreadCount: 80 });
  await copy.apply(created(162));
  const opened = new Opened(copy, "unread");
  await settled();
  expectEqual([opened.looks, opened.last.isLoading], [[{ around: 82 }], true]);
  await opened.apply({ ...history(40, 140, 162), place: { around: 82 } } as SyncWrite);
  expectEqual([opened.last.firstUnread, opened.last.isLoading], [messageId(82), false]);
  if (!seqs(opened.last).includes(82)) throw new Error(`${seqs(opened.last)}`);
  await opened.apply({
    write: "privateChange",
    change: { useq: 1, kind: "read.moved", at: "", conversationId: talk, readSeq: 162 },
  });
  expectEqual(opened.last.firstUnread, messageId(82));
  opened.window.close();
});

Deno.test("a gap that was closed and comes again soon is asked for again", async () => {
  const copy = await Copy.begin(60);
  const opened = new Opened(copy);
  await settled();
  await opened.apply(history(1, 60, 60));
  expectEqual([opened.looks.length, opened.last.isLoading], [1, false]);
  await opened.apply({ write: "outdated", conversation: talk, range: [1, 60] });
  expectEqual([opened.looks.length, opened.last.isLoading], [2, true]);
  expectEqual(opened.looks[1], opened.looks[0]);
  // While it is open, it was asked for.
  await opened.apply({ write: "outdated", conversation: talk, range: [1, 60] });
  expectEqual(opened.looks.length, 2);
  opened.window.close();
});

Deno.test("a window grows on both sides, stays small, and never shows a hole or a row twice", async () => {
  const copy = await Copy.begin(2_000);
  await copy.apply(history(1, 2_000, 2_000));
  const opened = new Opened(copy, { seq: 1_000 });
  await settled();
  const check = () => {
    const [first, all] = [seqs(opened.last)[0]!, seqs(opened.last)];
    expectEqual(all, all.map((_, index) => first + index));
    if (all.length > 500) throw new Error(`${all.length} rows`);
    return [first, all.at(-1)!];
  };
  for (let count = 0; count < 25 && opened.last.hasMoreBefore; count++) {
    const [first] = check();
    opened.window.extendBefore();
    opened.window.extendBefore();
    await settled();
    if (check()[0]! >= first!) throw new Error("it did not grow");
  }
  expectEqual(check()[0]! <= 1, true);
  for (let count = 0; count < 45 && opened.last.hasMoreAfter; count++) {
    const before = check()[1];
    opened.window.extendAfter();
    await settled();
    if (check()[1]! <= before!) throw new Error("it did not grow");
  }
  expectEqual(check()[1], 2_000);
  // It has reached the end: now it shows what arrives.
  await opened.apply(created(2_001));
  expectEqual(check()[1], 2_001);
  opened.window.close();
});

Deno.test("rows that did not change stay the same objects, and what arrives pushes no row out at once", async () => {
  const copy = await Copy.begin(80);
  await copy.apply(history(1, 80, 80));
  const opened = new Opened(copy);
  await settled();
  const before = opened.last.rows;
  await opened.apply(created(81), created(82));
  await settled();
  const after = opened.last.rows;
  expectEqual(before.every((row) => after.includes(row)), true);
  expectEqual(after.length, before.length + 2);
  opened.window.close();
});

Deno.test("while the user reads above the end, a full window lets go of what arrives, not of what is read", async () => {
  const copy = await Copy.begin(600);
  await copy.apply(history(1, 600, 600));
  const opened = new Opened(copy);
  await settled();
  for (let count = 0; count < 7; count++) {
    opened.window.extendBefore();
    await settled();
  }
  opened.window.isAtEnd = false;
  const [first] = seqs(opened.last);
  await opened.apply(...Array.from({ length: 60 }, (_, index) => created(601 + index)));
  await settled();
  expectEqual([seqs(opened.last).includes(first! + 10), opened.last.hasMoreAfter], [true, true]);
  opened.window.close();
});

Deno.test("a jump is not undone by what was being read for the place before", async () => {
  const copy = await Copy.begin(1_000);
  await copy.apply(history(1, 1_000, 1_000));
  const opened = new Opened(copy, { seq: 10 });
  await settled();
  opened.window.isAtEnd = false;
  const read = copy.database.read.bind(copy.database);
  let release = () => {};
  copy.database.read = async (body) => {
    const result = await read(body);
    await new Promise<void>((resolve) => release = resolve);
    return result;
  };
  opened.window.extendAfter();
  await settled();
  opened.window.jump("newest");
  copy.database.read = read;
  release();
  await settled();
  expectEqual([seqs(opened.last).at(-1), opened.last.hasMoreAfter], [1_000, false]);
  opened.window.close();
});

Deno.test("values are made of the old one's parts where they are equal", () => {
  const old = { rows: [{ id: "a", list: [1] }, { id: "b", list: [2] }], more: false };
  const value = shared(old, {
    rows: [{ id: "z", list: [0] }, { id: "a", list: [1] }, { id: "b", list: [3] }],
    more: false,
  });
  expectEqual([value.rows[1] === old.rows[0], value.rows[2] === old.rows[1]], [true, false]);
  expectEqual(shared(old, structuredClone(old)) === old, true);
  expectEqual(shared<unknown>({ a: 1, b: 2 }, { a: 1 }), { a: 1 });
});
