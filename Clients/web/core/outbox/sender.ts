import { Backoff, type Random } from "../backoff.ts";
import type { OutboxRow } from "../copy/database.ts";
import type { BatchResults, ConversationId, Problem } from "../model.ts";
import { type CallFailure, isTemporary } from "../sync/events.ts";
import { isUploaded, type PendingWrite } from "./writes.ts";

/** One request that carries rows of the outbox: several are messages, in the order of writing. */
export type OutboxCall = OutboxRow[];

export type OutboxResponse = { body: unknown } | { failure: CallFailure };

/** What to do after a response: the outcomes in one transaction, before anything else is sent. */
export interface OutboxStep {
  completed: { row: OutboxRow; body: unknown }[];
  refused: { row: OutboxRow; problem: Problem }[];
  needsFreshToken: boolean;
}

/** The server bounds what one user has in flight. */
const atOnce = 4;
const mostMessages = 500;
/** Half of what a batch may have: room for what JSON adds. */
const mostBytes = 2 * 1_024 * 1_024;
/** In milliseconds. To put a draft is of use when the user has paused for so long, */
const draftPause = 3_000;
/** or after this time of writing. */
const longestWriting = 30_000;
/** What a session tells at its beginning has come by then. */
const beginningOfSession = 2_000;

/**
 * Decides which rows of the outbox are sent when. Without I/O and without a clock; what it keeps may be lost at any time,
 * as every request may be repeated.
 * A message with files is sent when these have been uploaded, which is not decided here.
 *
 * The messages of a conversation, and what changes who is in it, go one after the other. Edits, deletions and tapbacks
 * wait for their own message alone. Conversations do not wait for each other.
 */
export class OutboxSender {
  private inFlight = new Map<number, OutboxCall>();
  private lastId = 0;
  private pausedUntil?: number;
  private backoff: Backoff;
  /**
   * Rows that bring people into a conversation and are to be sent again later, 0: now. There were too many for a day, or the
   * application did not say whether they may: other writes need not wait for that.
   */
  private held = new Map<number, { until: number; backoff: Backoff }>();
  awaitsToken = false;
  private messagesPerBatch = mostMessages;
  /** Where the user is writing: from when on, and until when the draft waits for a pause. */
  private writing = new Map<ConversationId, { since: number; until: number }>();
  /** From when on drafts are put: before, it is not known what other devices have written. Absent without a session. */
  private draftsFrom?: number;

  constructor(private random: Random) {
    this.backoff = this.newBackoff();
  }

  private newBackoff(): Backoff {
    return new Backoff(1_000, 60_000, this.random);
  }

  // Planning.

  /** Chooses what to send now from the rows that wait, in the order of writing, including those in flight. */
  plan(rows: OutboxRow[], now: number): { id: number; call: OutboxCall }[] {
    if (this.awaitsToken || this.pausedUntil !== undefined && this.pausedUntil > now) return [];
    this.pausedUntil = undefined;
    for (const [id, { until }] of this.writing) if (until <= now) this.writing.delete(id);
    if (this.draftsFrom! <= now) this.draftsFrom = 0;
    for (const held of this.held.values()) if (held.until <= now) held.until = 0;
    const { messages, others } = this.eligible(rows);
    const calls = others.map((row) => [row]);
    if (messages.length) calls.push(messages);
    calls.sort((one, other) => one[0]!.key - other[0]!.key);
    return calls.slice(0, Math.max(0, atOnce - this.inFlight.size)).map((call) => {
      this.inFlight.set(++this.lastId, call);
      return { id: this.lastId, call };
    });
  }

  /** The rows that wait for no other one. Of a conversation's messages the first few, to be sent in one request. */
  private eligible(rows: OutboxRow[]): { messages: OutboxRow[]; others: OutboxRow[] } {
    const held = [...this.held.keys()].filter((key) => this.held.get(key)!.until);
    const sent = new Set([...held, ...[...this.inFlight.values()].flat().map(({ key }) => key)]);
    const busy = new Set<string>();
    // A conversation whose first messages are in this request may have more in it.
    const open = new Set<string>();
    const messages: OutboxRow[] = [];
    const others: OutboxRow[] = [];
    let bytes = 0;
    for (const row of rows) {
      const waits = this.draftsFrom !== 0 || this.writing.has(row.conversationId);
      if (row.write.kind === "draft" && waits) continue;
      const lanes = lanesOf(row);
      const isFree = lanes.every((lane) => !busy.has(lane)) && !sent.has(row.key);
      const { write, conversationId } = row;
      // A batch forwards nothing.
      const isSend = write.kind === "send" && !write.forward;
      const fits = messages.length < this.messagesPerBatch && (bytes + sizeOf(row) <= mostBytes || !messages.length);
      // What waits for its files holds back what was written after it.
      if (isSend && (isFree || open.has(conversationId)) && fits && isUploaded(write)) {
        messages.push(row);
        bytes += sizeOf(row);
        // These may be refused where a text is not: what comes after them must not overtake them.
        if (write.replyTo === undefined && !write.mentionsAll && !write.files) open.add(conversationId);
        else open.delete(conversationId);
      } else {
        if (isFree && !isSend) others.push(row);
        if (lanes.includes(orderOf(conversationId))) open.delete(conversationId);
      }
      for (const lane of lanes) busy.add(lane);
    }
    return { messages, others };
  }

  /** When to plan again; undefined: not before a response or a new row. */
  get wakeAt(): number | undefined {
    if (this.awaitsToken) return undefined;
    const times = [...this.writing.values(), ...this.held.values()].map(({ until }) => until).filter((until) => until);
    if (this.draftsFrom) times.push(this.draftsFrom);
    return this.pausedUntil ?? (times.length ? Math.min(...times) : undefined);
  }

  // Drafts.

  /** The user goes on writing a draft; without a time: turns away from it, and it waits no longer. */
  writes(id: ConversationId, now?: number): void {
    const { since = now } = this.writing.get(id) ?? {};
    if (now === undefined) this.writing.delete(id);
    else this.writing.set(id, { since: since!, until: Math.min(now + draftPause, since! + longestWriting) });
  }

  /** A session has begun; without a time: there is none any more. */
  connected(now?: number): void {
    this.draftsFrom = now && now + beginningOfSession;
  }

  /** Sends again at once: the network is back. */
  resume(): void {
    this.pausedUntil = undefined;
    this.held.clear();
    this.backoff.succeeded();
  }

  tokenArrived(): void {
    this.awaitsToken = false;
  }

  /** Ignores the responses to all requests so far. Their rows are sent again, as they may always be. */
  restart(): void {
    this.inFlight.clear();
  }

  // Responses.

  handle(response: OutboxResponse, id: number, now: number): OutboxStep {
    const step: OutboxStep = { completed: [], refused: [], needsFreshToken: false };
    const rows = this.inFlight.get(id);
    if (!rows) return step;
    this.inFlight.delete(id);
    if (this.holds(response, rows[0]!, now)) return step;
    if ("failure" in response) this.takeFailure(response.failure, rows, now, step);
    else if (rows.length > 1) this.takeResults(response.body as BatchResults, rows, now, step);
    else {
      this.backoff.succeeded();
      step.completed.push({ row: rows[0]!, body: response.body });
    }
    return step;
  }

  private takeResults({ results }: BatchResults, rows: OutboxRow[], now: number, step: OutboxStep): void {
    this.messagesPerBatch = mostMessages;
    let isComplete = true;
    for (const [index, row] of rows.entries()) {
      const { message, problem } = results[index] ?? {};
      if (message) step.completed.push({ row, body: message });
      else if (problem && !isTemporary({ problem })) step.refused.push({ row, problem });
      else isComplete = false;
    }
    if (isComplete) this.backoff.succeeded();
    else this.pause(now);
  }

  private takeFailure(failure: CallFailure, rows: OutboxRow[], now: number, step: OutboxStep): void {
    if (failure.problem?.status === 401) {
      this.awaitsToken = true;
      step.needsFreshToken = true;
    } else if (!failure.problem || isTemporary(failure)) {
      this.pause(now, failure.retryAfter);
    } else if (rows.length === 1) {
      step.refused.push({ row: rows[0]!, problem: failure.problem });
    } else {
      // Smaller ones, down to one message that is refused by itself.
      this.messagesPerBatch = Math.max(1, Math.trunc(rows.length / 2));
    }
  }

  /** Whether nothing has to wait but the row and what is behind it in its conversation. */
  private holds(response: OutboxResponse, { key, write }: OutboxRow, now: number): boolean {
    const failure: CallFailure = "failure" in response ? response.failure : {};
    const { backoff } = this.held.get(key) ?? { backoff: this.newBackoff() };
    this.held.delete(key);
    if (!bringsPeople(write) || ![429, 503].includes(failure.problem?.status ?? 0)) return false;
    this.held.set(key, { until: now + backoff.pause(failure.retryAfter), backoff });
    return true;
  }

  private pause(now: number, asked?: number): void {
    this.pausedUntil = now + this.backoff.pause(asked);
  }
}

function bringsPeople(write: PendingWrite): boolean {
  return write.kind === "create" || write.kind === "member" && !write.isRemoved && write.role === undefined;
}

/** What a row waits for: an earlier one of the same lane. */
function lanesOf({ conversationId, messageId, write }: OutboxRow): string[] {
  const message = `message ${conversationId} ${messageId}`;
  switch (write.kind) {
    case "send":
      return [orderOf(conversationId), message];
    case "create":
    case "rename":
    case "member":
    case "permissions":
    case "lifetime":
    case "ban":
    case "unlist":
    case "accept":
    case "decline":
      return [orderOf(conversationId)];
    case "edit":
    case "delete":
    case "tapback":
    case "vote":
    case "closePoll":
    case "pinMessage":
      return [message];
    default:
      return [`${write.kind} ${conversationId}`];
  }
}

/** The lane of what keeps the order within a conversation. */
function orderOf(conversationId: string): string {
  return `order ${conversationId}`;
}

/** At least the bytes of its item in a batch: no character has more than three bytes, escaped six. */
function sizeOf({ write }: OutboxRow): number {
  if (write.kind !== "send") return 0;
  const extra = write.extra ? 6 * JSON.stringify(write.extra).length : 0;
  return 6 * write.text.length + (write.sealed?.length ?? 0) +
    (write.poll ? 6 * JSON.stringify(write.poll).length : 0) + 80 * write.mentions.length +
    50 * (write.files?.length ?? 0) + extra + 300;
}
