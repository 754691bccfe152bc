/// <reference lib="deno.ns" />
import { expireMessages } from "../../core/copy/lifetimes.ts";
import { refuse } from "../../core/copy/outbox-rows.ts";
import { oneRow } from "../../core/lists.ts";
import type { Change, Message } from "../../core/model.ts";
import { changed, conversation, Copy, expectEqual, message, talk } from "./copy.ts";

// Messages that disappear, in a copy.

const row = async (copy: Copy) => (await copy.database.read((rows) => oneRow(rows, talk)))!;
const hour = { seconds: 3_600, sinceSeq: 11 };
const refusal = { status: 403, code: "forbidden", title: "", detail: "" };
const texts = async (copy: Copy) => (await copy.page()).rows.map(({ message }) => message.text);

function created(seq: number): Message {
  return message(seq, { senderId: "ben", text: `Message ${seq}` });
}

function gone(seq: number, changeSeq: number): Message {
  const deleted = { text: null, deletedForEveryone: true as const, deletedAt: created(seq).createdAt };
  return message(seq, { senderId: "ben", ...deleted, changeSeq, expired: true });
}

async function withMessages(copy: Copy, ...seqs: number[]): Promise<void> {
  await copy.apply(changed(11, { kind: "lifetime.changed", messageLifetime: hour }));
  for (const seq of seqs) await copy.apply(changed(seq, { kind: "message.created", message: created(seq) }));
}

Deno.test("what the server says is kept, a change replaces it, and who has left is not told", async () => {
  const copy = await Copy.begin(10);
  await withMessages(copy);
  expectEqual((await row(copy)).conversation.messageLifetime, hour);
  // No message is missing there.
  expectEqual((await copy.head()).ranges, [[11, 11]]);
  await copy.apply(changed(12, { kind: "lifetime.changed" }));
  expectEqual((await row(copy)).conversation.messageLifetime, undefined);
  const told = { seconds: 60, sinceSeq: 13 };
  await copy.apply({ write: "conversation", conversation: conversation(13, { messageLifetime: told }), follows: true });
  expectEqual((await row(copy)).conversation.messageLifetime, told);
  await copy.apply(changed(14, { kind: "member.removed", userId: "anna", role: "member" }));
  expectEqual((await row(copy)).conversation.messageLifetime, undefined);
});

Deno.test("what is over is shown nowhere, and moves nothing in the list", async () => {
  const copy = await Copy.begin(10);
  await withMessages(copy, 12, 13);
  const before = await row(copy);
  expectEqual([before.preview?.seq, before.conversation.unreadCount], [13, 2]);
  const at = "2027-01-01T00:00:00.000Z";
  await copy.apply(changed(14, { kind: "message.deleted", message: gone(13, 14), at } as Partial<Change>));
  const after = await row(copy);
  expectEqual([after.preview?.seq, after.conversation.unreadCount, after.conversation.lastSeq], [12, 1, 14]);
  expectEqual(after.conversation.lastActivityAt, before.conversation.lastActivityAt);
  expectEqual(await texts(copy), ["Message 12"]);
});

Deno.test("without a connection what is over is taken out, once, and the server has the last word", async () => {
  const copy = await Copy.begin(10);
  await withMessages(copy, 12, 13);
  const end = (seq: number) => Date.parse(created(seq).createdAt) + 3_600_000;
  await expireMessages(copy.database, end(12) - 1);
  expectEqual(await texts(copy), ["Message 12", "Message 13"]);
  await expireMessages(copy.database, end(12));
  expectEqual(await texts(copy), ["Message 13"]);
  expectEqual((await copy.head()).expiredSeq, 12);
  await expireMessages(copy.database, end(13));
  expectEqual([await texts(copy), (await row(copy)).conversation.unreadCount], [[], 0]);
  // This clock was ahead.
  await copy.apply(changed(14, { kind: "tapback.set", message: created(13) }));
  expectEqual(await texts(copy), ["Message 13"]);
});

Deno.test("the time of a message is over by the server's clock, as far as a session has told of it", async () => {
  const copy = await Copy.begin(10);
  await withMessages(copy, 12);
  const [day, over] = [86_400_000, Date.parse(created(12).createdAt) + 3_600_000];
  const serverTime = new Date(Date.now() - day).toISOString();
  await copy.apply({ write: "session", userId: "anna", logId: "log", useq: 0, serverTime });
  await expireMessages(copy.database, over + day - 60_000);
  expectEqual(await texts(copy), ["Message 12"]);
  await expireMessages(copy.database, over + day + 60_000);
  expectEqual(await texts(copy), []);
});

Deno.test("from reading on a device keeps what it has until the server tells", async () => {
  const copy = await Copy.begin(10);
  const told = { ...hour, from: "reading" };
  await copy.apply(changed(11, { kind: "lifetime.changed", messageLifetime: told }));
  await copy.apply(changed(12, { kind: "message.created", message: created(12) }));
  await expireMessages(copy.database, Date.parse(created(12).createdAt) + 400 * 86_400_000);
  expectEqual([await texts(copy), (await row(copy)).conversation.messageLifetime], [["Message 12"], told]);
  await copy.write({ kind: "lifetime", seconds: 60, from: "sending" });
  expectEqual((await row(copy)).conversation.messageLifetime?.from, "sending");
});

Deno.test("a change of the user's shows at once, the last of several is sent, and a refusal takes it back", async () => {
  const copy = await Copy.begin(10);
  await copy.write({ kind: "lifetime", seconds: 60 });
  await copy.write({ kind: "lifetime", seconds: 3_600 });
  expectEqual((await row(copy)).conversation.messageLifetime?.seconds, 3_600);
  const rows = await copy.rows();
  expectEqual(rows.map(({ write }) => write), [{ kind: "lifetime", seconds: 3_600 }]);
  await copy.change((writer) => refuse(writer, rows[0]!, refusal));
  expectEqual((await row(copy)).conversation.messageLifetime, undefined);
});
