/// <reference lib="deno.ns" />
import { blobKey, surplus } from "../../core/copy/blobs.ts";
import type { Touched } from "../../core/copy/copy.ts";
import { complete, discardUnsent, refuse, retry } from "../../core/copy/outbox-rows.ts";
import { outboxRequest } from "../../core/http.ts";
import { kindOf, shownText } from "../../core/media/kinds.ts";
import { decodeThumbHash } from "../../core/media/thumbhash.ts";
import { base64, type Outcome, type UploadCalls } from "../../core/media/tus.ts";
import { nextPart, Uploader } from "../../core/media/uploader.ts";
import type { Attachment, MediaFacts } from "../../core/model.ts";
import type { Hub } from "../../core/hub.ts";
import { Writing } from "../../core/writing.ts";
import { OutboxSender } from "../../core/outbox/sender.ts";
import type { PendingFile, PendingWrite } from "../../core/outbox/writes.ts";
import type { SyncWrite } from "../../core/sync/events.ts";
import { searchCopy } from "../../core/search.ts";
import { shortName } from "../../elements/chosen-files.ts";
import { durationText, sizeText } from "../../elements/words.ts";
import { changed, Copy, created, expectEqual, message, messageId, send, talk } from "./copy.ts";

const photo: Attachment = { id: "f1", name: "sun.png", type: "image/png", size: 10, width: 4, height: 3 };

function carrying(text: string, ...files: PendingFile[]): PendingWrite {
  return { kind: "send", text, mentions: [], sentAt: "2026-03-07T12:00:00.000Z", files };
}

function pending(key: string, attachment?: Attachment): PendingFile {
  return { key, name: "sun.png", type: "image/png", size: 600_000, attachment };
}

// A server of uploads, and the world around the uploader.

class Server implements UploadCalls {
  uploads = new Map<string, { size: number; bytes: number; name: string }>();
  calls: string[] = [];
  removed: string[] = [];
  /** What becomes of a call, if not what is asked for. */
  fault: (call: string) => Outcome<never> | undefined = () => undefined;
  facts_: Partial<MediaFacts> = { state: "ready" };

  private answer<Value>(call: string, body: () => Value): Promise<Outcome<Value>> {
    this.calls.push(call);
    return Promise.resolve(this.fault(call) ?? { value: body() });
  }

  create(size: number, name: string) {
    return this.answer("create", () => {
      const id = `upload-${this.uploads.size + 1}`;
      this.uploads.set(id, { size, bytes: 0, name });
      return id;
    });
  }

  offset(id: string) {
    return this.answer(`offset ${id}`, () => this.uploads.get(id)!.bytes);
  }

  append(id: string, offset: number, part: Blob) {
    return this.answer(`append ${id} ${offset}`, () => {
      const upload = this.uploads.get(id)!;
      if (upload.bytes !== offset) throw new Error("another offset");
      return upload.bytes += part.size;
    });
  }

  facts(id: string) {
    const { name, size } = this.uploads.get(id)!;
    return this.answer(`facts ${id}`, () => ({ id, name, size, type: "image/png", state: "ready", ...this.facts_ }));
  }

  remove(id: string) {
    return this.answer(`remove ${id}`, () => (this.removed.push(id), null));
  }
}

class World {
  server = new Server();
  pumped = 0;
  timers: (() => void)[] = [];
  copy!: Copy;
  uploader!: Uploader;

  static async begin(...files: PendingFile[]): Promise<World> {
    const world = new World();
    world.copy = await Copy.begin();
    for (const { key, size } of files) {
      await world.copy.database.blobs.put(blobKey(key), new Blob([new Uint8Array(size)], { type: "image/png" }));
    }
    if (files.length) await world.copy.write(carrying("look", ...files), messageId(50));
    world.newPage();
    return world;
  }

  /** Another page, or the same one loaded again. */
  newPage(): void {
    this.uploader?.close();
    this.uploader = new Uploader(this.copy.database, this.server, {
      now: () => 0,
      after: (_, body) => {
        this.timers.push(body);
        return () => this.timers = this.timers.filter((timer) => timer !== body);
      },
      random: () => 0.5,
      touched: (_: Touched) => {},
      progress: () => {},
      pump: () => this.pumped++,
    });
  }

  async run(): Promise<void> {
    this.uploader.resume();
    await this.settle();
  }

  /** Until nothing has been asked of the server for a while. */
  private async settle(): Promise<void> {
    for (let [quiet, calls] = [0, 0]; quiet < 30; quiet++) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      if (this.server.calls.length !== calls) [quiet, calls] = [0, this.server.calls.length];
    }
  }

  async file(index = 0): Promise<PendingFile | undefined> {
    const [row] = await this.copy.rows();
    return row?.write.kind === "send" ? row.write.files?.[index] : undefined;
  }
}

Deno.test("a file is uploaded part by part, and its message then has what the server says of it", async () => {
  const world = await World.begin(pending("unsent-a"));
  await world.run();
  const { attachment, upload } = (await world.file())!;
  expectEqual([upload, attachment?.id, attachment?.type], ["upload-1", "upload-1", "image/png"]);
  expectEqual(world.server.uploads.get("upload-1")!.bytes, 600_000);
  expectEqual(world.server.calls.filter((call) => call.startsWith("append")).length, 2);
  expectEqual(world.pumped, 1);
});

Deno.test("a page that comes later goes on where the server is", async () => {
  const world = await World.begin(pending("unsent-a"));
  world.server.fault = (call) => call === "append upload-1 262144" ? { failure: {} } : undefined;
  await world.run();
  expectEqual((await world.file())!.attachment, undefined);
  world.server.fault = () => undefined;
  world.server.calls = [];
  world.newPage();
  await world.run();
  expectEqual(world.server.calls.slice(0, 2), ["offset upload-1", "append upload-1 262144"]);
  expectEqual((await world.file())!.attachment!.id, "upload-1");
});

Deno.test("an upload that has ended on the server begins again", async () => {
  const world = await World.begin({ ...pending("unsent-a"), upload: "upload-9" });
  const gone = { status: 404, code: "notFound", title: "", detail: "" };
  world.server.fault = (call) => call === "offset upload-9" ? { failure: { problem: gone } } : undefined;
  await world.run();
  await world.run();
  expectEqual((await world.file())!.attachment!.id, "upload-1");
});

Deno.test("what the server refuses fails with the reason, and a retry uploads it anew", async () => {
  const world = await World.begin(pending("unsent-a"));
  world.server.facts_ = { state: "refused", reason: "unreadable" };
  await world.run();
  const [row] = await world.copy.rows();
  expectEqual([row!.state, row!.problem!.code], ["failed", "mediaRefused"]);
  expectEqual(row!.problem!.detail, "“sun.png” is damaged, or of a kind that cannot be read.");
  world.server.facts_ = { state: "ready" };
  await world.copy.change((copy) => retry(copy, talk, messageId(50), messageId(51)));
  await world.run();
  expectEqual((await world.file())!.attachment!.id, "upload-2");
  expectEqual(world.server.removed, ["upload-1"]);
});

Deno.test("a limit that lasts is told of; one that passes is waited for", async () => {
  const problem = { status: 429, code: "rateLimited", title: "", detail: "more bytes a day" };
  for (const [retryAfter, state] of [[5_000, "waiting"], [7_200_000, "failed"]] as const) {
    const world = await World.begin(pending("unsent-a"));
    world.server.fault = () => ({ failure: { problem, retryAfter } });
    await world.run();
    expectEqual((await world.copy.rows())[0]!.state, state);
  }
});

Deno.test("what is discarded is ended on the server and leaves nothing here, in whatever moment", async () => {
  const world = await World.begin(pending("unsent-a"));
  world.server.fault = (call) => call.startsWith("append") ? { failure: {} } : undefined;
  await world.run();
  await world.copy.change((copy) => discardUnsent(copy, talk, messageId(50)));
  await world.run();
  expectEqual(world.server.removed, ["upload-1"]);
  expectEqual(await world.copy.database.blobs.keys(), []);
  expectEqual(await world.copy.database.read((rows) => rows.all("releases")), []);
});

Deno.test("an upload whose message was discarded while it was being created is ended", async () => {
  const world = await World.begin(pending("unsent-a"));
  const { create } = world.server;
  world.server.create = async function (...about) {
    await world.copy.change((copy) => discardUnsent(copy, talk, messageId(50)));
    return await create.apply(this, about);
  };
  await world.run();
  await world.run();
  expectEqual(world.server.removed, ["upload-1"]);
});

Deno.test("without its content a message fails, and says so", async () => {
  const world = await World.begin(pending("unsent-a"));
  await world.copy.database.blobs.clear();
  await world.run();
  expectEqual((await world.copy.rows())[0]!.problem!.code, "fileMissing");
});

Deno.test("content that no message came for is removed, when no tab can be about to write it", async () => {
  const world = await World.begin();
  const old = "unsent-01900000-0000-7000-8000-000000000001";
  const recent = `unsent-${Date.now().toString(16).padStart(12, "0").replace(/^(.{8})/, "$1-")}-7000-8000-000000000001`;
  for (const key of [old, recent, "f1"]) await world.copy.database.blobs.put(blobKey(key), new Blob(["x"]));
  await world.run();
  expectEqual(await world.copy.database.blobs.keys(), [blobKey(recent), blobKey("f1")]);
});

Deno.test("a message waits for its files, and what was written after it waits behind", async () => {
  const copy = await Copy.begin();
  await copy.write(carrying("", pending("unsent-a")), messageId(50));
  await copy.write(send("behind"), messageId(51));
  expectEqual(new OutboxSender(() => 0.5).plan(await copy.rows(), 0), []);
  await copy.database.write((rows) => rows.remove("outbox", 1));
  await copy.write(carrying("", pending("unsent-a", photo)), messageId(52));
  const [first] = new OutboxSender(() => 0.5).plan(await copy.rows(), 0);
  const { messages } = outboxRequest(first!.call).body as { messages: Record<string, unknown>[] };
  expectEqual(messages[1]!.attachments, [{ id: "f1" }]);
  expectEqual("text" in JSON.parse(JSON.stringify(messages[1])), false);
});

Deno.test("what was sent, deleted, hidden, cleared or taken away leaves no content on the device", async () => {
  const released = async (copy: Copy) => (await copy.database.read((rows) => rows.all("releases"))).map(({ id }) => id);
  const gone = { ...message(5), seq: 5, changeSeq: 6, text: null, deletedForEveryone: true as const };
  const about = { useq: 1, at: "", conversationId: talk, messageId: messageId(5), throughSeq: 5 };
  const writes: SyncWrite[] = [
    changed(6, { kind: "message.deleted", message: gone }),
    { write: "privateChange", change: { ...about, kind: "message.hidden" } },
    { write: "privateChange", change: { ...about, kind: "history.cleared" } },
    { write: "privateChange", change: { ...about, kind: "conversation.removed" } },
    { write: "discard", conversation: talk },
    { write: "discardAll" },
  ];
  for (const write of writes) {
    const copy = await Copy.begin(4);
    await copy.apply(created(5, { attachments: [photo] }), write);
    expectEqual(await released(copy), ["f1"]);
  }
  const copy = await Copy.begin(4);
  await copy.write(carrying("", { ...pending("unsent-a", photo), upload: "f1" }), messageId(5));
  const [row] = await copy.rows();
  await copy.change((writer) => complete(writer, row!, { ...message(5), attachments: [photo] }));
  expectEqual(await released(copy), ["unsent-a"]);
});

Deno.test("a refusal because of the message itself keeps what was uploaded", async () => {
  const copy = await Copy.begin();
  await copy.write(carrying("x", { ...pending("unsent-a", photo), upload: "f1" }), messageId(50));
  const [row] = await copy.rows();
  await copy.change((writer) => refuse(writer, row!, { status: 403, code: "forbidden", title: "", detail: "" }));
  await copy.change((writer) => retry(writer, talk, messageId(50), messageId(51)));
  const { write } = (await copy.rows())[0]!;
  expectEqual(write.kind === "send" && write.files![0]!.attachment!.id, "f1");
});

Deno.test("a message that is not sent yet shows its files, and replies and lists say what it carries", async () => {
  const copy = await Copy.begin();
  await copy.write(carrying("", pending("unsent-a")), messageId(50));
  const { rows } = await copy.page();
  expectEqual(rows[0]!.message.attachments![0]!.local, "unsent-a");
  expectEqual(rows[0]!.message.text, null);
  expectEqual(shownText(rows[0]!.message), "Photo");
  const file = { ...photo, type: "application/pdf", name: "plan.pdf" };
  expectEqual(shownText({ ...message(1), text: null, attachments: [file, photo] }), "plan.pdf");
  expectEqual(shownText({ ...message(1), text: "words", attachments: [photo] }), "words");
});

Deno.test("messages are found by the names of their files without a connection, too", async () => {
  const copy = await Copy.begin(4);
  await copy.apply(created(5, { text: null, attachments: [{ ...photo, name: "Harbour.png" }] }));
  const found = await copy.database.read((rows) => searchCopy(rows, "harbour"));
  expectEqual(found.map(({ pieces }) => pieces), [["", "Harbour", ".png"]]);
});

Deno.test("how a file is shown depends on what the server says of it, and on whether its place is known", () => {
  expectEqual(kindOf(photo), "photo");
  expectEqual(kindOf({ ...photo, width: undefined }), "file");
  expectEqual(kindOf({ ...photo, type: "image/svg+xml", local: "unsent-a" }), "file");
  expectEqual(kindOf({ ...photo, type: "image/heic" }), "file");
  expectEqual(kindOf({ ...photo, type: "image/heic", thumbhash: "x" }), "photo");
  expectEqual(kindOf({ ...photo, type: "video/webm" }), "video");
  expectEqual(kindOf({ ...photo, type: "video/x-matroska" }), "file");
  expectEqual(kindOf({ ...photo, type: "audio/ogg" }), "audio");
});

Deno.test("a text does not overtake a file that is still being kept, except in another conversation", async () => {
  const copy = await Copy.begin();
  const { promise: isRoomMade, resolve: makeRoom } = Promise.withResolvers<void>();
  const { blobs } = copy.database;
  const slow = { blobs: { ...blobs, put: () => isRoomMade, removeAll: () => Promise.resolve() } };
  const write = (body: Parameters<typeof copy.change>[0]) => copy.change(body);
  const writing = new Writing({ database: slow, write, tell: () => {} } as unknown as Hub);
  const file = writing.send(talk, "", { files: [{ blob: new Blob(["x"]), name: "sun.png", type: "image/png" }] });
  const text = writing.send(talk, "behind it");
  await writing.send("another", "meanwhile");
  makeRoom();
  await Promise.all([file, text]);
  const texts = (await copy.rows()).map(({ write }) => write.kind === "send" ? write.text : undefined);
  expectEqual(texts, ["meanwhile", "", "behind it"]);
});

Deno.test("parts grow while the connection is fast, and shrink when it is not", () => {
  expectEqual(nextPart(256 * 1_024, 10), 512 * 1_024);
  expectEqual(nextPart(8 * 1_024 * 1_024, 10), 8 * 1_024 * 1_024);
  expectEqual(nextPart(1_024 * 1_024, 4_000), 256 * 1_024);
  expectEqual(nextPart(256 * 1_024, 60_000), 64 * 1_024);
});

Deno.test("of what is kept the longest unused goes, until a tenth is free", () => {
  const entries = [1, 2, 3, 4].map((number) => ({ key: `${number}`, bytes: 30 }));
  expectEqual(surplus(entries, 100), ["1"]);
  expectEqual(surplus(entries, 200), []);
  expectEqual(surplus([{ key: "large", bytes: 500 }, ...entries], 100), ["large", "1"]);
});

Deno.test("a hash is the picture in rough", () => {
  // Of a sky over a ground, from the example of the contract.
  const pixels = decodeThumbHash("3OcRJYB4d3h/iIeHeEh3eIhw+j2w")!;
  expectEqual([pixels.width, pixels.height], [32, 23]);
  expectEqual(pixels.data.length, 32 * 23 * 4);
  expectEqual([...pixels.data].filter((_, index) => index % 4 === 3).every((opacity) => opacity === 255), true);
  for (const wrong of ["", "!", "AAAA", "3OcRJYB4", "A".repeat(400)]) expectEqual(decodeThumbHash(wrong), undefined);
});

Deno.test("names are cut at whole characters and keep their ending; sizes and lengths are told in words", () => {
  expectEqual(shortName("plan.pdf", 255), "plan.pdf");
  expectEqual(shortName("ä".repeat(200) + ".jpeg", 21), "ä".repeat(8) + ".jpeg");
  expectEqual(shortName("👩‍👩‍👧".repeat(40), 8), "👩‍");
  expectEqual([820, 12_300, 3_400_000, 100_000_000].map(sizeText), ["820 bytes", "12 KB", "3.4 MB", "100 MB"]);
  expectEqual([7.9, 61, 3_723].map(durationText), ["0:07", "1:01", "1:02:03"]);
  expectEqual(base64("ä b.bin"), "w6QgYi5iaW4=");
});
