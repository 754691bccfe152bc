import { browser, call, tokenOf } from "./browser.ts";
import { ClientProblem, type ConnectionState, type ParleyOptions } from "./client.ts";
import { accountOf, CopyWriter, nothingTouched, type Touched } from "./copy/copy.ts";
import { type Database, eraseRows } from "./copy/database.ts";
import { get, type HTTPRequest } from "./http.ts";
import { LiveQueries } from "./live.ts";
import type { Limits, Message } from "./model.ts";
import { Moment } from "./moment.ts";
import { Session } from "./session.ts";
import type { SyncNotice } from "./sync/events.ts";
import { type TabMessage, Tabs } from "./tabs.ts";
import { isOf } from "./token.ts";
import { Emitter } from "./watched.ts";

const betweenAttempts = 5_000;

/**
 * What a tab is connected to: the copy, which all tabs read and write, and the session, which one of them holds. Whoever
 * uses it need not know which.
 */
export class Hub {
  readonly connection = new Emitter<ConnectionState>("off");
  readonly limits = new Emitter<Limits | null>(null);
  readonly isSignedOut = new Emitter(false);
  readonly queries: LiveQueries;
  readonly moment = new Moment();
  /** Told when another session can be asked. */
  readonly whenConnected = new Set<() => void>();
  readonly whenArrived = new Set<(message: Message) => void>();
  private tabs: Tabs;
  /** Held by the leading tab alone. */
  private session?: Session;
  private isClosed = false;

  constructor(private options: ParleyOptions, private origin: string, name: string, readonly database: Database) {
    this.queries = new LiveQueries(database);
    this.tabs = new Tabs(name, (message) => this.take(message));
    this.tabs.lead(name, () => this.begin());
    this.tabs.tell({ tell: "hello" });
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
    session.resume();
    for (const listener of this.whenConnected) listener();
    // The tab that led may have ended before it told of its last transaction.
    this.touched({ ...nothingTouched(), everything: true });
  }

  private take(message: TabMessage): void {
    if (message.tell === "touched") this.show(message.touched);
    else if (message.tell === "notice") this.hear(message.notice);
    else if (message.tell === "signOut") this.letGo();
    else if (this.session) this.carryOut(this.session, message);
  }

  private carryOut(session: Session, message: TabMessage): void {
    switch (message.tell) {
      case "hello":
        return this.greet();
      case "pump":
        return session.pump();
      case "resume":
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
    this.tabs.tell({ tell: "notice", notice: { notice: "connection", state: this.connection.value } });
    for (const notice of this.moment.notices()) this.tabs.tell({ tell: "notice", notice });
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
    const { arrivals } = touched;
    for (const message of arrivals) this.moment.hasSent(message.conversationId, message.senderId);
    // Of many that come at once, after an absence, only the last one of a conversation is worth a word.
    const last = new Map(arrivals.map((message) => [message.conversationId, message]));
    for (const message of arrivals.length > 10 ? last.values() : arrivals) {
      for (const listener of this.whenArrived) listener(message);
    }
  }

  // The session.

  private notice(notice: SyncNotice): void {
    this.hear(notice);
    if (notice.notice !== "digest") this.tabs.tell({ tell: "notice", notice });
  }

  private hear(notice: SyncNotice): void {
    this.moment.take(notice);
    if (notice.notice !== "connection") return;
    this.connection.set(notice.state);
    if (notice.state !== "online") return;
    void this.loadLimits();
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

  // The end.

  /** Empties the copy, and has every tab let go of it, so that it can be erased. */
  async signOut(): Promise<void> {
    this.tabs.tell({ tell: "signOut" });
    this.session?.close();
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
    this.session = undefined;
    this.tabs.close();
    this.queries.close();
    this.database.close();
  }
}

const away = { status: 0, code: "unavailable", title: "Not connected", detail: "The server cannot be reached." };
