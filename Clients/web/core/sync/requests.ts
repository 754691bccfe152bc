import { Backoff, type Random } from "../backoff.ts";
import type { ConversationId } from "../model.ts";
import type { SyncCall } from "./events.ts";

/** The server bounds what one user has in flight. */
const atOnce = 4;

/** The calls of synchronisation: a few at a time, the same one never twice at once, repeated until they succeed. */
export class RequestQueue {
  /** By its text, in the order of asking. */
  private waiting = new Map<string, SyncCall>();
  private inFlight = new Map<number, SyncCall>();
  private lastId = 0;
  private pausedUntil?: number;
  private backoff: Backoff;
  /** Nothing is asked before there is a fresh token. */
  awaitsToken = false;

  constructor(random: Random) {
    this.backoff = new Backoff(500, 60_000, random);
  }

  // Asking.

  ask(call: SyncCall, isFirst = false): void {
    const text = JSON.stringify(call);
    if (this.waiting.has(text) || [...this.inFlight.values()].some((other) => JSON.stringify(other) === text)) return;
    if (isFirst) this.waiting = new Map([[text, call], ...this.waiting]);
    else this.waiting.set(text, call);
  }

  has(call: SyncCall["call"]): boolean {
    return [...this.waiting.values(), ...this.inFlight.values()].some((other) => other.call === call);
  }

  next(now: number): { id: number; call: SyncCall }[] {
    if (this.awaitsToken || this.pausedUntil !== undefined && this.pausedUntil > now) return [];
    // Else the time that has passed would be announced again and again.
    this.pausedUntil = undefined;
    const next = [];
    for (const [text, call] of this.waiting) {
      if (this.inFlight.size >= atOnce) break;
      this.waiting.delete(text);
      this.inFlight.set(++this.lastId, call);
      next.push({ id: this.lastId, call });
    }
    return next;
  }

  get wakeAt(): number | undefined {
    return this.waiting.size ? this.pausedUntil : undefined;
  }

  /** Whether to ask for a token again, after it could not be had. */
  takeTokenDue(now: number): boolean {
    if (!this.awaitsToken || this.pausedUntil === undefined || this.pausedUntil > now) return false;
    this.pausedUntil = undefined;
    return true;
  }

  get hasNothingToCatchUp(): boolean {
    const all = [...this.waiting.values(), ...this.inFlight.values()];
    return !all.some(({ call }) => call === "sync" || call === "changes" || call === "conversation");
  }

  // Responses.

  /** The call that it belongs to; undefined if it does not matter any more. */
  finish(id: number): SyncCall | undefined {
    const call = this.inFlight.get(id);
    this.inFlight.delete(id);
    return call;
  }

  succeeded(): void {
    this.backoff.succeeded();
    // What was on its way says nothing of the token that is to be asked for again then.
    if (!this.awaitsToken) this.pausedUntil = undefined;
  }

  /** Repeats a call later. */
  repeat(call: SyncCall, now: number, asked?: number): void {
    this.ask(call, true);
    this.pause(now, asked);
  }

  pause(now: number, asked?: number): void {
    this.pausedUntil = now + this.backoff.pause(asked);
  }

  tokenArrived(): void {
    this.awaitsToken = false;
    this.pausedUntil = undefined;
  }

  // What does not matter any more.

  /** Takes calls back: a response that comes later is ignored. */
  cancel(isObsolete: (call: SyncCall) => boolean): void {
    for (const [text, call] of this.waiting) if (isObsolete(call)) this.waiting.delete(text);
    for (const [id, call] of this.inFlight) if (isObsolete(call)) this.inFlight.delete(id);
  }

  /**
   * What is on its way is asked for again, of one or of all conversations: it was read before something that it does not
   * show, such as a message being hidden.
   */
  askAgain(name: SyncCall["call"], conversation?: ConversationId): void {
    for (const [id, call] of this.inFlight) {
      const isOfAnother = conversation !== undefined && "conversation" in call && call.conversation !== conversation;
      if (call.call !== name || isOfAnother) continue;
      this.inFlight.delete(id);
      this.ask(call);
    }
  }

  /** All that a change of the private stream may have made old. */
  askAllAgain(conversation?: ConversationId): void {
    for (const name of ["history", "conversation", "requests"] as const) this.askAgain(name, conversation);
  }

  /** The copy is discarded. */
  restart(): void {
    this.askAgain("history");
    this.cancel(({ call }) => call !== "history");
  }
}
