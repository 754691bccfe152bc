import { CopyWriter } from "../../core/copy/copy.ts";
import type { Database, Query, Table } from "../../core/copy/database.ts";
import { within } from "../../core/copy/database.ts";
import { eraseIndexedDB, openIndexedDB } from "../../core/copy/indexeddb.ts";
import { createBlobs } from "../../core/copy/indexeddb-blobs.ts";
import { MemoryDatabase } from "../../core/copy/memory.ts";
import { enqueue, outboxOf } from "../../core/copy/outbox-rows.ts";
import { messagesBefore } from "../../core/copy/messages.ts";
import { timeline } from "../../core/copy/timeline.ts";
import { applyWrites } from "../../core/copy/apply.ts";
import { openCopy } from "../../core/opening.ts";
import { seeded } from "./simulation/world.ts";

// What only a browser can show: that IndexedDB behaves as the database in memory that the simulation runs on. Bundled, and
// called by name, by a test with a browser. Each function returns what went wrong.

/** What the page does with the network: a test with a browser says what it responds. */
export { browser, call, tokenOf } from "../../core/browser.ts";
export { eraseIndexedDB, openIndexedDB };

const name = "parley-test";

/** The same reads and writes on both databases have the same results. */
export async function compareDatabases(seed: number): Promise<string[]> {
  await eraseIndexedDB(name);
  const databases: Database[] = [await openIndexedDB(name, () => {}), new MemoryDatabase()];
  const random = seeded(seed);
  const wrong: string[] = [];
  for (let step = 0; step < 300; step++) {
    const body = operation(random);
    const [one, other] = await Promise.all(databases.map(body));
    if (JSON.stringify(one) !== JSON.stringify(other)) wrong.push(`${step}: ${JSON.stringify([one, other])}`);
  }
  databases[0]!.close();
  await eraseIndexedDB(name);
  return wrong;
}

function operation(random: () => number): (database: Database) => Promise<unknown> {
  const number = (most: number) => Math.floor(random() * most);
  const id = ["a", "b"][number(2)]!;
  const seq = 1 + number(20);
  const dice = number(100);
  if (dice < 40) return (database) => database.write((rows) => rows.put("messages", message(id, seq, seq)));
  if (dice < 45) return (database) => database.write((rows) => rows.remove("messages", [id, seq]));
  if (dice < 48) return (database) => database.write((rows) => rows.removeAll("messages", within(id)));
  if (dice < 52) return fails(id, seq);
  if (dice < 60) {
    const head = {
      id,
      lastActivityAt: number(2) ? `2026-03-0${1 + number(9)}` : undefined,
      unread: number(2) || undefined,
    };
    return (database) => database.write((rows) => rows.put("conversations", head as never));
  }
  if (dice < 64) {
    const row = { conversationId: id, write: { kind: "unlist" as const }, idempotencyKey: "", at: "" };
    return (database) => database.write((rows) => rows.append("outbox", { ...row, state: "waiting", wasTried: false }));
  }
  if (dice < 70) return (database) => database.read((rows) => outboxOf(rows, id));
  const [first, limit] = [number(5), 1 + number(4)];
  if (dice < 75) return (database) => database.read((rows) => messagesBefore(rows, id, first, seq, limit));
  const query = queries(id, seq, number)[number(6)]!;
  return (database) => database.read((rows) => rows.all(...query));
}

function queries(id: string, seq: number, number: (most: number) => number): [Table, Query?][] {
  const limit = 1 + number(8);
  return [
    ["messages", { from: [id, seq], to: [id, []], limit }],
    ["messages", { from: [id, 1], to: [id, seq], limit, isDescending: true }],
    ["messages", { index: "id", from: [id, "5"], to: [id, "7"] }],
    ["conversations", { index: "activity", isDescending: true, limit }],
    ["conversations", { index: "unread" }],
    ["outbox"],
  ];
}

/** A transaction that fails leaves nothing behind. */
function fails(id: string, seq: number): (database: Database) => Promise<unknown> {
  return (database) => {
    const written = database.write(async (rows) => {
      await rows.put("messages", message(id, seq, 99));
      throw new Error("on purpose");
    });
    return written.catch((error: Error) => error.message);
  };
}

function message(conversationId: string, seq: number, changeSeq: number) {
  return {
    ...{ id: `${seq}`, conversationId, seq, changeSeq, senderId: "ben", kind: "text", text: `text ${seq}`, sentAt: "" },
    ...{ createdAt: "", tapbacks: [], tapbackCounts: {}, mentions: [], epoch: 0 },
  };
}

/** A damaged copy is replaced, with what was not sent. */
export async function replaceDamaged(): Promise<string[]> {
  await eraseIndexedDB(name);
  // A database without most of its tables, as an unfinished or foreign version could have left it.
  await new Promise<void>((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => {
      const outbox = request.result.createObjectStore("outbox", { keyPath: "key", autoIncrement: true });
      outbox.add({ conversationId: "a", messageId: "m", write: { kind: "unlist" }, state: "waiting", wasTried: true });
      request.result.createObjectStore("drafts", { keyPath: "conversationId" }).add({
        conversationId: "a",
        text: "half",
      });
    };
    request.onsuccess = () => {
      request.result.close();
      resolve();
    };
    request.onerror = () => reject(request.error);
  });
  const { database, saved } = await openCopy(name, () => {});
  const rows = await database.read((rows) => rows.all("outbox"));
  const [, draft] = rows.map(({ write }) => write.kind === "draft" ? write.draft : undefined);
  await CopyWriter.run(database, (copy) => {
    return enqueue(copy, { write: { kind: "unlist" }, conversationId: "b", at: "", idempotencyKey: "" });
  });
  const keys = (await database.read((rows) => rows.all("outbox"))).map(({ key }) => key);
  database.close();
  await eraseIndexedDB(name);
  const wrong = [saved === 2 || `saved ${saved}`, rows[0]?.messageId === "m" || "the row is lost"];
  wrong.push(draft?.text === "half" || "the draft is lost", `${keys}` === "1,2,3" || `keys ${keys}`);
  return wrong.filter((one) => one !== true);
}

/** A page that opens the copy while another one brings it to a newer version leaves it to that one, with what is written there. */
export async function leaveToNewer(): Promise<string[]> {
  await eraseIndexedDB(name);
  (await openIndexedDB(name, () => {})).close();
  const version = async () => (await indexedDB.databases()).find((database) => database.name === name)?.version ?? 0;
  const newest = 1 + await version();
  const older = openCopy(name, () => {}).then(({ database }) => database.close(), (error) => error.name);
  const newer = await new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open(name, newest);
    request.onupgradeneeded = () => void request.transaction!.objectStore("outbox").add({ conversationId: "a" });
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      request.result.onversionchange = () => request.result.close();
      resolve(request.result);
    };
  });
  const outcome = await older;
  newer.close();
  const found = await version();
  await eraseIndexedDB(name);
  const wrong = [found === newest || `version ${found} of ${newest}`];
  wrong.push([undefined, "InvalidStateError"].includes(outcome!) || `${outcome}`);
  return wrong.filter((one) => one !== true);
}

/** What an earlier version made opens with all that it had: the names' table is new in 4, and in 5 a draft is a row. */
export async function upgrade(version: number): Promise<string[]> {
  await eraseIndexedDB(name);
  await makeEarlier(version);
  const database = await openIndexedDB(name, () => {});
  const found = await database.read(async (rows) => ({
    account: await rows.get("account", 0),
    heads: await rows.all("conversations", { index: "pinned" }),
    message: await rows.get("messages", ["a", "m"], "id"),
    previews: (await rows.all("messages")).map(({ replyTo, quotes }) => [replyTo?.preview ?? "", quotes ?? 0]),
    outbox: (await rows.all("outbox")).map(({ conversationId, write, state, wasTried }) => {
      return { conversationId, write, state, wasTried };
    }),
    names: await rows.all("profiles"),
  }));
  const touched = await CopyWriter.run(database, (copy) => {
    const tell = { kind: "draft" as const, draft: { text: "half a thought" } };
    return enqueue(copy, { write: tell, conversationId: "a", at: "", idempotencyKey: "" });
  });
  const last = await database.read((rows) => outboxOf(rows, "a"));
  database.close();
  const stores = await storeNames();
  await eraseIndexedDB(name);
  const draft = { text: "half", replyTo: "m" };
  const expected = {
    account: { only: 0, userId: "anna", token: "t", isListComplete: false },
    heads: [earlierHead],
    message: { conversationId: "a", id: "m", seq: 1 },
    previews: [["", 0], ["", 0], ["secret", 1], ["", 0]],
    outbox: [
      { conversationId: "a", write: { kind: "unlist" }, state: "waiting", wasTried: true },
      { conversationId: "a", write: { kind: "draft", draft }, state: "waiting", wasTried: false },
    ],
    names: version < 4 ? [] : [{ userId: "ben", version: 1, displayName: "Ben" }],
  };
  const wrong = JSON.stringify(found) === JSON.stringify(expected) ? [] : [JSON.stringify(found)];
  if (stores.includes("drafts")) wrong.push("the table of drafts is still there");
  if (!touched.conversations.includes("a")) wrong.push("what is written now is not shown");
  const texts = last.map(({ write }) => write.kind === "draft" ? write.draft?.text : write.kind);
  if (`${texts}` !== "unlist,half a thought") wrong.push(`${texts}`);
  return wrong;
}

const earlierHead = {
  ...{ id: "a", needsHead: false, headSeq: 1, kind: "group", createdAt: "", lastSeq: 1, lastActivityAt: "2026" },
  ...{ memberCount: 2, role: "member", windows: [{ from: 1 }], clearedSeq: 0, readSeq: 1, deliveredSeq: 1 },
  ...{ toldUnread: { count: 0, seq: 1, after: 1 }, cursor: 1, firstCursor: 0, statusVersion: 0, ranges: [[1, 1]] },
  ...{ topSeq: 1, epoch: 0, marks: { pinOrder: 1 }, toldMarks: 15 },
};

function storeNames(): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name);
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const names = [...request.result.objectStoreNames];
      request.result.close();
      resolve(names);
    };
  });
}

/** A copy as that version left it, with a little of everything that a later one has to bring over. */
function makeEarlier(version: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, version);
    request.onerror = () => reject(request.error);
    request.onupgradeneeded = () => {
      const make = (table: string, keyPath: string | string[], autoIncrement = false) =>
        request.result.createObjectStore(table, { keyPath, autoIncrement });
      make("account", "only").add({ only: 0, userId: "anna", token: "t", isListComplete: true });
      const heads = make("conversations", "id");
      heads.createIndex("activity", ["lastActivityAt", "id"]);
      heads.createIndex("unread", "unread");
      heads.createIndex("pinned", "marks.pinOrder");
      heads.add(earlierHead);
      const messages = make("messages", ["conversationId", "seq"]);
      messages.createIndex("id", ["conversationId", "id"]);
      messages.add({ conversationId: "a", id: "m", seq: 1 });
      messages.add({ conversationId: "a", id: "gone", seq: 2, deletedForEveryone: true });
      const quoting = (messageId: string, seq: number) => ({ replyTo: { messageId, seq, preview: "secret" } });
      messages.add({ conversationId: "a", id: "r", seq: 3, ...quoting("m", 1) });
      messages.add({ conversationId: "a", id: "s", seq: 4, ...quoting("gone", 2) });
      for (const table of ["revisions", "hidden"]) make(table, ["conversationId", "messageId"]);
      make("members", ["conversationId", "userId"]);
      make("horizons", "conversationId");
      make("receipts", ["conversationId", "seq"]);
      make("drafts", "conversationId").add({ conversationId: "a", text: "half", replyTo: "m", at: "2026" });
      const outbox = make("outbox", "key", true);
      outbox.createIndex("conversation", "conversationId");
      outbox.add({ conversationId: "a", write: { kind: "unlist" }, state: "waiting", wasTried: true });
      make("releases", "id");
      createBlobs(request.result);
      if (version >= 4) make("profiles", "userId").add({ userId: "ben", version: 1, displayName: "Ben" });
    };
    request.onsuccess = () => {
      request.result.close();
      resolve();
    };
  });
}

/** How long a window takes with this many messages stored, in milliseconds. */
export async function measure(count: number): Promise<Record<string, number>> {
  await eraseIndexedDB(name);
  const database = await openIndexedDB(name, () => {});
  const times: Record<string, number> = {};
  const timed = async (what: string, body: () => Promise<unknown>) => {
    const start = performance.now();
    await body();
    times[what] = Math.round(10 * (performance.now() - start)) / 10;
  };
  const windows = [{ from: 1 }];
  const about = {
    id: "a",
    kind: "group",
    createdAt: "",
    lastActivityAt: "2026",
    memberCount: 2,
    role: "member",
    windows,
  };
  const conversation = { ...about, lastSeq: 0, clearedSeq: 0, unreadCount: 0, readSeq: 0, deliveredSeq: 0 };
  await CopyWriter.run(database, (copy) => applyWrites(copy, [{ write: "conversation", conversation, follows: true }]));
  await timed("apply", async () => {
    for (let seq = 1; seq <= count; seq += 1_000) {
      const changes = Array.from({ length: Math.min(1_000, count - seq + 1) }, (_, index) => change(seq + index));
      await CopyWriter.run(database, (copy) => applyWrites(copy, changes));
    }
  });
  await timed("apply 500", async () => {
    for (let seq = count + 1; seq <= count + 500; seq += 100) {
      const changes = Array.from({ length: 100 }, (_, index) => change(seq + index));
      await CopyWriter.run(database, (copy) => applyWrites(copy, changes));
    }
  });
  const show = (at: number | "end") => () =>
    database.read((rows) => timeline(rows, "a", { at, before: 50, after: 50 }));
  await timed("newest", show("end"));
  await timed("middle", show(Math.trunc(count / 2)));
  await timed("400 rows", () => database.read((rows) => timeline(rows, "a", { at: "end", before: 400, after: 0 })));
  database.close();
  await eraseIndexedDB(name);
  return times;
}

function change(seq: number) {
  const { epoch: _, ...told } = message("a", seq, seq);
  const about = { conversationId: "a", seq, kind: "message.created", at: "2026", actorId: "ben", message: told };
  return { write: "change" as const, change: about, movesCursor: true };
}
