import type { Draft } from "../../../core/client.ts";
import { accountOf, CopyWriter } from "../../../core/copy/copy.ts";
import type { Database, Reading, Writing } from "../../../core/copy/database.ts";
import { MemoryDatabase } from "../../../core/copy/memory.ts";
import { enqueue } from "../../../core/copy/outbox-rows.ts";
import { compare } from "../../../core/copy/digest.ts";
import type { HTTPRequest } from "../../../core/http.ts";
import type { DigestPage, FrameFromClient, FrameFromServer } from "../../../core/model.ts";
import type { PendingWrite } from "../../../core/outbox/writes.ts";
import { type Outside, Session, type Socket } from "../../../core/session.ts";
import type { CallFailure, SyncEvent, SyncResponse } from "../../../core/sync/events.ts";
import { Synchronizer } from "../../../core/sync/synchronizer.ts";
import { alterRequest, alterRows, alterStep } from "./flaws.ts";
import type { World } from "./world.ts";

/** One device of a user: a database, which stays, and a session, which a `kill` takes away. */
export class SimulatedDevice implements Outside {
  readonly memory = new MemoryDatabase();
  isOnline = false;
  /** Parts of conversations in which a member's copy differed from the server's: synchronisation missed something. */
  differences = 0;
  private session?: Session;
  /** What belongs to an earlier page, or an earlier connection, does not reach this one. */
  private page = 0;
  private death = Promise.withResolvers<void>();
  private connection = 0;
  private hasSession = false;
  private lastArrival = 0;
  private lastDeparture = 0;
  private socket?: { opened(): void; frame(frame: FrameFromServer): void; closed(): void };

  constructor(readonly user: string, readonly name: string, readonly world: World) {}

  // The page.

  async load(): Promise<void> {
    const page = ++this.page;
    this.death = Promise.withResolvers();
    const { flaw } = this.world;
    const database = new MortalDatabase(
      this.memory,
      () => this.mayEnd(page),
      () => this.world.happens(1),
      (rows) => alterRows(flaw, rows),
    );
    this.session = await Session.begin(database, this, {
      touched: () => {},
      notice: (notice) => {
        if (notice.notice === "connection") this.isOnline = notice.state === "online";
        if (notice.notice === "digest") this.compare(notice.conversation, notice.digest);
      },
    });
    const sync = this.session["sync"];
    if (flaw) {
      sync.handle = (event, now) => alterStep(flaw, Synchronizer.prototype.handle.call(sync, event, now), this.random);
    }
    this.session.pump();
  }

  /** A page that ended waits for its database for ever. */
  settled(): Promise<void> {
    return Promise.race([this.session?.settled(), this.death.promise]);
  }

  post(event: SyncEvent): void {
    this.session?.post(event);
  }

  start(): void {
    this.session?.resume();
  }

  /** The user looks at what they are asked about: if it is not known. */
  async lookAtRequests(): Promise<void> {
    const { requests } = await this.memory.read(accountOf);
    if (!requests?.isWhole) this.post({ type: "lookAtRequests" });
  }

  private async compare(id: string, digest: DigestPage): Promise<void> {
    const isMember = this.world.server.isMember(this.user, id);
    for (const page of digest.pages) {
      if (await compare(this.memory, id, page, digest) === "different" && isMember) {
        this.differences += 1;
        this.world.trace?.(`${this.world.now} ${this.name} differs in ${id}`);
      }
    }
  }

  /** The user did something. */
  async write(write: PendingWrite, conversationId = "", messageId?: string): Promise<void> {
    const { now: at } = this.world.server;
    const idempotencyKey = this.world.uuid();
    await CopyWriter.run(
      this.memory,
      (copy) => enqueue(copy, { write, conversationId, messageId, at, idempotencyKey }),
    );
    this.session?.pump();
  }

  /** The user writes, or has sent or given up what they wrote. */
  async setDraft(draft: Draft | undefined, id: string): Promise<void> {
    this.world.trace?.(`${this.world.now} ${this.name} drafts ${draft?.text} in ${id}`);
    this.session?.writes(id, !!draft);
    await this.write({ kind: "draft", draft }, id);
  }

  turnAway(id: string): void {
    this.session?.writes(id, false);
  }

  /** Now and then the page ends, before a transaction or after it. */
  private mayEnd(page: number): boolean {
    if (page !== this.page) return true;
    if (!this.world.happens(2)) return false;
    this.kill();
    return true;
  }

  /** Ends the page at once, and opens it again: only what was committed is left. */
  kill(): void {
    this.world.trace?.(`${this.world.now} ${this.name} ends`);
    this.page += 1;
    this.death.resolve();
    this.session = undefined;
    this.isOnline = false;
    this.socket = undefined;
    this.connection += 1;
    this.hasSession = false;
    const { page } = this;
    this.world.after(this.world.between(1, 3_000), async () => {
      if (page !== this.page) return;
      if (this.world.flaw === "forgetsWhatWaitsAtItsEnd") await this.forgetTried();
      await this.load();
      this.start();
    });
  }

  private forgetTried(): Promise<void> {
    return this.memory.write(async (rows) => {
      for (const row of await rows.all("outbox")) if (row.wasTried) await rows.remove("outbox", row.key);
    });
  }

  // What a session sees of the world.

  now(): number {
    return this.world.now;
  }

  readonly random = () => this.world.random();

  after(milliseconds: number, body: () => void): () => void {
    let isDue = true;
    const { page } = this;
    this.world.after(milliseconds, () => {
      if (isDue && page === this.page) body();
    });
    return () => isDue = false;
  }

  warn(text: string): void {
    this.world.trace?.(`${this.world.now} ${this.name} warns: ${text}`);
  }

  token(_isFresh: boolean, done: (token?: string) => void): void {
    const token = this.world.happens(10) ? undefined : "token";
    this.after(this.world.between(1, 300), () => done(token));
  }

  request(request: HTTPRequest, _token: string, done: (response: SyncResponse) => void): void {
    const { world } = this;
    // It does not arrive, its response is lost, or it is refused.
    const fate = world.hasFaults ? world.random() * 100 : 100;
    const failure = this.fault();
    const made = alterRequest(world.flaw, request, () => world.uuid());
    const { page } = this;
    world.trace?.(`${world.now} ${this.name} asks ${request.method} ${request.path}`);
    world.after(world.between(1, 400), async () => {
      let response: SyncResponse = { failure: fate < 8 ? {} : failure };
      if (fate >= 8 && fate < 13 || fate >= 21) response = await world.server.response(made, this.user);
      if (fate < 13) response = { failure: {} };
      world.announce();
      world.after(world.between(1, 400), () => {
        if (page === this.page) done(response);
      });
    });
  }

  /** A temporary refusal by chance. */
  private fault(): CallFailure {
    const status = this.world.pick([429, 503, 503, 401])!;
    if (this.world.happens(50)) return {};
    const problem = { status, code: "", title: "", detail: "" };
    return { problem, retryAfter: status === 401 ? undefined : 1_000 };
  }

  open(socket: { opened(): void; frame(frame: FrameFromServer): void; closed(): void }): Socket {
    this.breakQuietly();
    this.socket = socket;
    const fails = this.world.happens(15);
    this.later(this.world.between(1, 400), () => fails ? socket.closed() : socket.opened());
    return { send: (frame) => this.send(frame), close: () => this.breakQuietly() };
  }

  private later(delay: number, body: () => void): void {
    const { connection } = this;
    this.world.after(delay, () => {
      if (connection === this.connection) body();
    });
  }

  private breakQuietly(): void {
    this.connection += 1;
    this.hasSession = false;
  }

  /** The connection ends; the page learns of it later. */
  breakConnection(): void {
    const { socket } = this;
    this.breakQuietly();
    this.later(this.world.between(0, 500), () => socket?.closed());
  }

  private send(frame: FrameFromClient): void {
    const { world } = this;
    this.lastDeparture = Math.max(this.lastDeparture, world.now + world.between(1, 100));
    const text = JSON.stringify(frame);
    this.later(this.lastDeparture - world.now, () => {
      const frame = JSON.parse(text) as FrameFromClient;
      if (frame.type === "hello") {
        for (const greeting of world.server.begin(frame, this.user)) this.arrive(greeting);
        this.hasSession = true;
      } else if (frame.type === "delivered") {
        for (const { conversationId, seq } of frame.items) world.server.delivered(conversationId, seq, this.user);
      } else if (frame.type === "ping") this.push({ type: "pong", id: frame.id });
    });
  }

  /** The server sends something to this session, if there is one. */
  push(frame: FrameFromServer): void {
    if (!this.hasSession) return;
    const { world } = this;
    if (world.happens(2)) {
      const code = world.happens(30) ? "unauthenticated" : "draining";
      this.arrive({ type: "bye", code, reason: "", retryAfter: 1 });
      return this.breakConnection();
    }
    this.arrive(frame);
    // A frame twice, as no server would send it, must do no harm.
    if (world.happens(2)) this.arrive(frame);
    if (world.happens(1)) this.arrive({ type: "tokenExpiring", at: world.server.now });
    if (world.happens(1)) this.arrive({ type: "later" } as never);
    if (world.happens(3)) this.breakConnection();
  }

  private arrive(frame: FrameFromServer): void {
    const { world, socket } = this;
    const text = JSON.stringify(frame);
    this.lastArrival = Math.max(this.lastArrival, world.now + world.between(1, 200));
    this.later(this.lastArrival - world.now, () => {
      world.trace?.(`${world.now} ${this.name} ${text}`);
      const frame = JSON.parse(text) as FrameFromServer;
      const ignored = { ignoresReloads: "reload", ignoresRenames: "profile" }[world.flaw as string];
      if (frame.type !== ignored) socket?.frame(frame);
    });
  }
}

/** The database as one page has it: when the page ends, its transactions end with it, wholly done or not at all. */
class MortalDatabase implements Database {
  get blobs() {
    return this.memory.blobs;
  }

  constructor(
    private memory: MemoryDatabase,
    private ends: () => boolean,
    private isFull: () => boolean,
    private alter: (rows: Writing) => Writing,
  ) {}

  read<Result>(body: (rows: Reading) => Promise<Result>): Promise<Result> {
    return this.memory.read(body);
  }

  async write<Result>(body: (rows: Writing) => Promise<Result>): Promise<Result> {
    if (this.ends()) return await never();
    const result = await this.memory.write(async (rows) => {
      const result = await body(this.alter(rows));
      if (this.isFull()) throw new Error("the disk is full");
      return result;
    });
    return this.ends() ? await never() : result;
  }

  close(): void {}
}

function never<Result>(): Promise<Result> {
  return new Promise(() => {});
}
