/// <reference lib="deno.ns" />
import { complete, refuse, retry, sendable } from "../../core/copy/outbox-rows.ts";
import { oneRow } from "../../core/lists.ts";
import type { Permissions } from "../../core/model.ts";
import { may } from "../../core/permissions.ts";
import { changed, conversation, Copy, expectEqual, messageId, send, talk } from "./copy.ts";

// Who may do what in a group, in a copy.

const row = async (copy: Copy) => (await copy.database.read((rows) => oneRow(rows, talk)))!;
const everyone: Permissions = { write: "members", addMembers: "members", rename: "members" };
const refusal = { status: 403, code: "forbidden", title: "", detail: "" };

Deno.test("what the server says of a group is kept, and a change replaces all of it", async () => {
  const copy = await Copy.begin(10);
  expectEqual(may(await row(copy), "write"), true);
  const permissions = { ...everyone, write: "admins", addMembers: "owners" };
  await copy.apply({ write: "conversation", conversation: conversation(10, { permissions }), follows: true });
  expectEqual((await row(copy)).conversation.permissions, permissions);
  expectEqual([may(await row(copy), "write"), may(await row(copy), "rename")], [false, true]);
  await copy.apply(changed(11, { kind: "member.changed", userId: "anna", role: "admin" }));
  expectEqual([may(await row(copy), "write"), may(await row(copy), "addMembers")], [true, false]);
  await copy.apply(changed(12, { kind: "permissions.changed", permissions: { ...everyone, rename: "owners" } }));
  expectEqual((await row(copy)).conversation.permissions, { ...everyone, rename: "owners" });
  await copy.apply(changed(13, { kind: "permissions.changed", permissions: everyone }));
  expectEqual((await row(copy)).conversation.permissions, undefined);
  const all = { ...everyone, mentionAll: "members" };
  await copy.apply(changed(14, { kind: "permissions.changed", permissions: all }));
  expectEqual([(await row(copy)).conversation.permissions, may(await row(copy), "mentionAll")], [all, true]);
  await copy.apply(changed(15, { kind: "member.changed", userId: "anna", role: "member" }));
  await copy.apply(changed(16, { kind: "permissions.changed", permissions: everyone }));
  expectEqual([(await row(copy)).conversation.permissions, may(await row(copy), "mentionAll")], [undefined, false]);
  // No message is missing where permissions changed.
  expectEqual((await copy.head()).ranges, [[12, 14], [16, 16]]);
});

Deno.test("former members may nothing, and are not told who may", async () => {
  const copy = await Copy.begin(10, { permissions: { ...everyone, write: "admins" }, role: "admin" });
  await copy.apply(changed(11, { kind: "member.removed", userId: "anna", role: "admin" }));
  expectEqual((await row(copy)).conversation.permissions, undefined);
  expectEqual(may(await row(copy), "rename"), false);
});

Deno.test("what a later version of the server permits to others is left to owners", async () => {
  const permissions = { ...everyone, write: "moderators" };
  const copy = await Copy.begin(10, { permissions, role: "admin" });
  expectEqual(may(await row(copy), "write"), false);
  await copy.apply(changed(11, { kind: "member.changed", userId: "anna", role: "owner" }));
  expectEqual(may(await row(copy), "write"), true);
});

Deno.test("a change of the user's shows at once, two are one until they are sent, and a refusal takes them back", async () => {
  const copy = await Copy.begin(10, { role: "owner" });
  await copy.write({ kind: "permissions", permissions: { write: "admins" } });
  await copy.write({ kind: "permissions", permissions: { rename: "owners" } });
  const rows = await copy.rows();
  expectEqual(rows.map(({ write }) => write), [
    { kind: "permissions", permissions: { write: "admins", rename: "owners" } },
  ]);
  const wanted = { ...everyone, write: "admins", rename: "owners" };
  expectEqual((await row(copy)).conversation.permissions, wanted);
  await copy.change((writer) => refuse(writer, rows[0]!, refusal));
  expectEqual((await row(copy)).conversation.permissions, undefined);
  await copy.write({ kind: "permissions", permissions: { write: "admins", rename: "owners" } });
  const [, again] = await copy.rows();
  await copy.change((writer) => complete(writer, again!, conversation(11, { role: "owner", permissions: wanted })));
  expectEqual((await row(copy)).conversation.permissions, wanted);
});

Deno.test("a message that was written while one might failed when one may not, and can be sent later", async () => {
  const copy = await Copy.begin(10);
  await copy.write(send("Dear all"), messageId(90));
  await copy.apply(changed(11, { kind: "permissions.changed", permissions: { ...everyone, write: "admins" } }));
  const waiting = () => copy.database.read((rows) => sendable(rows));
  const [first] = await waiting();
  await copy.change((writer) => refuse(writer, first!, refusal));
  const [shown] = (await copy.page()).rows.slice(-1);
  expectEqual([shown!.message.text, shown!.state], ["Dear all", "failed"]);
  expectEqual(await waiting(), []);
  await copy.apply(changed(12, { kind: "permissions.changed", permissions: everyone }));
  await copy.change((writer) => retry(writer, talk, messageId(90), messageId(91)));
  expectEqual((await waiting()).map((each) => each.messageId), [messageId(90)]);
});
