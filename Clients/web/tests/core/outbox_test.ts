/// <reference lib="deno.ns" />
import type { OutboxRow } from "../../core/copy/database.ts";
import { complete, discardUnsent, enqueue, markTried, refuse, retry, sendable } from "../../core/copy/outbox-rows.ts";
import { outboxRequest } from "../../core/http.ts";
import { oneRow } from "../../core/lists.ts";
import type { PendingWrite } from "../../core/outbox/writes.ts";
import { OutboxSender } from "../../core/outbox/sender.ts";
import { Copy, created, expectEqual, history, message, messageId, send, talk, time } from "./copy.ts";

const other = "01900000-0000-7000-8000-00000000beef";
const problem = (status: number, code: string) => ({ status, code, title: code, detail: code });

function row(key: number, write: PendingWrite, message?: number, conversationId = talk): OutboxRow {
  const about = { key, conversationId, messageId: message === undefined ? undefined : messageId(message), write };
  return { ...about, idempotencyKey: `key ${key}`, state: "waiting", wasTried: false, at: time(0) };
}

const keys = (calls: { call: OutboxRow[] }[]) => calls.map(({ call }) => call.map(({ key }) => key));

Deno.test("one message goes by itself, several in one request, up to a reply, which might be refused", () => {
  expectEqual(keys(new OutboxSender(() => 0.5).plan([row(1, send("a"), 1)], 0)), [[1]]);
  const sender = new OutboxSender(() => 0.5);
  const rows = [
    row(1, send("a"), 1),
    row(2, send("b"), 2, other),
    row(3, send("c", messageId(1)), 3),
    row(4, send("d"), 4),
  ];
  expectEqual(keys(sender.plan(rows, 0)), [[1, 2, 3]]);
  expectEqual(keys(sender.plan(rows, 0)), []);
});

Deno.test("edits wait for their message, members for the messages before, conversations for nothing", () => {
  const rows = [
    row(1, send("a"), 1),
    row(2, { kind: "edit", text: "b" }, 1),
    row(3, { kind: "member", user: "ben", isRemoved: true }),
    row(4, { kind: "tapback", tapback: "love" }, 9),
    row(5, { kind: "rename", title: "x" }, undefined, other),
    row(6, { kind: "read", seq: 4 }),
    row(7, send("c"), 7),
  ];
  expectEqual(keys(new OutboxSender(() => 0.5).plan(rows, 0)), [[1], [4], [5], [6]]);
});

Deno.test("after a temporary failure it waits as long as the server asks, and longer each time", () => {
  const sender = new OutboxSender(() => 0.5);
  let [now, last] = [0, 0];
  for (let attempt = 0; attempt < 8; attempt++) {
    const [call] = sender.plan([row(1, send("a"), 1)], now);
    sender.handle({ failure: { problem: problem(503, "overloaded"), retryAfter: 3_000 } }, call!.id, now);
    last = sender.wakeAt! - now;
    if (last < 3_000 || last > 60_000) throw new Error(`${last}`);
    expectEqual(sender.plan([row(1, send("a"), 1)], now + last / 2), []);
    now += last;
  }
  if (last < 30_000) throw new Error(`${last}`);
});

Deno.test("while nobody can be brought in, only what is behind it in its conversation waits, longer each time", () => {
  const added: PendingWrite = { kind: "member", user: "ben", isRemoved: false };
  for (const bring of [added, { kind: "create" as const, members: ["ben"] }]) {
    const sender = new OutboxSender(() => 0.5);
    const rows = [row(1, bring), row(2, send("a"), 2)];
    let [now, last] = [0, 0];
    for (let attempt = 0; attempt < 8; attempt++) {
      const [first] = sender.plan(rows, now);
      expectEqual(keys([first!]), [[1]]);
      const refusal = problem(attempt % 2 ? 503 : 429, "unavailable");
      const step = sender.handle({ failure: { problem: refusal, retryAfter: 3_000 } }, first!.id, now);
      expectEqual(step, { completed: [], refused: [], needsFreshToken: false });
      last = sender.wakeAt! - now;
      if (last < 3_000 || last > 60_000) throw new Error(`${last}`);
      const [second] = sender.plan([...rows, row(3, send("b"), 3, other)], now + last / 2);
      expectEqual(keys([second!]), [[3]]);
      sender.handle({ body: message(3) }, second!.id, now + last / 2);
      now += last;
    }
    if (last < 30_000) throw new Error(`${last}`);
    const [call] = sender.plan(rows, now);
    expectEqual([keys([call!]), sender.wakeAt ?? null], [[[1]], null]);
    sender.handle({ body: {} }, call!.id, now);
    expectEqual(keys(sender.plan([rows[1]!], now)), [[2]]);
  }
});

Deno.test("any other write that is refused for a while, or a server that is away, has all of them wait", () => {
  const added: PendingWrite = { kind: "member", user: "ben", isRemoved: false };
  for (const [write, status] of [[{ ...added, isRemoved: true }, 429], [added, 500], [added, undefined]] as const) {
    const sender = new OutboxSender(() => 0.5);
    const [call] = sender.plan([row(1, write)], 0);
    sender.handle({ failure: status ? { problem: problem(status, "unavailable") } : {} }, call!.id, 0);
    expectEqual(keys(sender.plan([row(2, send("a"), 2, other)], 1)), []);
  }
});

Deno.test("what is behind a message with files does not go in one request with it: it might overtake it", () => {
  const attachment = { id: "f", name: "a", type: "image/png", size: 1 };
  const files = [{ key: "f", name: "a", type: "image/png", size: 1, attachment }];
  const rows = [row(1, { ...send("a"), files } as PendingWrite, 1), row(2, send("b"), 2), row(3, send("c"), 3, other)];
  expectEqual(keys(new OutboxSender(() => 0.5).plan(rows, 0)), [[1, 3]]);
});

Deno.test("of a batch what was stored is done, what was refused fails, and the rest is sent again", () => {
  const sender = new OutboxSender(() => 0.5);
  const rows = [1, 2, 3].map((key) => row(key, send("text"), key));
  const [call] = sender.plan(rows, 0);
  const results = [{ message: message(1) }, { problem: problem(413, "tooLarge") }, {
    problem: problem(503, "skipped"),
  }];
  const step = sender.handle({ body: { results } }, call!.id, 0);
  expectEqual([step.completed.map(({ row }) => row.key), step.refused.map(({ row }) => row.key)], [[1], [2]]);
  expectEqual(keys(sender.plan([rows[2]!], 60_000)), [[3]]);
});

Deno.test("what the application refuses fails at once, alone or in a batch, and is not sent again", () => {
  const sender = new OutboxSender(() => 0.5);
  const rows = [1, 2].map((key) => row(key, send("text"), key));
  const refusal = problem(403, "refusedByApplication");
  const [single] = sender.plan([rows[0]!], 0);
  expectEqual(sender.handle({ failure: { problem: refusal } }, single!.id, 0).refused.map(({ row }) => row.key), [1]);
  const [batch] = sender.plan(rows, 0);
  const step = sender.handle({ body: { results: [{ problem: refusal }, { message: message(2) }] } }, batch!.id, 0);
  expectEqual([step.completed.map(({ row }) => row.key), step.refused.map(({ row }) => row.key)], [[2], [1]]);
  expectEqual(sender.plan([], 60_000), []);
});

Deno.test("a batch that is refused as a whole is sent in parts, so that one message alone is refused", () => {
  const sender = new OutboxSender(() => 0.5);
  let rows = [1, 2, 3, 4].map((key) => row(key, send("text"), key));
  const refused: number[] = [];
  for (let round = 0; round < 10 && rows.length; round++) {
    for (const { id } of sender.plan(rows, 0)) {
      const step = sender.handle({ failure: { problem: problem(413, "tooLarge") } }, id, 0);
      refused.push(...step.refused.map(({ row }) => row.key));
      rows = rows.filter(({ key }) => !refused.includes(key));
    }
  }
  expectEqual(refused, [1, 2, 3, 4]);
});

Deno.test("without a valid token nothing is sent until there is a new one", () => {
  const sender = new OutboxSender(() => 0.5);
  const rows = [row(1, send("a"), 1)];
  const [call] = sender.plan(rows, 0);
  expectEqual(
    sender.handle({ failure: { problem: problem(401, "unauthenticated") } }, call!.id, 0).needsFreshToken,
    true,
  );
  expectEqual(sender.plan(rows, 600_000), []);
  sender.tokenArrived();
  expectEqual(keys(sender.plan(rows, 600_000)), [[1]]);
});

Deno.test("who is suspended from everything keeps what they wrote, and who may read is told that it was refused", () => {
  const sender = new OutboxSender(() => 0.5);
  const rows = [row(1, send("a"), 1)];
  const suspended = (mode: "readOnly" | "out") => ({
    problem: { ...problem(403, "suspended"), mode },
    retryAfter: 3_600_000,
  });
  const [first] = sender.plan(rows, 0);
  expectEqual(sender.handle({ failure: suspended("out") }, first!.id, 0).refused, []);
  expectEqual([sender.plan(rows, 3_599_999), sender.wakeAt! >= 3_600_000], [[], true]);
  sender.resume();
  const [second] = sender.plan(rows, 1_000);
  expectEqual(sender.handle({ failure: suspended("readOnly") }, second!.id, 1_000).refused.length, 1);
});

Deno.test("requests are as the contract has them, with the keys of their rows", () => {
  const of = (write: PendingWrite, message?: number) => {
    const { method, path, body, idempotencyKey } = outboxRequest([row(1, write, message)]);
    return [method, path.replace(talk, "C").replace(messageId(2), "M"), body ?? null, idempotencyKey ?? null];
  };
  const sent = { id: messageId(2), text: "a", replyTo: messageId(1), sentAt: time(0) };
  expectEqual(of(send("a", messageId(1)), 2), ["POST", "/v1/conversations/C/messages", sent, null]);
  expectEqual(of({ kind: "delete", scope: "everyone" }, 2), [
    "DELETE",
    "/v1/conversations/C/messages/M?scope=everyone",
    null,
    "key 1",
  ]);
  expectEqual(of({ kind: "member", user: "b+c@d", isRemoved: true }), [
    "DELETE",
    "/v1/conversations/C/members/b%2Bc%40d",
    null,
    "key 1",
  ]);
  expectEqual(of({ kind: "conversationSettings", settings: { readReceipts: null } }), [
    "PUT",
    "/v1/conversations/C/settings",
    { readReceipts: null },
    "key 1",
  ]);
});

Deno.test("a message that was not sent takes its edits, and is gone when it is deleted", async () => {
  const copy = await Copy.begin();
  await copy.write(send("one"), "m");
  await copy.write({ kind: "edit", text: "two" }, "m");
  expectEqual((await copy.rows()).map(({ write }) => write), [send("two")]);
  await copy.write({ kind: "delete", scope: "everyone" }, "m");
  expectEqual(await copy.rows(), []);
});

Deno.test("a message that the server may know keeps its text, and the edit follows it", async () => {
  const copy = await Copy.begin();
  await copy.write(send("one"), "m");
  const rows = await copy.rows();
  await copy.change((writer) => markTried(writer, rows));
  await copy.write({ kind: "edit", text: "two" }, "m");
  expectEqual((await copy.rows()).map(({ write }) => write.kind), ["send", "edit"]);
  expectEqual(await copy.texts(), ["two"]);
});

Deno.test("a refused message holds the later ones back until it is retried, edited or discarded", async () => {
  const copy = await Copy.begin();
  for (const id of ["m1", "m2"]) await copy.write(send(id), id);
  await copy.change(async (writer) =>
    await refuse(writer, (await writer.rows.all("outbox"))[0]!, problem(403, "forbidden"))
  );
  const sent = () => copy.database.read(sendable).then((rows) => rows.map(({ messageId }) => messageId));
  expectEqual(await sent(), []);
  const [failed] = (await copy.page()).rows;
  expectEqual([failed!.state, failed!.problem?.code], ["failed", "forbidden"]);
  await copy.change((copy) => retry(copy, talk, "m1", "new"));
  expectEqual(await sent(), ["m1", "m2"]);
});

Deno.test("a conversation that is refused stays while there are messages for it, whose first one has failed by that", async () => {
  const copy = await Copy.begin();
  const about = { conversationId: other, at: time(0), idempotencyKey: "key" };
  const write = (write: PendingWrite, messageId?: string) =>
    copy.change((writer) => enqueue(writer, { ...about, write, messageId }));
  const refuseFirst = () =>
    copy.change(async (writer) =>
      await refuse(writer, (await writer.rows.all("outbox"))[0]!, problem(403, "forbidden"))
    );
  const sent = async () => (await copy.database.read(sendable)).map(({ write: { kind } }) => kind);
  const states = async () => (await copy.rows()).map(({ write: { kind }, state }) => `${kind} ${state}`);
  await write({ kind: "create", members: ["ben"], title: "Climbing" });
  await write(send("one"), "m1");
  await write({ kind: "rename", title: "Hiking" });
  await write(send("two"), "m2");
  await refuseFirst();
  expectEqual(await sent(), []);
  expectEqual(await states(), ["create failed", "send failed", "rename waiting", "send waiting"]);
  const row = await copy.database.read((rows) => oneRow(rows, other));
  expectEqual([row?.conversation.memberCount, row?.preview?.text, row?.previewState], [2, "two", "failed"]);

  await copy.change((writer) => retry(writer, other, "m1", "new"));
  expectEqual(await sent(), ["create", "send", "rename", "send"]);
  await refuseFirst();
  await write({ kind: "edit", text: "better" }, "m1");
  expectEqual((await sent())[0], "create");
  await refuseFirst();
  await copy.change((writer) => discardUnsent(writer, other, "m1"));
  expectEqual(await states(), ["create failed", "rename waiting", "send failed"]);
  await copy.change((writer) => discardUnsent(writer, other, "m2"));
  expectEqual(await states(), []);
  expectEqual(await copy.database.read((rows) => oneRow(rows, other)), null);
});

Deno.test("a message whose id is in use is sent again under another one, and replies to it follow", async () => {
  const copy = await Copy.begin();
  await copy.write(send("a"), "m1");
  await copy.write(send("b", "m1"), "m2");
  const [first] = await copy.rows();
  await copy.change((copy) => refuse(copy, first!, problem(409, "conflict")));
  await copy.change((copy) => retry(copy, talk, "m1", "new"));
  expectEqual((await copy.rows()).map(({ messageId, write }) => [messageId, write.kind === "send" && write.replyTo]), [
    ["new", null],
    ["m2", "new"],
  ]);
});

Deno.test("any other refused write is undone, and kept until the user was told", async () => {
  const copy = await Copy.begin(5);
  await copy.apply(history(1, 5, 5));
  await copy.write({ kind: "edit", text: "mine" }, messageId(5));
  expectEqual((await copy.texts()).at(-1), "mine");
  await copy.change(async (writer) =>
    await refuse(writer, (await writer.rows.all("outbox"))[0]!, problem(403, "editWindowClosed"))
  );
  expectEqual([(await copy.texts()).at(-1), (await copy.rows())[0]!.state], ["text 5", "refused"]);
});

Deno.test("a message that comes back by the stream leaves the outbox, whatever becomes of the request", async () => {
  const copy = await Copy.begin(4);
  await copy.apply(history(1, 4, 4));
  await copy.write(send("mine"), messageId(5));
  await copy.apply(created(5, { senderId: "anna", text: "mine" }));
  expectEqual([await copy.rows(), (await copy.texts()).at(-1)], [[], "mine"]);
  await copy.change((writer) =>
    complete(writer, row(1, send("mine"), 5), message(5, { senderId: "anna", text: "mine" }))
  );
  expectEqual((await copy.texts()).filter((text) => text === "mine").length, 1);
});

Deno.test("what was done to a message of another conversation with the same id does not join", async () => {
  const copy = await Copy.begin();
  await copy.write(send("one"), "m");
  const about = { conversationId: other, messageId: "m", at: time(0), idempotencyKey: "" };
  await copy.change((writer) => enqueue(writer, { ...about, write: { kind: "delete", scope: "me" } }));
  expectEqual((await copy.rows()).map(({ write }) => write.kind), ["send", "delete"]);
  await copy.change((writer) => discardUnsent(writer, talk, "m"));
  expectEqual((await copy.rows()).map(({ write }) => write.kind), ["delete"]);
});
