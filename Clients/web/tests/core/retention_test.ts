/// <reference lib="deno.ns" />
import { oneRow } from "../../core/lists.ts";
import { changed, conversation, Copy, created, expectEqual, message, messageId, talk } from "./copy.ts";

// Messages that the server keeps no longer, in a copy.

const row = async (copy: Copy) => (await copy.database.read((rows) => oneRow(rows, talk)))!;
const seqs = async (copy: Copy) => (await copy.page()).rows.map(({ message }) => message.seq);
const parent = (seq: number) => ({ messageId: messageId(seq), seq, senderId: "ben", preview: "text" });
const trimmed = (seq: number, keptFrom: number) => changed(seq, { kind: "history.trimmed", keptFrom });

Deno.test("what lies before is gone, does not come back, and moves nothing in the list", async () => {
  const copy = await Copy.begin(10);
  await copy.apply(created(11), created(12));
  await copy.apply(
    created(13, { kind: "reply", replyTo: parent(12) }),
    created(14, { kind: "reply", replyTo: parent(13) }),
  );
  const before = await row(copy);
  expectEqual(before.conversation.unreadCount, 4);
  await copy.apply(trimmed(15, 13));
  expectEqual(await seqs(copy), [13, 14]);
  const after = await row(copy);
  expectEqual([after.conversation.unreadCount, after.conversation.lastSeq], [2, 15]);
  expectEqual(after.conversation.lastActivityAt, before.conversation.lastActivityAt);
  // No message is missing there.
  expectEqual((await copy.head()).ranges.at(-1)![1], 15);
  const parents = (await copy.page()).rows.map(({ parent }) => parent?.preview);
  expectEqual(parents, [undefined, "text 13"]);
  // From responses that were on their way.
  await copy.apply(created(12), { write: "message", message: message(11) });
  expectEqual(await seqs(copy), [13, 14]);
});

Deno.test("who reads no changes is told with the conversation, and an older one takes nothing back", async () => {
  const copy = await Copy.begin(10);
  await copy.apply(created(11), created(12));
  await copy.apply({ write: "conversation", conversation: conversation(13, { keptFrom: 12 }), follows: true });
  expectEqual(await seqs(copy), [12]);
  await copy.apply({ write: "conversation", conversation: conversation(12), follows: true });
  await copy.apply({ write: "message", message: message(11) });
  expectEqual(await seqs(copy), [12]);
});

Deno.test("the server's count of what is unread loses what is gone, and is asked again", async () => {
  const copy = await Copy.begin(10, { unreadCount: 5, readSeq: 2 });
  const page = {
    messages: [6, 7, 8, 9, 10].map((seq) => message(seq)),
    hasMoreBefore: true,
    hasMoreAfter: false,
    lastSeq: 10,
  };
  await copy.apply({ write: "history", conversation: talk, page, place: "newest" });
  await copy.apply(trimmed(11, 8));
  expectEqual((await row(copy)).conversation.unreadCount, 3);
  expectEqual((await copy.head()).needsHead, true);
});
