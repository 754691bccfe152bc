import {
  type Database,
  type Key,
  type OutboxRow,
  type Query,
  type Reading,
  schema,
  type Table,
  type Tables,
  type Writing,
} from "./database.ts";
import { MemoryBlobs } from "./blobs.ts";

// A database in memory with the order and the transactions of IndexedDB, for tests and demonstrations.

type Item = unknown;
type Entry = { key: Key; item: Item };

export class MemoryDatabase implements Database {
  readonly blobs = new MemoryBlobs();
  private orders = new Map<string, Entry[]>();
  private lastNumber = 0;
  private queue: Promise<unknown> = Promise.resolve();
  private undo: (() => void)[] = [];

  read<Result>(body: (rows: Reading) => Promise<Result>): Promise<Result> {
    return this.enqueue(() => body(this.rows));
  }

  write<Result>(body: (rows: Writing) => Promise<Result>): Promise<Result> {
    return this.enqueue(async () => {
      this.undo = [];
      try {
        return await body(this.rows);
      } catch (error) {
        for (const step of this.undo.reverse()) step();
        throw error;
      }
    });
  }

  close(): void {}

  private enqueue<Result>(body: () => Promise<Result>): Promise<Result> {
    const result = this.queue.then(body);
    this.queue = result.catch(() => {});
    return result;
  }

  private rows: Writing = {
    get: (table, key, index) => Promise.resolve(this.find(table, index, key) as never),
    all: (table, query) => Promise.resolve(this.select(table, query ?? {}) as never),
    put: (table, record) => Promise.resolve(this.put(table, record)),
    append: (table, record) => {
      const numbered: OutboxRow = { ...record, key: ++this.lastNumber };
      return Promise.resolve(this.put(table, numbered));
    },
    remove: (table, key) => Promise.resolve(this.remove(table, key)),
    removeAll: (table, range) => {
      const items = this.select(table, range ?? {}) as Tables[Table][];
      for (const item of items) this.remove(table, keyOf(item, schema[table].key)!);
      return Promise.resolve();
    },
  };

  private order(table: Table, index?: string): Entry[] {
    const name = `${table}/${index ?? ""}`;
    if (!this.orders.has(name)) this.orders.set(name, []);
    return this.orders.get(name)!;
  }

  private find(table: Table, index: string | undefined, key: Key): Item {
    const entries = this.order(table, index);
    const entry = entries[place(entries, index ? [key] : key)];
    return entry && compare(index ? (entry.key as Key[])[0]! : entry.key, key) === 0 ? entry.item : undefined;
  }

  private select(table: Table, { index, from, to, limit, isDescending }: Query): Item[] {
    const entries = this.order(table, index);
    // The entries of an index are its values with the keys behind them.
    const value = (key: Key) => index ? (key as Key[])[0]! : key;
    const first = from === undefined ? 0 : place(entries, from, false, value);
    const last = to === undefined ? entries.length : place(entries, to, true, value);
    const found = entries.slice(first, last).map(({ item }) => item);
    return (isDescending ? found.reverse() : found).slice(0, limit);
  }

  private put(table: Table, record: Item): void {
    const { key, indexes } = schema[table];
    const primary = keyOf(record, key)!;
    this.remove(table, primary);
    // What is stored must not change when somebody changes a record in place.
    const item = Object.freeze(record);
    this.insert(table, undefined, primary, item);
    for (const [index, path] of Object.entries(indexes ?? {})) {
      const value = keyOf(record, path);
      if (value !== undefined) this.insert(table, index, [value, primary], item);
    }
  }

  private insert(table: Table, index: string | undefined, key: Key, item: Item): void {
    const entries = this.order(table, index);
    entries.splice(place(entries, key), 0, { key, item });
    this.undo.push(() => entries.splice(place(entries, key), 1));
  }

  private remove(table: Table, key: Key): void {
    const item = this.find(table, undefined, key);
    if (item === undefined) return;
    this.cut(table, undefined, key);
    for (const [index, path] of Object.entries(schema[table].indexes ?? {})) {
      const value = keyOf(item, path);
      if (value !== undefined) this.cut(table, index, [value, key]);
    }
  }

  private cut(table: Table, index: string | undefined, key: Key): void {
    const entries = this.order(table, index);
    const [entry] = entries.splice(place(entries, key), 1);
    this.undo.push(() => entries.splice(place(entries, key), 0, entry!));
  }
}

/** A path may lead into an object: `marks.pinOrder`. */
function fieldAt(record: Item, path: string): Key | undefined {
  return path.split(".").reduce<unknown>(
    (value, name) => (value as Record<string, unknown> | undefined)?.[name],
    record,
  ) as
    | Key
    | undefined;
}

/** The key of a record; undefined if a part of it is absent: then an index passes the record over. */
function keyOf(record: Item, path: string | string[]): Key | undefined {
  const fields = record as Record<string, Key | undefined>;
  if (typeof path === "string") return fieldAt(record, path);
  const values = path.map((name) => fields[name]);
  return values.some((value) => value === undefined) ? undefined : values as Key[];
}

/** Where a key is or would be; behind it if `isAfter`. A part of the entries' keys may be compared alone. */
function place(entries: Entry[], key: Key, isAfter = false, part = (key: Key) => key): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const order = compare(part(entries[middle]!.key), key);
    if (order < 0 || isAfter && order === 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compare(one: Key, other: Key): number {
  const [rank, otherRank] = [rankOf(one), rankOf(other)];
  if (rank !== otherRank) return rank - otherRank;
  if (!Array.isArray(one) || !Array.isArray(other)) return one < other ? -1 : one > other ? 1 : 0;
  for (let index = 0; index < Math.min(one.length, other.length); index++) {
    const order = compare(one[index]!, other[index]!);
    if (order) return order;
  }
  return one.length - other.length;
}

function rankOf(key: Key): number {
  return typeof key === "number" ? 0 : typeof key === "string" ? 1 : 2;
}
