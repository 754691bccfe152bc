import { blobKey } from "./copy/blobs.ts";
import type { Database, OutboxRow, Table, Tables } from "./copy/database.ts";
import { eraseIndexedDB, openIndexedDB } from "./copy/indexeddb.ts";
import { syncPosition } from "./copy/position.ts";

export interface OpenedCopy {
  database: Database;
  /** How many unsent writes, drafts among them, were saved from a copy that could not be read; null in the usual case. */
  saved: number | null;
}

/**
 * Opens the copy. One that is damaged is replaced: what the user had not sent yet is taken over from it as far as it can be
 * read, and everything else is loaded from the server again.
 */
export async function openCopy(name: string, whenTaken: () => void): Promise<OpenedCopy> {
  let damaged: Database | undefined;
  try {
    damaged = await openIndexedDB(name, whenTaken);
    await check(damaged);
    return { database: damaged, saved: null };
  } catch (error) {
    // A newer version of the page has been here: this one must not touch what it does not know.
    if (error instanceof DOMException && error.name === "VersionError") throw error;
    console.warn("parley: the copy cannot be read and is replaced", error);
  }
  const rows = await readable(damaged, "outbox");
  const account = (await readable(damaged, "account"))[0];
  const files = await readableFiles(damaged, rows);
  damaged?.close();
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

/** The content of what was to be sent. */
async function readableFiles(database: Database | undefined, rows: OutboxRow[]): Promise<[string, Blob][]> {
  const found: [string, Blob][] = [];
  for (const { write } of rows) {
    for (const file of write.kind === "send" ? write.files ?? [] : []) {
      const key = blobKey(file.key);
      const blob = await database?.blobs.get(key).catch(() => undefined);
      if (blob) found.push([key, blob]);
    }
  }
  return found;
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

async function readable<T extends Table>(database: Database | undefined, table: T): Promise<Tables[T][]> {
  return await database?.read((rows) => rows.all(table)).catch(() => []) ?? [];
}

function byKey(one: OutboxRow, other: OutboxRow): number {
  return one.key - other.key;
}
