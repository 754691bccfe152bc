import { browser, call, tokenOf } from "./browser.ts";
import { ClientProblem, type ConnectionState, type FileLimits, type ParleyOptions } from "./client.ts";
import { accountOf, CopyWriter, nothingTouched, type Touched } from "./copy/copy.ts";
import { type Database, eraseRows } from "./copy/database.ts";
import { expireMessages } from "./copy/lifetimes.ts";
import { get, type HTTPRequest } from "./http.ts";
import { LiveQueries } from "./live.ts";
import { Files } from "./media/files.ts";
import { takesUploads, TusCalls } from "./media/tus.ts";
import { Uploader, type UploadProgress } from "./media/uploader.ts";
import type { Limits, Message, Time } from "./model.ts";
import { Moment } from "./moment.ts";
import { Names } from "./names.ts";
import { Session } from "./session.ts";
import type { SyncNotice } from "./sync/events.ts";
import { type TabMessage, Tabs } from "./tabs.ts";
import { isOf } from "./token.ts";
import { Emitter } from "./watched.ts";

const betweenAttempts = 5_000;
/** Between looks for messages whose time is over. */
const betweenExpiries = 15_000;

/**
 * What a tab is connected to: the copy, which all tabs read and write, and the session, which one of them holds. Whoever
 * uses it need not know which.
 */
export class Hub {
  readonly connection = new Emitter<ConnectionState>("off");
  suspendedUntil?: Time;
  readonly limits = new Emitter<Limits | null>(null);
  readonly isSignedOut = new Emitter(false);
  /** How far the files are that are being uploaded, by what they are kept under. */
  readonly uploads = new Emitter<ReadonlyMap<string, UploadProgress>>(new Map());
  readonly files: Files;
  readonly queries: LiveQueries;
  readonly moment = new Moment();
  readonly names = new Names((users) => this.tell({ tell: "event", event: { type: "show", users } }));
  /** Told when another session can be asked. */
  readonly whenConnected = new Set<() => void>();
  readonly whenArrived = new Set<(message: Message) => void>();
  private tabs: Tabs;
  /** Held by the leading tab alone. */
  private session?: Session;
  /** Beside it. */
  private uploader?: Uploader;
  private knowsFileLimits = false;
  private isClosed = false;

  constructor(private options: ParleyOptions, private origin: string, name: string, readonly database: Database) {
    this.queries = new LiveQueries(database);
    this.files = new Files(database, origin, (request) => this.authorized(request));
    this.tabs = new Tabs(name, (message) => this.take(message));
    this.tabs.lead(name, () => this.begin());
    this.tabs.tell({ tell: "hello" });
    this.whenConnected.add(() => this.names.tellAgain());
  }

  // Leading and following.

  /** Whoever leads has a session, sooner or later: the other tabs wait for it. */
  private begin(): void {
    this.lead().catch((error) => {
      console.warn("parley: no session", error);
      setTimeout(() => this.isClosed || this.begin(), betweenAttempts);
    });
  }

  private async lead(): Promise<void> {
    const outside = browser(this.database, this.options, this.origin, () => this.loadLimits());
    const session = await Session.begin(this.database, outside, {
      touched: (touched) => this.touched(touched),
      notice: (notice) => this.notice(notice),
    });
    if (this.isClosed) return session.close();
    this.session = session;
    this.uploader = this.newUploader();
    session.resume();
    this.uploader.pump();
    void this.expire();
    for (const listener of this.whenConnected) listener();
    // The tab that led may have ended before it told of its last transaction.
    this.touched({ ...nothingTouched(), everything: true });
  }

  private async expire(): Promise<void> {
    if (this.isClosed) return;
    const touched = await expireMessages(this.database, Date.now()).catch(() => undefined);
    if (touched) this.touched(touched);
    setTimeout(() => void this.expire(), betweenExpiries);
  }

  private newUploader(): Uploader {
    const calls = new TusCalls(this.origin, (request) => this.authorized(request));
    return new Uploader(this.database, calls, {
      now: () => performance.now(),
      after: (milliseconds, body) => {
        const timer = setTimeout(body, milliseconds);
        return () => clearTimeout(timer);
      },
      random: Math.random,
      touched: (touched) => this.touched(touched),
      progress: (progress) => this.progress(progress),
      pump: () => this.session?.pump(),
    });
  }

  private progress(progress: UploadProgress): void {
    this.showProgress(progress);
    this.tabs.tell({ tell: "progress", progress });
  }

  private showProgress(progress: UploadProgress): void {
    this.uploads.set(new Map([...this.uploads.value, [progress.key, progress]]));
  }

  private take(message: TabMessage): void {
    if (message.tell === "touched") this.show(message.touched);
    else if (message.tell === "progress") this.showProgress(message.progress);
    else if (message.tell === "notice") this.hear(message.notice);
    else if (message.tell === "signOut") this.letGo();
    else if (this.session) this.carryOut(this.session, message);
  }

  private carryOut(session: Session, message: TabMessage): void {
    switch (message.tell) {
      case "hello":
        return this.greet();
      case "pump":
        this.uploader?.pump();
        return session.pump();
      case "writing":
        return session.writes(message.id, message.isWriting);
      case "resume":
        this.uploader?.resume();
        return session.resume();
      case "suspend":
        return session.suspend();
      case "event":
        return session.post(message.event);
      case "say":
        return session.say(message.frame);
    }
  }

  /** Tells the session, wherever it is. */
  tell(message: TabMessage): void {
    if (this.session) this.carryOut(this.session, message);
    else this.tabs.tell(message);
  }

  /** A tab has come: it is told what is not in the database. */
  private greet(): void {
    const [state, until] = [this.connection.value, this.suspendedUntil];
    this.tabs.tell({ tell: "notice", notice: { notice: "connection", state, until } });
    for (const notice of this.moment.notices()) this.tabs.tell({ tell: "notice", notice });
    for (const progress of this.uploads.value.values()) this.tabs.tell({ tell: "progress", progress });
  }

  // The copy.

  /** Changes the copy, and shows it here and in the other tabs. */
  async write(body: (copy: CopyWriter) => Promise<void>): Promise<void> {
    this.touched(await CopyWriter.run(this.database, body));
  }

  private touched(touched: Touched): void {
    this.show(touched);
    this.tabs.tell({ tell: "touched", touched });
  }

  private show(touched: Touched): void {
    this.queries.touched(touched);
    const { arrivals, released } = touched;
    if (released.length) this.release(released);
    for (const message of arrivals) this.moment.hasSent(message.conversationId, message.senderId);
    // Of many that come at once, after an absence, only the last one of a conversation is worth a word.
    const last = new Map(arrivals.map((message) => [message.conversationId, message]));
    for (const message of arrivals.length > 10 ? last.values() : arrivals) {
      for (const listener of this.whenArrived) listener(message);
    }
  }

  /** Content that nothing shows any more; the leading tab removes it. */
  private release(ids: string[]): void {
    this.files.release(ids);
    if (ids.some((id) => this.uploads.value.has(id))) {
      this.uploads.set(new Map([...this.uploads.value].filter(([key]) => !ids.includes(key))));
    }
    this.uploader?.pump();
  }

  // The session.

  private notice(notice: SyncNotice): void {
    this.hear(notice);
    if (notice.notice !== "digest") this.tabs.tell({ tell: "notice", notice });
  }

  private hear(notice: SyncNotice): void {
    this.moment.take(notice);
    if (notice.notice !== "connection") return;
    this.suspendedUntil = notice.until;
    this.connection.set(notice.state);
    if (notice.state !== "online") return;
    void this.loadFileLimits();
    this.uploader?.resume();
    for (const listener of this.whenConnected) listener();
  }

  // Calls that are none of the session's.

  async ask<Body>(request: HTTPRequest): Promise<Body> {
    let response = await call(this.origin, request, await this.token(false));
    const isRefused = "failure" in response && response.failure.problem?.status === 401;
    if (isRefused) response = await call(this.origin, request, await this.token(true));
    if ("body" in response) return response.body as Body;
    throw new ClientProblem(response.failure.problem ?? away);
  }

  /** A call of the service for files. */
  private async authorized(request: (token: string) => Promise<Response>): Promise<Response> {
    const response = await request(await this.token(false));
    return response.status === 401 ? await request(await this.token(true)) : response;
  }

  private async token(isFresh: boolean): Promise<string> {
    const token = await tokenOf(this.database, this.options, isFresh).catch(() => undefined);
    const { userId } = await this.database.read(accountOf);
    if (token === undefined || !isOf(token, userId)) throw new ClientProblem(away);
    return token;
  }

  private async loadLimits(): Promise<Limits | null> {
    if (!this.limits.value) {
      const response = await call(this.origin, get("/v1/limits"));
      if ("body" in response) this.limits.set(response.body as Limits);
    }
    return this.limits.value;
  }

  /** What files may be sent is kept, so that they are taken without a connection, too. */
  private async loadFileLimits(): Promise<void> {
    const limits = await this.loadLimits();
    if (!limits || this.knowsFileLimits) return;
    this.knowsFileLimits = true;
    const takesFiles = limits.mediaBytes ? await takesUploads(this.origin) : false;
    if (takesFiles === undefined || this.isClosed) return void (this.knowsFileLimits = false);
    const fileLimits = takesFiles ? fileLimitsOf(limits) : undefined;
    const account = await this.database.read(accountOf);
    if (JSON.stringify(account.fileLimits) === JSON.stringify(fileLimits)) return;
    await this.write((copy) => Promise.resolve(copy.setAccount({ fileLimits })));
  }

  // The end.

  /** Empties the copy, and has every tab let go of it, so that it can be erased. */
  async signOut(): Promise<void> {
    this.tabs.tell({ tell: "signOut" });
    this.session?.close();
    this.uploader?.close();
    // First of all: a page that does not let go holds up its removal, but not this.
    await eraseRows(this.database).catch((error) => console.warn("parley: the copy cannot be emptied", error));
    this.letGo();
  }

  private letGo(): void {
    this.isSignedOut.set(true);
    this.close();
    this.connection.set("off");
  }

  close(): void {
    this.isClosed = true;
    this.session?.close();
    this.uploader?.close();
    [this.session, this.uploader] = [undefined, undefined];
    this.tabs.close();
    this.queries.close();
    this.database.close();
  }
}

function fileLimitsOf({ attachmentsPerMessage, mediaBytes, mediaNameBytes, replyToAttachments }: Limits): FileLimits {
  return {
    files: attachmentsPerMessage ?? 1,
    bytes: mediaBytes ?? 0,
    nameBytes: mediaNameBytes ?? 255,
    canReply: replyToAttachments ?? false,
  };
}

const away = { status: 0, code: "unavailable", title: "Not connected", detail: "The server cannot be reached." };
