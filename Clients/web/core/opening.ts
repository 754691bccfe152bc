import { blobKey } from "./copy/blobs.ts";
import type { Database, OutboxRow } from "./copy/database.ts";
import { eraseIndexedDB, openIndexedDB } from "./copy/indexeddb.ts";
import { syncPosition } from "./copy/position.ts";

export interface OpenedCopy {
  database: Database;
  /** How many unsent writes, drafts among them, were saved from a copy that could not be read; null in the usual case. */
  saved: number | null;
}

/** A copy is damaged, and what the user had not sent yet cannot be read either: only they can say that it is to be erased. */
export class UnreadableCopy extends Error {
  constructor(private copy: string, cause: unknown) {
    super("the copy cannot be read", { cause });
  }

  erase(): Promise<void> {
    return eraseIndexedDB(this.copy);
  }
}

/**
 * Opens the copy. One that is damaged is replaced: what the user had not sent yet is taken over from it, and everything else
 * is loaded from the server again. Where that cannot be read, or nothing is damaged, the copy stays as it is.
 */
export async function openCopy(name: string, whenTaken: () => void): Promise<OpenedCopy> {
  const fail = (error: unknown): never => {
    throw isDamage(error) ? new UnreadableCopy(name, error) : error;
  };
  const damaged = await openIndexedDB(name, whenTaken).catch(fail);
  const damage = await check(damaged).then(() => undefined, (error) => ({ error }));
  if (!damage) return { database: damaged, saved: null };
  const found = isDamage(damage.error) ? unsent(damaged) : Promise.reject(damage.error);
  const { rows, account, files } = await found.catch(fail).finally(() => damaged.close());
  console.warn("parley: the copy cannot be read and is replaced", damage.error);
  await eraseIndexedDB(name);
  const database = await openIndexedDB(name, whenTaken);
  await database.write(async (copy) => {
    // What was not sent is this user's, and nobody else's.
    const { token, userId } = account ?? {};
    await copy.put("account", { only: 0, isListComplete: false, token, userId });
    for (const row of rows.sort(byKey)) await copy.put("outbox", row);
  });
  for (const [key, blob] of files) await database.blobs.put(key, blob, false);
  return { database, saved: rows.length };
}

/**
 * What a browser says of a copy that is as it should be: this page is older than it, another page brings it to a newer version,
 * or there is no room to do that.
 */
const noDamage = ["VersionError", "InvalidStateError", "AbortError", "QuotaExceededError"];

function isDamage(error: unknown): boolean {
  return !(error instanceof DOMException && noDamage.includes(error.name));
}

/** What the user had not sent yet. Of the rest, what can be read; but nothing if another page has the copy now. */
async function unsent(database: Database) {
  const or = <Value>(value: Value) => (error: unknown) => isDamage(error) ? value : Promise.reject(error);
  const rows = await database.read((rows) => rows.all("outbox"));
  const account = await database.read((rows) => rows.get("account", 0)).catch(or(undefined));
  const files: [string, Blob][] = [];
  for (const { write } of rows) {
    for (const file of write.kind === "send" ? write.files ?? [] : []) {
      const key = blobKey(file.key);
      const blob = await database.blobs.get(key).catch(or(undefined));
      if (blob) files.push([key, blob]);
    }
  }
  return { rows, account, files };
}

/** Reads a little of everything that must be there. */
async function check(database: Database): Promise<void> {
  await database.read(async (rows) => {
    await syncPosition(rows);
    await rows.all("conversations", { index: "activity", isDescending: true, limit: 1 });
    await rows.all("outbox");
  });
  await database.blobs.get("");
}

function byKey(one: OutboxRow, other: OutboxRow): number {
  return one.key - other.key;
}
