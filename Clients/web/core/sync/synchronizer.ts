import { Backoff, type Random } from "../backoff.ts";
import type { Change, ConversationId, Position, Time, UserId, Welcome } from "../model.ts";
import { takeResponse } from "./responses.ts";
import { type Stream, type SyncEvent, type SyncPosition, SyncStep } from "./events.ts";
import { takeFrame } from "./frames.ts";
import { ProfileQueue } from "./profiles.ts";
import { RequestQueue } from "./requests.ts";
import * as session from "./session.ts";

export type Phase =
  | { is: "off" }
  | { is: "needsToken" }
  | { is: "connecting" }
  /** `hello` is sent. */
  | { is: "greeting"; until: number }
  | { is: "live" }
  | { is: "pausing"; until: number }
  /** Until `start`. */
  | { is: "ended" };

/**
 * Keeps a copy equal to the server's: a state machine without I/O and without a clock.
 *
 * Every event gives a `SyncStep`. A cursor moves in the step that writes what it stands for, so the page may end between
 * any two steps: a new machine continues from what is stored. What frames, responses and sessions do to the state stands in
 * files of these names. ParleyKit has the same machine; `Tests/ClientScripts` keeps the two equal.
 */
export class Synchronizer {
  // What is stored, too.
  userId?: UserId;
  logId?: string;
  useq?: number;
  syncCursor?: string;
  isListComplete: boolean;
  streams = new Map<ConversationId, Stream>();
  /** The followed conversations, the latest activity first as far as it is known. */
  order: ConversationId[];
  /** Those that `hello` named: the session sends what they missed. The others are paged. */
  greeted = new Set<ConversationId>();
  /** Conversations that the server has to be asked about. */
  unknown: Set<ConversationId>;
  /** Their changes while the server is being asked: its response may be older than these. */
  sinceAsked = new Map<ConversationId, Change[]>();

  // The session.
  phase: Phase = { is: "off" };
  token?: string;
  /** The last `welcome`, to begin anew with after a `reset`. */
  welcome?: Welcome;
  hasDiscarded = false;
  /** Taken out of the list during this session. Changes of before may still come, and must not bring them back. */
  removed = new Set<ConversationId>();
  farewell?: { code: string; retryAfter?: number; until?: string };
  backoff: Backoff;
  /** A session that ends at once counts as a failure. */
  stableAt?: number;
  /** What the present loading of the list has brought, and conversations that are new since; undefined if none is going on. */
  listed?: Set<ConversationId>;
  /** When the first conversation of the list was active last, as the loading began at the list's top. */
  listTop?: Time;
  /** As it was when the loading began at the top before this time; undefined the first time. */
  earlierListTop?: Time;
  isListAtEnd = false;
  isCatchingUp = false;

  // Receipts.
  undelivered = new Set<ConversationId>();
  deliverAt?: number;
  /** By the id of the ping that was sent after them: its `pong` says that they arrived. */
  deliveries = new Map<string, Position[]>();
  lastPing = 0;

  requests: RequestQueue;
  profiles = new ProfileQueue();

  constructor(position: SyncPosition, random: Random) {
    this.userId = position.userId;
    this.logId = position.logId;
    this.useq = position.useq;
    this.syncCursor = position.syncCursor;
    this.isListComplete = position.isListComplete;
    this.order = position.streams.map(({ id }) => id);
    this.unknown = new Set(position.unknown);
    for (const { id, ...stream } of position.streams) this.streams.set(id, newStream(stream));
    this.backoff = new Backoff(1_000, 60_000, random);
    this.requests = new RequestQueue(random);
  }

  handle(event: SyncEvent, now: number): SyncStep {
    const step = new SyncStep();
    this.take(event, now, step);
    this.finishList(step);
    this.finishCatchingUp(step);
    this.askForProfiles(now);
    if (this.phase.is !== "ended") step.requests.push(...this.requests.next(now));
    return step;
  }

  private take(event: SyncEvent, now: number, step: SyncStep): void {
    switch (event.type) {
      case "start":
        return session.start(this, step);
      case "stop":
        return session.stop(this, step);
      case "token":
        return session.takeToken(this, event.token, step);
      case "tokenFailed":
        return session.tokenFailed(this, now, step);
      case "opened":
        return session.greet(this, now, step);
      case "frame":
        return takeFrame(this, event.frame, now, step);
      case "closed":
        return session.closed(this, now, step);
      case "response":
        return takeResponse(this, event.id, event.response, now, step);
      case "created":
        return this.created(event.conversation, now);
      case "time":
        return session.passTime(this, now, step);
      case "look":
        return this.requests.ask({ call: "history", conversation: event.conversation, place: event.place }, true);
      case "lookAtRequests":
        return this.requests.ask({ call: "requests" });
      case "lookAgain":
        return this.requests.ask({ call: "conversation", conversation: event.conversation });
      case "show":
        return this.profiles.show(event.users, now);
      case "lookAtMembers":
        return this.requests.ask({ call: "members", conversation: event.conversation }, true);
      case "lookAtRevisions": {
        const { conversation, message } = event;
        return this.requests.ask({ call: "revisions", conversation, message }, true);
      }
      case "catchUp":
        return this.catchUp();
      case "compare":
        return this.requests.ask({ call: "digest", conversation: event.conversation, after: 0 });
      case "differs": {
        const { conversation, range } = event;
        step.writes.push({ write: "outdated", conversation, range });
        this.requests.askAgain("history", conversation);
        return this.requests.ask({ call: "history", conversation, place: { after: range[0] - 1 } });
      }
    }
  }

  /** When to say `time`; undefined: not before something else happens. */
  get wakeAt(): number | undefined {
    const { phase } = this;
    const own = phase.is === "pausing" || phase.is === "greeting"
      ? phase.until
      : phase.is === "live"
      ? this.deliverAt
      : undefined;
    const asking = this.asksForProfiles ? this.profiles.wakeAt : undefined;
    const times = [this.requests.wakeAt, own, asking].filter((time) => time !== undefined);
    return times.length ? Math.min(...times) : undefined;
  }

  /** The stream tells of it, too, unless the server was restored in between. Without a session the next one asks. */
  private created(id: ConversationId, now: number): void {
    // Who was nobody's business before can be read now.
    this.profiles.allChanged(now);
    if (this.streams.has(id)) return;
    this.unknown.add(id);
    // A request may have been read again just before it was accepted.
    this.requests.askAgain("conversation", id);
    if (this.phase.is === "live") this.requests.ask({ call: "conversation", conversation: id });
  }

  // What people are called.

  /** One request at a time, and only while a session tells of changes. */
  private get asksForProfiles(): boolean {
    return this.phase.is === "live" && !this.requests.has("profiles");
  }

  private askForProfiles(now: number): void {
    const users = this.asksForProfiles ? this.profiles.next(now) : [];
    if (users.length) this.requests.ask({ call: "profiles", users });
  }

  // Following conversations.

  /** Follows a conversation from now on. */
  add(id: ConversationId, stream: Stream, isLatest: boolean): void {
    this.streams.set(id, stream);
    this.greeted.add(id);
    if (isLatest) this.order.unshift(id);
    else this.order.push(id);
  }

  forget(id: ConversationId): void {
    this.streams.delete(id);
    this.unknown.delete(id);
    this.sinceAsked.delete(id);
    this.undelivered.delete(id);
    this.greeted.delete(id);
    this.order = this.order.filter((other) => other !== id);
    this.requests.cancel((call) => "conversation" in call && call.conversation === id);
  }

  askAbout(id: ConversationId): void {
    this.unknown.add(id);
    this.requests.ask({ call: "conversation", conversation: id });
  }

  /** Loads the changes after the cursor over HTTP, until they reach `target`. */
  page(id: ConversationId, target: number): void {
    const stream = this.streams.get(id);
    if (!stream) return;
    stream.target = Math.max(stream.target, target);
    stream.isPaging = true;
    stream.emptyPages = 0;
    this.requests.ask({ call: "changes", conversation: id, after: stream.cursor });
  }

  // The list of conversations.

  beginList(): void {
    this.listed = new Set();
    this.earlierListTop = undefined;
    this.isListAtEnd = false;
    // Pages of a loading before do not count.
    this.requests.cancel(({ call }) => call === "conversations");
  }

  /** Those that the list did not bring are not in it any more. Of one that is new since the server is being asked. */
  private finishList(step: SyncStep): void {
    const brought = this.listed;
    if (!brought || !this.isListAtEnd) return;
    for (const id of this.order) {
      if (brought.has(id) || this.unknown.has(id)) continue;
      this.forget(id);
      step.writes.push({ write: "discard", conversation: id });
    }
    this.listed = undefined;
    this.isListAtEnd = false;
    this.isListComplete = true;
    step.writes.push({ write: "listComplete", isComplete: true });
  }

  // Bringing a copy up to date without a session.

  private catchUp(): void {
    this.isCatchingUp = true;
    // A session brings everything by itself.
    if (this.phase.is === "live" || this.phase.is === "greeting") return;
    this.requests.ask({ call: "sync", since: this.syncCursor });
  }

  private finishCatchingUp(step: SyncStep): void {
    if (!this.isCatchingUp || !this.requests.hasNothingToCatchUp) return;
    this.isCatchingUp = false;
    step.notices.push({ notice: "caughtUp" });
  }
}

export function newStream(stream: Pick<Stream, "cursor"> & Partial<Stream>): Stream {
  return { statusVersion: 0, deliveredSeq: 0, isPaging: false, target: 0, emptyPages: 0, ...stream };
}
