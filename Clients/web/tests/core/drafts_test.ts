/// <reference lib="deno.ns" />
import type { Draft } from "../../core/client.ts";
import { shownDraft } from "../../core/copy/drafts.ts";
import type { OutboxRow } from "../../core/copy/database.ts";
import { complete, markTried, outboxOf, refuse, sendable } from "../../core/copy/outbox-rows.ts";
import { outboxRequest } from "../../core/http.ts";
import { OutboxSender } from "../../core/outbox/sender.ts";
import { Copy, expectEqual, talk, time } from "./copy.ts";

const draft = (text: string, replyTo?: string): Draft => ({ text, replyTo });

/** A copy in which anna writes, and which a server tells what she writes elsewhere. */
class Desk {
  private useq = 0;

  private constructor(readonly copy: Copy) {}

  static async begin(): Promise<Desk> {
    return new Desk(await Copy.begin());
  }

  /** At noon. */
  async write(text?: string, replyTo?: string): Promise<void> {
    await this.copy.write({ kind: "draft", draft: text === undefined ? undefined : draft(text, replyTo) });
  }

  /** `at`: in seconds; noon is 43,200. */
  async tell(text?: string, at = 0, fields: Record<string, unknown> = {}): Promise<void> {
    const told = text === undefined ? undefined : { text, at: time(at) };
    const change = { useq: ++this.useq, kind: "draft", at: time(at), conversationId: talk, draft: told, ...fields };
    await this.copy.apply({ write: "privateChange", change });
  }

  async shown(): Promise<string | undefined> {
    const pending = await this.copy.database.read((rows) => outboxOf(rows, talk));
    return shownDraft(await this.copy.head(), pending)?.text;
  }

  waiting(): Promise<OutboxRow[]> {
    return this.copy.database.read(sendable);
  }

  /** A request is made with what waits first. */
  async put(): Promise<OutboxRow> {
    const [row] = await this.waiting();
    await this.copy.change((copy) => markTried(copy, [row!]));
    return row!;
  }

  async answer(row: OutboxRow, status?: number): Promise<void> {
    const problem = { status: status ?? 0, code: "conflict", title: "", detail: "" };
    await this.copy.change((copy) => status ? refuse(copy, row, problem) : complete(copy, row, null));
  }

  async rows(): Promise<string[]> {
    return (await this.copy.rows()).map(({ state, write }) =>
      `${state} ${write.kind === "draft" ? write.draft?.text : ""}`
    );
  }
}

Deno.test("what is written is put once, and shown without a break until the server has told of it", async () => {
  const desk = await Desk.begin();
  await desk.write("one");
  await desk.write("one two");
  expectEqual((await desk.waiting()).length, 1);
  const row = await desk.put();
  const { method, path, body } = outboxRequest([row]);
  expectEqual([method, path.split("/").at(-1), body], ["PUT", "draft", draft("one two")]);
  await desk.answer(row);
  expectEqual([await desk.shown(), (await desk.waiting()).length], ["one two", 0]);
  await desk.tell("one two", 43_201);
  expectEqual([await desk.shown(), await desk.rows()], ["one two", []]);
  await desk.write("one two");
  expectEqual(await desk.rows(), []);
});

Deno.test("an echo that comes before the response, and one of before, change nothing", async () => {
  const desk = await Desk.begin();
  await desk.write("one");
  const first = await desk.put();
  await desk.write("two");
  await desk.tell("one", 43_201);
  expectEqual(await desk.shown(), "two");
  await desk.answer(first);
  const second = await desk.put();
  await desk.answer(second);
  expectEqual([await desk.shown(), await desk.rows()], ["two", ["held two"]]);
  await desk.tell("two", 43_202);
  expectEqual([await desk.shown(), await desk.rows()], ["two", []]);
});

Deno.test("what came before it on the server does not jump into what was put", async () => {
  const desk = await Desk.begin();
  await desk.write("here");
  const row = await desk.put();
  await desk.tell("elsewhere", 43_201);
  await desk.answer(row);
  expectEqual(await desk.shown(), "here");
  await desk.tell("here", 43_202);
  await desk.tell("and elsewhere", 43_203);
  expectEqual([await desk.shown(), await desk.rows()], ["and elsewhere", []]);
});

Deno.test("what was told while nobody listened comes without its draft, and ends the waiting for it", async () => {
  const desk = await Desk.begin();
  await desk.write("here");
  await desk.answer(await desk.put());
  // Put here, and taken away by another device.
  await desk.tell(undefined, 43_201);
  await desk.tell(undefined, 43_202);
  expectEqual([await desk.shown(), await desk.rows()], [undefined, []]);
  await desk.write("again");
  const row = await desk.put();
  await desk.tell(undefined, 43_203);
  await desk.tell("elsewhere", 43_204);
  await desk.answer(row);
  expectEqual([await desk.shown(), await desk.rows()], ["elsewhere", []]);
});

Deno.test("of two that do not know of each other the newer one stays with the server, and none is lost", async () => {
  const desk = await Desk.begin();
  await desk.write("written at noon");
  await desk.tell("written at one", 46_800);
  expectEqual([await desk.shown(), await desk.rows()], ["written at noon", ["held written at noon"]]);
  // Who goes on with it decides.
  await desk.write("written at noon, and on");
  expectEqual((await desk.waiting()).length, 1);
  const other = await Desk.begin();
  await other.write("written at noon");
  await other.tell("written in the morning", 36_000);
  expectEqual([await other.shown(), (await other.waiting()).length], ["written at noon", 1]);
});

Deno.test("what was sent or given up is taken away on the server only if it was there", async () => {
  const desk = await Desk.begin();
  await desk.write("never put");
  await desk.write();
  expectEqual([await desk.shown(), await desk.rows()], [undefined, []]);
  await desk.tell("from elsewhere", 10);
  expectEqual(await desk.shown(), "from elsewhere");
  await desk.write();
  const row = await desk.put();
  expectEqual([outboxRequest([row]).method, await desk.shown()], ["DELETE", undefined]);
  await desk.answer(row);
  await desk.tell(undefined, 43_201);
  expectEqual([await desk.shown(), await desk.rows()], [undefined, []]);
});

Deno.test("what was put and given up before the server told of it does not come back", async () => {
  const desk = await Desk.begin();
  await desk.write("given up");
  await desk.answer(await desk.put());
  await desk.write();
  await desk.answer(await desk.put());
  expectEqual(await desk.shown(), undefined);
  await desk.tell("given up", 43_201);
  expectEqual(await desk.shown(), undefined);
  await desk.tell(undefined, 43_202);
  expectEqual([await desk.shown(), await desk.rows()], [undefined, []]);
});

Deno.test("what was put before a restored server is put again, the last one of it", async () => {
  const desk = await Desk.begin();
  for (const text of ["one", "two"]) {
    await desk.write(text);
    await desk.answer(await desk.put());
  }
  expectEqual(await desk.rows(), ["held one", "held two"]);
  await desk.copy.apply({ write: "discardAll" });
  expectEqual([await desk.shown(), await desk.rows()], ["two", ["waiting two"]]);
  await desk.tell("told later", 43_300);
  expectEqual([await desk.shown(), await desk.rows()], ["two", ["held two"]]);
});

Deno.test("one that was sent elsewhere vanishes, unless it was changed here", async () => {
  const desk = await Desk.begin();
  await desk.tell("one", 10);
  await desk.tell(undefined, 20);
  expectEqual(await desk.shown(), undefined);
  await desk.tell("two", 30);
  await desk.write("two, and on");
  await desk.tell(undefined, 46_800);
  expectEqual([await desk.shown(), (await desk.waiting()).length], ["two, and on", 1]);
});

Deno.test("one that is refused stays here and is not repeated, and goes when there is room for it", async () => {
  const desk = await Desk.begin();
  await desk.tell("before", 10, { conversationId: "01900000-0000-7000-8000-00000000beef" });
  await desk.write("too many");
  await desk.answer(await desk.put(), 409);
  expectEqual([await desk.shown(), (await desk.waiting()).length], ["too many", 0]);
  await desk.tell(undefined, 20, { conversationId: "01900000-0000-7000-8000-00000000beef" });
  expectEqual((await desk.waiting()).length, 1);
  await desk.answer(await desk.put(), 413);
  await desk.tell("another one", 30, { conversationId: "01900000-0000-7000-8000-00000000beef" });
  await desk.tell(undefined, 40, { conversationId: "01900000-0000-7000-8000-00000000beef" });
  expectEqual([await desk.shown(), (await desk.waiting()).length], ["too many", 0]);
});

Deno.test("a draft waits for its conversation to be created", async () => {
  const desk = await Desk.begin();
  await desk.copy.write({ kind: "create", members: ["ben"] });
  await desk.write("first words");
  expectEqual((await desk.waiting()).map(({ write }) => write.kind), ["create"]);
});

Deno.test("a reply without a text is kept on this device alone", async () => {
  const desk = await Desk.begin();
  await desk.tell("text", 10);
  await desk.write("", "parent");
  const row = await desk.put();
  expectEqual(outboxRequest([row]).method, "DELETE");
  await desk.answer(row);
  await desk.tell(undefined, 43_201);
  expectEqual(await desk.shown(), "");
});

Deno.test("drafts of a conversation that was left go, and those of a copy that was taken away stay", async () => {
  const desk = await Desk.begin();
  await desk.tell("told", 10);
  await desk.write("written");
  await desk.copy.apply({ write: "discardAll" });
  expectEqual(await desk.rows(), ["waiting written"]);
  const other = await Desk.begin();
  await other.tell("told", 10);
  await other.write("written");
  await other.tell(undefined, 20, { kind: "conversation.left" });
  expectEqual([await other.shown(), await other.rows()], [undefined, []]);
});

// When.

const row = (key: number, conversationId = talk): OutboxRow => ({
  ...{ key, conversationId, write: { kind: "draft", draft: draft("text") }, idempotencyKey: "", state: "waiting" },
  ...{ wasTried: false, at: "" },
});

Deno.test("a draft is put after a pause in writing, after half a minute, or when the user turns away", () => {
  const sender = new OutboxSender(() => 0);
  expectEqual([sender.plan([row(1)], 0), sender.wakeAt], [[], undefined]);
  sender.connected(1);
  expectEqual([sender.plan([row(1)], 1), sender.wakeAt], [[], 2_001]);
  expectEqual(sender.plan([row(1)], 2_001).length, 1);
  sender.restart();
  for (let now = 10_000; now < 40_000; now += 1_000) {
    sender.writes(talk, now);
    expectEqual([sender.plan([row(2)], now), sender.wakeAt], [[], Math.min(now + 3_000, 40_000)]);
  }
  expectEqual([sender.plan([row(2)], 40_000).length, sender.wakeAt], [1, undefined]);
  sender.restart();
  sender.writes(talk, 50_000);
  sender.writes(talk);
  expectEqual(sender.plan([row(3), row(4)], 50_000).length, 1);
  sender.connected();
  expectEqual(sender.plan([row(5, "01900000-0000-7000-8000-00000000beef")], 60_000), []);
});
