import { type Blobs, cacheBytes, surplus } from "./blobs.ts";

// Content in a browser: one table of its own, in transactions of their own.

interface BlobRecord {
  key: string;
  blob: Blob;
  bytes: number;
  /** Of what can be loaded again; in milliseconds of the clock here. */
  usedAt?: number;
}

const table = "blobs";
const byUse = "use";
/** Being used again within this time is not worth a transaction. */
const betweenUses = 600_000;

export function createBlobs(database: IDBDatabase): void {
  const store = database.createObjectStore(table, { keyPath: "key" });
  // Without the blobs themselves: their number and sizes are read often.
  store.createIndex(byUse, ["usedAt", "bytes"]);
}

export class BrowserBlobs implements Blobs {
  /** Bytes of what is cached, once they were counted, by this page alone: other tabs add to them. */
  private cached?: number;

  constructor(private database: IDBDatabase, private limit = cacheBytes) {}

  async get(key: string): Promise<Blob | undefined> {
    const record: BlobRecord | undefined = await done(this.store("readonly").get(key));
    if (record?.usedAt !== undefined && Date.now() > record.usedAt + betweenUses) {
      this.store("readwrite").put({ ...record, usedAt: Date.now() });
    }
    return record?.blob;
  }

  async put(key: string, blob: Blob, isCached: boolean): Promise<void> {
    const record: BlobRecord = { key, blob, bytes: blob.size, usedAt: isCached ? Date.now() : undefined };
    if (!isCached) delete record.usedAt;
    await finished(this.store("readwrite").put(record));
    if (!isCached) return;
    this.cached = (this.cached ?? 0) + blob.size;
    if (this.cached === blob.size || this.cached > this.limit) await this.makeRoom();
  }

  async removeAll(id: string): Promise<void> {
    await finished(this.store("readwrite").delete(IDBKeyRange.bound(`${id}/`, `${id}0`, false, true)));
  }

  async keys(): Promise<string[]> {
    return await done(this.store("readonly").getAllKeys()) as string[];
  }

  async clear(): Promise<void> {
    this.cached = 0;
    await finished(this.store("readwrite").clear());
  }

  private async makeRoom(): Promise<void> {
    const entries = await this.entries();
    const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
    this.cached = bytes;
    if (bytes <= this.limit) return;
    const keys = surplus(entries, this.limit);
    const store = this.store("readwrite");
    for (const key of keys) store.delete(key);
    this.cached = this.limit * 0.9;
  }

  /** What is cached, from the longest unused on. */
  private entries(): Promise<{ key: string; bytes: number }[]> {
    return new Promise((resolve, reject) => {
      const found: { key: string; bytes: number }[] = [];
      const request = this.store("readonly").index(byUse).openKeyCursor();
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        const cursor = request.result;
        if (!cursor) return resolve(found);
        found.push({ key: cursor.primaryKey as string, bytes: (cursor.key as number[])[1]! });
        cursor.continue();
      };
    });
  }

  private store(mode: IDBTransactionMode): IDBObjectStore {
    return this.database.transaction(table, mode, { durability: "strict" }).objectStore(table);
  }
}

function done<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** When what was asked for is on the disk. */
function finished(request: IDBRequest): Promise<void> {
  return new Promise((resolve, reject) => {
    request.transaction!.oncomplete = () => resolve();
    request.transaction!.onabort = () => reject(request.transaction!.error);
  });
}
