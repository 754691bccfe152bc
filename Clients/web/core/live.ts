import { nothingTouched, type Touched } from "./copy/copy.ts";
import type { Database, Reading } from "./copy/database.ts";
import { type ConversationId, forEver, type Time } from "./model.ts";
import { Emitter } from "./watched.ts";

// Values that are read from the copy, and read again when a transaction touched what they show.

/** What a browser's timers take; a longer one fires at once. */
const longestTimeout = 2 ** 31 - 1;

interface Live {
  isTouched(touched: Touched): boolean;
  refresh(): void;
  close(): void;
  /** While it is read. */
  readonly reading?: Promise<void>;
}

/** Those of one tab. */
export class LiveQueries {
  private all = new Set<Live>();

  /** By conversation: when a mute ends that is shown, although nothing is written then. */
  private ends = new Map<ConversationId, { at: Time; timer: number }>();

  constructor(readonly database: Database) {}

  touched(touched: Touched): void {
    for (const query of [...this.all]) if (query.isTouched(touched)) query.refresh();
  }

  /** Ends when what is shown is not older than what has been written so far. */
  async settled(): Promise<void> {
    // What had begun before is followed by another one.
    for (let i = 0; i < 2; i++) await Promise.all([...this.all].map((query) => query.reading));
  }

  /** Has what shows the conversation read again when its mute ends. */
  refreshAtEndOfMute(id: ConversationId, at: Time = forEver): void {
    const planned = this.ends.get(id);
    if (planned?.at === at) return;
    clearTimeout(planned?.timer);
    this.ends.delete(id);
    const rest = Date.parse(at) - Date.now();
    if (rest <= 0 || at === forEver) return;
    const timer = setTimeout(() => {
      this.ends.delete(id);
      this.touched({ ...nothingTouched(), conversations: [id] });
    }, Math.min(rest, longestTimeout));
    this.ends.set(id, { at, timer });
  }

  /** The copy is closed: nothing is read any more. */
  close(): void {
    for (const query of [...this.all]) query.close();
    for (const { timer } of this.ends.values()) clearTimeout(timer);
    this.ends.clear();
  }

  add(query: Live): () => void {
    this.all.add(query);
    return () => this.all.delete(query);
  }
}

export interface LiveOptions {
  /** The least time between two readings, in milliseconds. */
  pause?: number;
  /** Read only while somebody listens. */
  isIdleAlone?: boolean;
}

/**
 * One of them. Transactions that come quickly one after the other are shown together, and what did not change stays the
 * same object.
 */
export class LiveQuery<Value> extends Emitter<Value> {
  reading?: Promise<void>;
  private isStale = false;
  /** Takes it out of the queries; undefined while it is not among them. */
  private remove?: () => void;
  private readAt = -Infinity;

  constructor(
    private queries: LiveQueries,
    initial: Value,
    readonly isTouched: (touched: Touched) => boolean,
    private query: (rows: Reading) => Promise<Value>,
    private options: LiveOptions = {},
  ) {
    super(initial, false, () => options.isIdleAlone && this.close());
    if (!options.isIdleAlone) this.open();
  }

  override subscribe(listener: (value: Value) => void): () => void {
    if (this.options.isIdleAlone) this.open();
    return super.subscribe(listener);
  }

  private open(): void {
    if (this.remove) return;
    this.remove = this.queries.add(this);
    this.refresh();
  }

  close(): void {
    this.remove?.();
    this.remove = undefined;
  }

  refresh(): void {
    if (this.reading) this.isStale = true;
    else if (this.remove) this.reading = this.read();
  }

  private async read(): Promise<void> {
    const wait = this.readAt + (this.options.pause ?? 30) - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    this.isStale = false;
    try {
      const value = this.remove ? await this.queries.database.read(this.query) : undefined;
      if (this.remove) this.set(shared(this.value, value as Value));
    } catch (error) {
      // The database is being closed, or is read again with the next change.
      if (this.remove) console.warn("parley: the copy cannot be read", error);
    }
    this.readAt = performance.now();
    this.reading = this.isStale && this.remove ? this.read() : undefined;
  }
}

/** The new value, made of the old one's parts where they are equal. Rows are told apart by their ids. */
export function shared<Value>(old: Value, value: Value): Value {
  if (old === value || !isObject(old) || !isObject(value) || Array.isArray(old) !== Array.isArray(value)) return value;
  if (Array.isArray(old) && Array.isArray(value)) {
    const byId = new Map(old.map((item, index) => [isObject(item) ? item.id ?? index : index, item]));
    const items = value.map((item, index) => shared(byId.get(isObject(item) ? item.id ?? index : index), item));
    return items.length === old.length && items.every((item, index) => item === old[index]) ? old : items as Value;
  }
  const result: Record<string, unknown> = {};
  let isEqual = true;
  for (const [name, field] of Object.entries(value)) {
    result[name] = shared(old[name], field);
    isEqual &&= result[name] === old[name];
  }
  return isEqual && Object.keys(old).every((name) => name in result) ? old : result as Value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
