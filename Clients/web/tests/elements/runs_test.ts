/// <reference lib="deno.ns" />
import { lastReceipts } from "../../core/copy/receipts.ts";
import { lastSentOf } from "../../elements/runs.ts";
import { changed, Copy, created, expectEqual, history, message, messageId, send, talk } from "../core/copy.ts";

Deno.test("the status stands below the last own message that is not deleted, also before the server knows it", async () => {
  const copy = await Copy.begin(1);
  const mine = { senderId: "anna" };
  await copy.apply(history(1, 1, 1), created(2, mine), created(3, mine), created(4, mine), created(5));
  await copy.write(send("on its way"), "m");
  const shown = async () => [
    lastSentOf((await copy.page()).rows)?.id,
    (await copy.database.read((rows) => lastReceipts(rows, talk)))?.messageId,
  ];
  expectEqual(await shown(), [messageId(4), messageId(4)]);
  await copy.write({ kind: "delete", scope: "everyone" }, messageId(4));
  expectEqual(await shown(), [messageId(3), messageId(3)]);
  const deleted = message(4, { ...mine, changeSeq: 6, text: null, deletedForEveryone: true });
  await copy.apply(changed(6, { kind: "message.deleted", message: deleted }));
  expectEqual(await shown(), [messageId(3), messageId(3)]);
  await copy.write({ kind: "delete", scope: "me" }, messageId(3));
  expectEqual(await shown(), [messageId(2), messageId(2)]);
});
