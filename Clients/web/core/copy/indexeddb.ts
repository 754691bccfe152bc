import {
  type Database,
  type Key,
  type MessageRecord,
  type Query,
  type Reading,
  schema,
  type Table,
  type Tables,
  type Writing,
} from "./database.ts";
import { BrowserBlobs, createBlobs } from "./indexeddb-blobs.ts";

// The database in a browser. One transaction spans all tables, so that a cursor moves with what it stands for.

const tables = Object.keys(schema) as Table[];

/** What each version added to the one before. A merged step is never edited. */
const migrations: ((database: IDBDatabase, transaction: IDBTransaction) => void)[] = [
  (database) => {
    for (const [table, { key, isNumbered, indexes }] of Object.entries(schema)) {
      const store = database.createObjectStore(table, { keyPath: key, autoIncrement: isNumbered ?? false });
      for (const [name, path] of Object.entries(indexes ?? {})) store.createIndex(name, path);
    }
  },
  (database) => {
    // The first step makes all tables there are, which a new copy has from the start.
    if (!database.objectStoreNames.contains("releases")) database.createObjectStore("releases", { keyPath: "id" });
    createBlobs(database);
  },
  (database, transaction) => {
    // A damaged database may lack these; what is left in it is taken over into a new one.
    if (database.objectStoreNames.contains("conversations")) {
      const conversations = transaction.objectStore("conversations");
      if (!conversations.indexNames.contains("pinned")) conversations.createIndex("pinned", "marks.pinOrder");
    }
    if (database.objectStoreNames.contains("account")) reloadList(transaction.objectStore("account"));
  },
  (database) => {
    if (!database.objectStoreNames.contains("profiles")) database.createObjectStore("profiles", { keyPath: "userId" });
  },
  (database, transaction) => {
    if (database.objectStoreNames.contains("account")) reloadList(transaction.objectStore("account"));
    // What was written here is put like anything else that the user did.
    if (!database.objectStoreNames.contains("drafts")) return;
    transaction.objectStore("drafts").getAll().onsuccess = (event) => {
      for (const { conversationId, at, text, replyTo } of (event.target as IDBRequest).result) {
        const write = { kind: "draft", draft: { text, replyTo } };
        const row = { conversationId, at, write, idempotencyKey: "", state: "waiting", wasTried: false };
        if (database.objectStoreNames.contains("outbox")) transaction.objectStore("outbox").add(row);
      }
      database.deleteObjectStore("drafts");
    };
  },
  (database, transaction) => {
    if (database.objectStoreNames.contains("account")) reloadList(transaction.objectStore("account"));
  },
  (database, transaction) => {
    if (database.objectStoreNames.contains("conversations")) {
      const conversations = transaction.objectStore("conversations");
      if (!conversations.indexNames.contains("lifetime")) {
        conversations.createIndex("lifetime", "messageLifetime.seconds");
      }
    }
    if (database.objectStoreNames.contains("account")) reloadList(transaction.objectStore("account"));
  },
  (database, transaction) => {
    if (database.objectStoreNames.contains("messages")) {
      const messages = transaction.objectStore("messages");
      if (!messages.indexNames.contains("mentioned")) {
        messages.createIndex("mentioned", ["conversationId", "mentionedAt"]);
      }
    }
    if (database.objectStoreNames.contains("account")) reloadList(transaction.objectStore("account"));
  },
  (database, transaction) => {
    if (!database.objectStoreNames.contains("messages")) return;
    const messages = transaction.objectStore("messages");
    if (messages.indexNames.contains("quoting")) return;
    messages.createIndex("quoting", ["conversationId", "quotes"]);
    if (messages.indexNames.contains("id")) notePreviews(messages);
  },
];

/** Notes which messages have a preview of their parent, and takes those away whose parent was. */
function notePreviews(messages: IDBObjectStore, after?: Key): void {
  // By a cursor that changes what it is at, 100,000 messages took minutes.
  const count = 1000;
  const range = after === undefined ? undefined : IDBKeyRange.lowerBound(after, true);
  messages.getAll(range, count).onsuccess = (event) => {
    const found: MessageRecord[] = (event.target as IDBRequest).result;
    for (const message of found) notePreview(messages, message);
    const last = found.at(-1);
    if (last && found.length === count) notePreviews(messages, [last.conversationId, last.seq]);
  };
}

function notePreview(messages: IDBObjectStore, message: MessageRecord): void {
  const { replyTo } = message;
  if (replyTo?.preview === undefined) return;
  messages.index("id").get([message.conversationId, replyTo.messageId]).onsuccess = (event) => {
    const isGone = (event.target as IDBRequest<MessageRecord | undefined>).result?.deletedForEveryone;
    if (isGone) delete replyTo.preview;
    messages.put(isGone ? message : { ...message, quotes: replyTo.seq });
  };
}

/**
 * An earlier version has passed over what the server told of marks, drafts, permissions, lifetimes or mentions: the list
 * brings it.
 */
function reloadList(account: IDBObjectStore): void {
  account.get(0).onsuccess = (event) => {
    const known = (event.target as IDBRequest).result;
    if (known) account.put({ ...known, isListComplete: false });
  };
}

/**
 * Opens a database, or fails with what the browser says.
 *
 * `whenTaken` is told when it has been closed because another page erases it or brings a newer version.
 */
export function openIndexedDB(name: string, whenTaken: () => void): Promise<Database> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, migrations.length);
    request.onupgradeneeded = ({ oldVersion }) => {
      for (const migrate of migrations.slice(oldVersion)) migrate(request.result, request.transaction!);
    };
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const database = request.result;
      database.onversionchange = () => {
        database.close();
        whenTaken();
      };
      // The browser was told to clear what it keeps.
      database.onclose = whenTaken;
      resolve(new BrowserDatabase(database));
    };
  });
}

/** Removes a database; pages that have it open let go of it. */
export function eraseIndexedDB(name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(name);
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error);
  });
}

class BrowserDatabase implements Database {
  readonly blobs: BrowserBlobs;
  private tables: Table[];

  constructor(private database: IDBDatabase) {
    this.blobs = new BrowserBlobs(database);
    // A damaged database may lack some.
    this.tables = tables.filter((table) => database.objectStoreNames.contains(table));
  }

  read<Result>(body: (rows: Reading) => Promise<Result>): Promise<Result> {
    return this.run("readonly", body);
  }

  write<Result>(body: (rows: Writing) => Promise<Result>): Promise<Result> {
    return this.run("readwrite", body);
  }

  close(): void {
    this.database.close();
  }

  private run<Result>(mode: IDBTransactionMode, body: (rows: Writing) => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      // What the user wrote must survive the power going, too.
      const transaction = this.database.transaction(this.tables, mode, { durability: "strict" });
      let result: Result;
      let failure: unknown;
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = () => reject(failure ?? transaction.error);
      body(rowsOf(transaction)).then((value) => result = value, (error) => {
        failure = error;
        abort(transaction);
      });
    });
  }
}

function abort(transaction: IDBTransaction): void {
  try {
    transaction.abort();
  } catch {
    // It has ended already, and told why.
  }
}

function rowsOf(transaction: IDBTransaction): Writing {
  const source = (table: Table, index?: string) => {
    const store = transaction.objectStore(table);
    return index ? store.index(index) : store;
  };
  return {
    get: (table, key, index) => done(source(table, index).get(key)),
    all: (table, query = {}) => select(source(table, query.index), query),
    // Nobody waits for a write: the next read sees it, and a failure ends the transaction.
    put: (table, record) => sent(transaction.objectStore(table).put(record)),
    append: (table, record) => sent(transaction.objectStore(table).add(record)),
    remove: (table, key) => sent(transaction.objectStore(table).delete(key)),
    removeAll: (table, range) => {
      const store = transaction.objectStore(table);
      return sent(range ? store.delete(IDBKeyRange.bound(range.from, range.to)) : store.clear());
    },
  };
}

function select<T extends Table>(source: IDBObjectStore | IDBIndex, query: Query): Promise<Tables[T][]> {
  const range = rangeOf(query);
  if (!query.isDescending) return done(source.getAll(range, query.limit));
  return new Promise((resolve, reject) => {
    const found: Tables[T][] = [];
    const request = source.openCursor(range, "prev");
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const cursor = request.result;
      if (cursor) found.push(cursor.value);
      if (!cursor || found.length === query.limit) resolve(found);
      else cursor.continue();
    };
  });
}

function rangeOf({ from, to }: Query): IDBKeyRange | undefined {
  if (from === undefined) return to === undefined ? undefined : IDBKeyRange.upperBound(to);
  return to === undefined ? IDBKeyRange.lowerBound(from) : IDBKeyRange.bound(from as Key, to as Key);
}

function sent(_request: IDBRequest): Promise<void> {
  return Promise.resolve();
}

function done<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
