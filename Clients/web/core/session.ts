import { Backoff, type Random } from "./backoff.ts";
import { applyWrites } from "./copy/apply.ts";
import { CopyWriter, type Touched } from "./copy/copy.ts";
import type { Database } from "./copy/database.ts";
import { compare } from "./copy/digest.ts";
import { complete, markTried, refuse, sendable } from "./copy/outbox-rows.ts";
import { syncPosition } from "./copy/position.ts";
import { type HTTPRequest, outboxRequest, syncRequest } from "./http.ts";
import type { ConversationId, FrameFromClient, FrameFromServer, UserId } from "./model.ts";
import { type OutboxResponse, OutboxSender } from "./outbox/sender.ts";
import type { SyncEvent, SyncNotice, SyncResponse, SyncStep } from "./sync/events.ts";
import { Synchronizer } from "./sync/synchronizer.ts";
import { isOf, TokenSource } from "./token.ts";

/** The world outside: the clock, chance, the network and the application. A test has one of its own. */
export interface Outside {
  now(): number;
  /** Calls once, later; what is returned takes it back. */
  after(milliseconds: number, body: () => void): () => void;
  random: Random;
  /** Without a token none can be had. */
  token(isFresh: boolean, done: (token?: string) => void): void;
  request(request: HTTPRequest, token: string, done: (response: SyncResponse) => void): void;
  /** For developers. */
  warn(text: string, error: unknown): void;
  open(socket: { opened(): void; frame(frame: FrameFromServer): void; closed(): void }): Socket;
}

export interface Socket {
  send(frame: FrameFromClient): void;
  close(): void;
}

export interface SessionListener {
  touched(touched: Touched): void;
  notice(notice: SyncNotice): void;
}

/** More events than this wait for the next transaction, so that no transaction is long. */
const eventsAtOnce = 100;

/**
 * The shell around `Synchronizer` and `OutboxSender`: one per user and device. It takes what happened, lets the machines
 * decide, stores what they say in one transaction, and only then carries out the rest.
 */
export class Session {
  private events: SyncEvent[] = [];
  private responses: { id: number; response: OutboxResponse }[] = [];
  private hasNewRows = true;
  private work?: Promise<void>;
  private isClosed = false;
  private socket?: Socket;
  /** What belongs to an earlier connection, or to machines of before a failure, does not reach these. */
  private connection = 0;
  private generation = 0;
  private tokens: TokenSource;
  private backoff: Backoff;
  /** Of attempts to write the copy. Tokens come all the same. */
  private copyBackoff: Backoff;
  /** The copy cannot be written: nothing happens before it was read again. */
  private isBroken = false;
  /** The last one was refused, and no other one could be had. */
  private lacksToken = false;
  private cancelWake?: () => void;

  private constructor(
    private database: Database,
    private outside: Outside,
    private listener: SessionListener,
    private sync: Synchronizer,
    private sender: OutboxSender,
  ) {
    this.tokens = new TokenSource(outside);
    this.backoff = new Backoff(1_000, 60_000, outside.random);
    this.copyBackoff = new Backoff(1_000, 60_000, outside.random);
  }

  static async begin(database: Database, outside: Outside, listener: SessionListener): Promise<Session> {
    const position = await database.read(syncPosition);
    const sync = new Synchronizer(position, outside.random);
    return new Session(database, outside, listener, sync, new OutboxSender(outside.random));
  }

  // What happens.

  post(event: SyncEvent): void {
    this.events.push(event);
    this.run();
  }

  /** There are new rows in the outbox. */
  pump(): void {
    this.hasNewRows = true;
    this.run();
  }

  /** The user goes on writing a draft, or turns away from it. */
  writes(id: ConversationId, isWriting: boolean): void {
    this.sender.writes(id, isWriting ? this.outside.now() : undefined);
    this.pump();
  }

  /** The network is back, or the page is in front: nothing waits any longer. */
  resume(): void {
    this.sender.resume();
    this.post({ type: "start" });
    this.pump();
  }

  /** The network is gone. Nothing would tell of it for a while. */
  suspend(): void {
    this.disconnect();
    this.post({ type: "closed" });
  }

  /** A frame of the moment, which is lost where there is no session. */
  say(frame: FrameFromClient): void {
    if (this.sync.phase.is === "live") this.socket?.send(frame);
  }

  /** A call that is none of the machines'. */
  ask(request: HTTPRequest, done: (response: SyncResponse) => void): void {
    this.tokens.any((token) => {
      if (token !== undefined && isOf(token, this.sync.userId)) this.outside.request(request, token, done);
      else done({ failure: {} });
    });
  }

  close(): void {
    this.isClosed = true;
    this.connection += 1;
    this.generation += 1;
    this.cancelWake?.();
    this.socket?.close();
  }

  /** When nothing is left to do before something else happens. */
  async settled(): Promise<void> {
    while (this.work) await this.work;
  }

  // The loop.

  private run(): void {
    if (this.isClosed) return;
    this.work ??= this.loop().finally(() => this.work = undefined).then(() => {
      if (this.hasWork) this.run();
    });
  }

  private get hasWork(): boolean {
    return !this.isClosed && !this.isBroken && (this.events.length > 0 || this.responses.length > 0 || this.hasNewRows);
  }

  private async loop(): Promise<void> {
    try {
      while (this.hasWork) {
        if (this.events.length) await this.handleEvents();
        else if (this.responses.length) await this.handleResponses();
        else await this.sendRows();
      }
      this.scheduleWake();
    } catch (error) {
      if (!this.isClosed) this.beginAnew(error);
    }
  }

  private async handleEvents(): Promise<void> {
    const events = this.events.splice(0, eventsAtOnce);
    const now = this.outside.now();
    const steps = events.map((event) => this.sync.handle(event, now));
    const writes = steps.flatMap((step) => step.writes);
    if (writes.length) await this.store((copy) => applyWrites(copy, writes));
    for (const step of steps) if (!this.isClosed) await this.carryOut(step);
    // An echo may have set later rows free, the end of a draft another one.
    if (writes.some(({ write }) => write === "change" || write === "privateChange")) this.hasNewRows = true;
  }

  private async store(body: (copy: CopyWriter) => Promise<void>): Promise<void> {
    const touched = await CopyWriter.run(this.database, body);
    // Where there is no room, a transaction that writes nothing succeeds all the same.
    if (touched.account || touched.conversations.length) this.copyBackoff.succeeded();
    if (!this.isClosed) this.listener.touched(touched);
  }

  private async carryOut(step: SyncStep): Promise<void> {
    if (step.discards) {
      this.sender.restart();
      this.hasNewRows = true;
    }
    if (step.connection === "open") this.open();
    if (step.connection === "close") this.disconnect();
    for (const frame of step.frames) this.socket?.send(frame);
    for (const { id, call } of step.requests) {
      const versions = call.call === "profiles" ? await this.versions(call.users) : undefined;
      this.request(syncRequest(call, versions), (response) => this.post({ type: "response", id, response }));
    }
    if (step.token) this.needToken(step.token === "fresh");
    for (const notice of step.notices) {
      this.tell(notice);
      if (notice.notice === "connection") {
        this.sender.connected(notice.state === "online" ? this.outside.now() : undefined);
      }
      if (notice.notice === "digest") await this.compare(notice);
    }
  }

  /** Whose token was refused is signed out, also while the application is asked for another one. */
  private tell(notice: SyncNotice): void {
    const isAway = notice.notice === "connection" && ["waiting", "connecting"].includes(notice.state);
    this.listener.notice(isAway && this.lacksToken ? { notice: "connection", state: "unauthenticated" } : notice);
  }

  private versions(users: UserId[]): Promise<number[]> {
    return this.database.read((rows) =>
      Promise.all(users.map(async (user) => (await rows.get("profiles", user))?.version ?? 0))
    );
  }

  private async compare({ conversation, digest }: Extract<SyncNotice, { notice: "digest" }>): Promise<void> {
    for (const page of digest.pages) {
      if (await compare(this.database, conversation, page, digest) !== "different") continue;
      this.post({ type: "differs", conversation, range: [page.fromSeq, page.toSeq] });
    }
  }

  /** The copy could not be written: nothing of the step may happen, so it begins again from what is stored. */
  private async beginAnew(error: unknown): Promise<void> {
    this.outside.warn("the copy cannot be written", error);
    this.isBroken = true;
    this.disconnect();
    this.generation += 1;
    [this.events, this.responses] = [[], []];
    this.listener.notice({ notice: "connection", state: "unwritable" });
    const position = await this.database.read(syncPosition).catch(() => undefined);
    this.outside.after(this.copyBackoff.pause(), () => {
      if (this.isClosed) return;
      if (!position) return void this.beginAnew(error);
      this.sync = new Synchronizer(position, this.outside.random);
      this.sender = new OutboxSender(this.outside.random);
      this.isBroken = false;
      this.resume();
    });
  }

  private scheduleWake(): void {
    this.cancelWake?.();
    const times = [this.sync.wakeAt, this.sender.wakeAt].filter((time) => time !== undefined);
    if (!times.length || this.isClosed || this.isBroken) return;
    this.cancelWake = this.outside.after(Math.max(0, Math.min(...times) - this.outside.now()), () => {
      this.hasNewRows = true;
      this.post({ type: "time" });
    });
  }

  // The outbox.

  private async sendRows(): Promise<void> {
    this.hasNewRows = false;
    let calls: ReturnType<OutboxSender["plan"]> = [];
    // In one transaction: what the user changes or takes back is either not in a request, or known to be in one.
    await CopyWriter.run(this.database, async (copy) => {
      calls = this.sender.plan(await sendable(copy.rows), this.outside.now());
      for (const { call } of calls) await markTried(copy, call);
    });
    for (const { id, call } of calls) {
      this.request(outboxRequest(call), (response) => {
        this.responses.push({ id, response });
        this.run();
      });
    }
  }

  private async handleResponses(): Promise<void> {
    const { id, response } = this.responses.shift()!;
    const step = this.sender.handle(response, id, this.outside.now());
    const begun: ConversationId[] = [];
    await this.store(async (copy) => {
      for (const { row, body } of step.completed) {
        if (await complete(copy, row, body)) begun.push(row.conversationId);
      }
      for (const { row, problem } of step.refused) await refuse(copy, row, problem);
    });
    if (step.needsFreshToken) this.needToken(true);
    for (const conversation of begun) this.post({ type: "created", conversation });
    this.hasNewRows = true;
  }

  // The network.

  private request(request: HTTPRequest, done: (response: SyncResponse) => void): void {
    const { generation } = this;
    this.ask(request, (response) => {
      if (generation === this.generation) done(response);
    });
  }

  private open(): void {
    const connection = ++this.connection;
    const post = (event: SyncEvent) => {
      if (connection === this.connection) this.post(event);
    };
    this.socket = this.outside.open({
      opened: () => post({ type: "opened" }),
      frame: (frame) => post({ type: "frame", frame }),
      closed: () => post({ type: "closed" }),
    });
  }

  private disconnect(): void {
    this.connection += 1;
    this.socket?.close();
    this.socket = undefined;
  }

  private needToken(isFresh: boolean): void {
    const { generation } = this;
    const done = (token?: string) => {
      if (generation !== this.generation) return;
      this.lacksToken = isFresh && token === undefined;
      if (token !== undefined) {
        this.backoff.succeeded();
        this.sender.tokenArrived();
        this.hasNewRows = true;
      } else if (this.sender.awaitsToken) {
        this.outside.after(this.backoff.pause(), () => this.sender.awaitsToken && this.needToken(true));
      }
      this.post(token === undefined ? { type: "tokenFailed" } : { type: "token", token });
    };
    if (isFresh) this.tokens.fresh(done);
    else this.tokens.any(done);
  }
}
