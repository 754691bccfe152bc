/// <reference lib="deno.ns" />
import { accountOf } from "../../core/copy/copy.ts";
import { complete, enqueue, markTried, refuse } from "../../core/copy/outbox-rows.ts";
import { readThrough } from "../../core/copy/blocks.ts";
import { firstUnread } from "../../core/copy/timeline.ts";
import { oneRow } from "../../core/lists.ts";
import { Moment } from "../../core/moment.ts";
import { searchCopy, shownResults } from "../../core/search.ts";
import type { SyncWrite } from "../../core/sync/events.ts";
import { Copy, created, expectEqual, history, message, messageId, talk } from "./copy.ts";

const at = "2026-03-07T12:00:00.000Z";
const pair = "01900000-0000-8000-8000-00000000cafe";

const told = (useq: number, userId: string, blocked: boolean): SyncWrite => {
  return { write: "privateChange", change: { useq, kind: "blocked", at, conversationId: pair, userId, blocked } };
};

function block(copy: Copy, user: string, isBlocked: boolean) {
  const about = { conversationId: "", at, idempotencyKey: "key" };
  return copy.change((writer) => enqueue(writer, { ...about, write: { kind: "block", user, isBlocked, after: 0 } }));
}

async function blocked(copy: Copy): Promise<string> {
  return `${(await copy.database.read(accountOf)).blocked ?? []}`;
}

async function seqs(copy: Copy): Promise<number[]> {
  return (await copy.page()).rows.map(({ message }) => message.seq);
}

const row = (copy: Copy) => copy.database.read((rows) => oneRow(rows, talk));

/** A group whose odd messages are carla's, the others ben's. */
async function group(): Promise<Copy> {
  const copy = await Copy.begin(6);
  const page = history(1, 6, 6);
  if (page.write !== "history") throw new Error("no page");
  const messages = page.page.messages.map((each) => ({ ...each, senderId: each.seq % 2 ? "carla" : "ben" }));
  await copy.apply({ ...page, page: { ...page.page, messages } });
  return copy;
}

// The list.

Deno.test("a block holds at once, stays when the server has it, and is undone when it is refused", async () => {
  const copy = await Copy.begin(5);
  await block(copy, "ben", true);
  expectEqual(await blocked(copy), "ben");
  const [sent] = await copy.rows();
  await copy.change((writer) => complete(writer, sent!, null));
  expectEqual(await blocked(copy), "ben");
  await copy.apply(told(1, "ben", true));
  await block(copy, "carla", true);
  expectEqual(await blocked(copy), "ben,carla");
  const problem = { status: 409, code: "conflict", title: "", detail: "" };
  const [refused] = await copy.rows();
  await copy.change((writer) => refuse(writer, refused!, problem));
  expectEqual(await blocked(copy), "ben");
});

Deno.test("somebody may be called like what every object has", async () => {
  const copy = await Copy.begin(5);
  for (const user of ["__proto__", "constructor"]) {
    await block(copy, user, true);
    const [sent] = await copy.rows();
    await copy.change((writer) => complete(writer, sent!, null));
    expectEqual(await blocked(copy), user);
    await copy.apply({ write: "blocks", users: [user, "ben"], useq: 1 });
    expectEqual(await blocked(copy), `${[user, "ben"].sort()}`);
    await copy.apply({ write: "blocks", users: [], useq: 2 });
    expectEqual(await blocked(copy), "");
  }
});

Deno.test("of one user the last word that no request was made with is sent, of several users each", async () => {
  const copy = await Copy.begin(5);
  for (const [user, isBlocked] of [["ben", true], ["carla", true], ["ben", false]] as const) {
    await block(copy, user, isBlocked);
  }
  const waiting = await copy.rows();
  expectEqual(waiting.map(({ write }) => write.kind === "block" && `${write.user} ${write.isBlocked}`), [
    "carla true",
    "ben false",
  ]);
  await copy.change((writer) => markTried(writer, waiting));
  await block(copy, "ben", true);
  expectEqual((await copy.rows()).length, 3);
  expectEqual(await blocked(copy), "ben,carla");
});

Deno.test("what another device did later stands, also if the response to an earlier block comes last", async () => {
  const copy = await Copy.begin(5);
  await block(copy, "ben", true);
  const [first] = await copy.rows();
  await copy.change((writer) => markTried(writer, [first!]));
  await copy.apply(told(1, "ben", true), told(2, "ben", false));
  expectEqual(await blocked(copy), "ben");
  await copy.change((writer) => complete(writer, first!, null));
  expectEqual(await blocked(copy), "");
});

Deno.test("a list replaces what was known, and nothing that was told before it shows for a moment", async () => {
  const copy = await Copy.begin(5);
  await copy.apply(told(1, "carla", true), { write: "blocks", users: ["ben"], useq: 4 });
  expectEqual(await blocked(copy), "ben");
  await copy.apply(told(2, "ben", true), told(3, "ben", false));
  expectEqual(await blocked(copy), "ben");
  await copy.apply(told(4, "ben", true), told(5, "carla", true));
  expectEqual(await blocked(copy), "ben,carla");
});

Deno.test("a response that was asked for before says nothing against the private stream; after a gap it does", async () => {
  const copy = await Copy.begin(5);
  await copy.apply({ write: "blocks", users: ["ben"], useq: 0 }, { write: "blocks", users: [] });
  expectEqual(await blocked(copy), "ben");
  await copy.apply({ write: "outdated" });
  expectEqual(await blocked(copy), "ben");
  await copy.apply(told(1, "carla", true), { write: "blocks", users: [] });
  expectEqual(await blocked(copy), "carla");
});

// What is shown.

Deno.test("in a group nothing of a blocked user is shown or counted, and everything again without the block", async () => {
  const copy = await group();
  expectEqual((await copy.head()).unread, 6);
  await block(copy, "ben", true);
  expectEqual(await seqs(copy), [1, 3, 5]);
  expectEqual((await copy.head()).unread, 3);
  expectEqual((await row(copy))?.preview?.seq, 5);
  expectEqual((await copy.database.read((rows) => searchCopy(rows, "text"))).length, 3);
  expectEqual((await copy.database.read((rows) => firstUnread(rows, talk, 1)))?.seq, 3);
  const found = [1, 2].map((seq) => ({ message: message(seq, { senderId: seq === 1 ? "carla" : "ben" }), pieces: [] }));
  const shown = await copy.database.read((rows) => shownResults(rows, found));
  expectEqual(shown.map((result) => result.message.seq), [1]);
  const around = await copy.page({ at: 4, before: 2, after: 2 });
  expectEqual(around.rows.map((each) => each.message.seq), [1, 3, 5]);
  await block(copy, "ben", false);
  expectEqual(await seqs(copy), [1, 2, 3, 4, 5, 6]);
  expectEqual((await copy.head()).unread, 6);
});

Deno.test("the conversation of two shows what it had, and says that the other is blocked", async () => {
  const copy = await Copy.begin(3, { kind: "direct" });
  const members = ["anna", "ben"].map((userId) => ({
    userId,
    role: "member",
    joinedSeq: 1,
    deliveredSeq: 0,
    readSeq: 0,
  }));
  await copy.apply(history(1, 3, 3), { write: "members", conversation: talk, members, isFirstPage: true });
  await block(copy, "ben", true);
  expectEqual(await seqs(copy), [1, 2, 3]);
  expectEqual((await row(copy))?.isBlocked, true);
});

Deno.test("tapbacks of a blocked user are not shown, and a reply to them shows no preview", async () => {
  const copy = await group();
  const tapbacks = [{ userId: "ben", kind: "like" }, { userId: "carla", kind: "like" }];
  const replyTo = { messageId: messageId(2), seq: 2 };
  const reply = message(7, { senderId: "carla", kind: "reply", replyTo, tapbacks, tapbackCounts: { like: 2 } });
  await copy.apply(created(7, reply));
  expectEqual((await copy.page()).rows.at(-1)?.parent?.senderId, "ben");
  await block(copy, "ben", true);
  const last = (await copy.page()).rows.at(-1)!;
  expectEqual(last.parent ?? null, null);
  expectEqual(last.message.tapbacks, [{ userId: "carla", kind: "like" }]);
  expectEqual(last.message.tapbackCounts, { like: 1 });
});

Deno.test("a hidden message is not announced; what happened to the group is shown, whoever did it", async () => {
  const copy = await group();
  await block(copy, "ben", true);
  const { arrivals } = await copy.apply(created(7), created(8, message(8, { senderId: "carla" })));
  expectEqual(arrivals.map(({ seq }) => seq), [8]);
  await copy.apply(created(9, message(9, { kind: "system", text: null })));
  expectEqual((await seqs(copy)).at(-1), 9);
});

Deno.test("who has read a message has read what is hidden right behind it", async () => {
  const copy = await group();
  const through = (seq: number) =>
    copy.database.read(async (rows) =>
      readThrough(rows, (await rows.get("conversations", talk))!, await accountOf(rows), seq)
    );
  expectEqual(await through(5), 5);
  await block(copy, "ben", true);
  expectEqual([await through(5), await through(3)], [6, 4]);
  await copy.apply(created(7), created(8));
  expectEqual(await through(5), 8);
});

Deno.test("of a blocked user neither typing nor presence is shown", () => {
  const moment = new Moment();
  const typing = { notice: "typing" as const, conversation: talk, user: "ben", active: true };
  moment.take(typing);
  moment.take({ notice: "presence", user: "ben", online: true });
  moment.hide(["ben"]);
  expectEqual([moment.typing(talk).value, moment.presence("ben").value.online], [[], false]);
  moment.take(typing);
  moment.take({ notice: "presence", user: "ben", online: true });
  expectEqual([moment.typing(talk).value, moment.presence("ben").value.online], [[], false]);
  moment.hide([]);
  moment.take(typing);
  expectEqual(moment.typing(talk).value, ["ben"]);
  moment.take({ ...typing, active: false });
});
