import type {
  ConversationId,
  ConversationSettings,
  DeliveryStatus,
  Message,
  MessageId,
  MessageLifetime,
  Permissions,
  Problem,
  Revision,
  Settings,
  Time,
  UserId,
  Window,
} from "../model.ts";
import type { Draft, FileLimits } from "../client.ts";
import type { Range } from "../sync/events.ts";
import type { PendingWrite } from "../outbox/writes.ts";
import type { Blobs } from "./blobs.ts";
import type { Blocks } from "./blocks.ts";
import type { Requests } from "./requests.ts";

// The tables of a copy, and the little of a database that the core needs: IndexedDB in browsers, an ordered map in tests.

/** The user whose copy this is, in one record, and the positions of what concerns the whole copy. */
export interface Account {
  only: 0;
  userId?: UserId;
  /** Of the server's database, from its last welcome. */
  logId?: string;
  /** The private stream is applied up to here. */
  useq?: number;
  syncCursor?: string;
  isListComplete: boolean;
  /** How far this device's clock was ahead of the server's when a session began, in milliseconds. */
  clockAhead?: number;
  /** Absent until they are known. */
  settings?: Settings;
  blocks?: Blocks;
  /** Whom the user has blocked, with what waits in the outbox, by name. */
  blocked?: UserId[];
  /** Absent until they are known. */
  requests?: Requests;
  /** The last one, so that a page that is opened again need not ask for it. */
  token?: string;
  /** What files the server takes, as it said last; absent where it takes none. */
  fileLimits?: FileLimits;
}

export interface ConversationRecord {
  id: ConversationId;
  /** The server has to be asked what it is like. */
  needsHead: boolean;
  /** What the server says of it, as of `headSeq`. 0: only the id is known. */
  headSeq: number;
  kind: string;
  title?: string;
  createdAt: Time;
  lastSeq: number;
  /** Absent while only the id is known: then it is not in the list, which is in this order. */
  lastActivityAt?: Time;
  memberCount: number;
  role: string;
  /** Absent where everything is as by default. */
  permissions?: Permissions;
  /** Absent where messages stay until somebody deletes them. */
  messageLifetime?: MessageLifetime;
  /** What was over up to here is taken out of this copy. */
  expiredSeq?: number;
  /** What lies before was taken out: the server keeps it no longer. */
  keptFrom?: number;
  windows: Window[];
  // The user's own. They only grow.
  clearedSeq: number;
  readSeq: number;
  /** The server knows that the copy reaches here. */
  deliveredSeq: number;
  /** The server's count of unread messages behind `after`, as it was at `seq`, for while the copy cannot count them itself. */
  toldUnread: { count: number; seq: number; after: number; mentions?: number };
  /** As derived from what is stored; absent instead of 0, so that an index finds the others. */
  unread?: number;
  mentions?: number;
  // The stream.
  /** All changes up to here are applied; absent: not followed yet. */
  cursor?: number;
  /** Older pages of history do not count as up to date. */
  firstCursor: number;
  statusVersion: number;
  /** Positions of which every message is stored: ascending, neither touching nor overlapping. */
  ranges: Range[];
  /**
   * The private stream was interrupted: which messages up to here the user has hidden meanwhile is not known, so that a
   * change does not show what its position reads. A page of history does.
   */
  unsureThrough?: number;
  /** No message behind this position is stored. */
  topSeq: number;
  /** Whether the user has hidden messages of it. */
  hasHidden?: true;
  /** Messages stored in an earlier epoch may be outdated: an equally new state replaces them. */
  epoch: number;
  /** Absent until they are known. */
  settings?: ConversationSettings;
  /** What the user keeps to themselves, as the server told it, and which parts of it the server has told (bits). */
  marks?: Marks;
  toldMarks?: number;
  /** A number by chance, another one each time that the server tells of them. */
  marksVersion?: number;
  /** As the server told it. */
  draft?: Draft;
  /** The position of the private change that last told of somebody who asks to join. */
  joinRequested?: number;
  /** The same of what the user has scheduled. */
  scheduled?: number;
}

export interface Marks {
  mutedUntil?: Time;
  pinOrder?: number;
  archivedSeq?: number;
  markedUnread?: boolean;
}

export type MessageRecord = Message & {
  epoch: number;
  /** Its position, if it mentions the user, or did before it was deleted. */
  mentionedAt?: number;
  /** The position of its parent, where it has a preview of that, so that the preview goes with the parent. */
  quotes?: number;
};

/** What the server said of the receipts of one of the user's own messages. */
export interface ReceiptRecord {
  conversationId: ConversationId;
  seq: number;
  status?: DeliveryStatus;
  deliveredCount: number;
  readCount: number;
  recipientCount?: number;
  dateDelivered?: Time;
  dateRead?: Time;
}

/** What a user is called, if anything. */
export interface ProfileRecord {
  userId: UserId;
  version: number;
  displayName?: string;
}

/** How far each other member has received and read; of large groups nobody is named. */
export interface HorizonRecord {
  conversationId: ConversationId;
  delivered: Record<UserId, number>;
  read: Record<UserId, number>;
}

export interface MemberRecord {
  conversationId: ConversationId;
  userId: UserId;
  role: string;
  joinedSeq: number;
}

export interface OutboxRow {
  /** Given by the database; rows with a higher key were written later. */
  key: number;
  /** Empty for the user's own settings and blocks. */
  conversationId: ConversationId;
  messageId?: MessageId;
  write: PendingWrite;
  idempotencyKey: string;
  /**
   * `failed`: a message that the server refused; it holds back the later ones of its conversation until the user retries,
   * edits or discards it, or a new conversation for which there is a message, which has failed by that. `refused`: another
   * write that the server refused; it is undone, and kept until the user was told. `held`: a draft that is not to be sent by itself.
   */
  state: "waiting" | "failed" | "refused" | "held";
  /** Whether a request with it was made, so that the server may know it. */
  wasTried: boolean;
  problem?: Problem;
  at: Time;
}

/**
 * Content that is to be removed from this device: of a message that is gone, or that was sent. It is noted in the
 * transaction that takes the message away, and outlives the page.
 */
export interface ReleaseRecord {
  /** Of an attachment, or what a file is kept under that was to be sent. */
  id: string;
  /** An upload that is ended on the server as well. */
  isUpload?: true;
}

export interface Tables {
  account: Account;
  conversations: ConversationRecord;
  messages: MessageRecord;
  revisions: { conversationId: ConversationId; messageId: MessageId; revisions: Revision[] };
  /** Messages that the user deleted for themselves: changes and old pages may still bring them. */
  hidden: { conversationId: ConversationId; messageId: MessageId };
  members: MemberRecord;
  horizons: HorizonRecord;
  receipts: ReceiptRecord;
  profiles: ProfileRecord;
  // These outlive the copy.
  outbox: OutboxRow;
  releases: ReleaseRecord;
}

export type Table = keyof Tables;

/** What is stored under which key, and found by which others. Read by both databases. */
export const schema: Record<
  Table,
  { key: string | string[]; isNumbered?: true; indexes?: Record<string, string | string[]> }
> = {
  account: { key: "only" },
  conversations: {
    key: "id",
    indexes: {
      activity: ["lastActivityAt", "id"],
      unread: "unread",
      pinned: "marks.pinOrder",
      lifetime: "messageLifetime.seconds",
    },
  },
  messages: {
    key: ["conversationId", "seq"],
    indexes: {
      id: ["conversationId", "id"],
      mentioned: ["conversationId", "mentionedAt"],
      quoting: ["conversationId", "quotes"],
    },
  },
  revisions: { key: ["conversationId", "messageId"] },
  hidden: { key: ["conversationId", "messageId"] },
  members: { key: ["conversationId", "userId"] },
  horizons: { key: "conversationId" },
  receipts: { key: ["conversationId", "seq"] },
  profiles: { key: "userId" },
  outbox: { key: "key", isNumbered: true, indexes: { conversation: "conversationId" } },
  releases: { key: "id" },
};

/** Those that belong to one conversation, whose id their keys begin with. */
export const conversationTables: Table[] = ["messages", "revisions", "hidden", "members", "horizons", "receipts"];

/** Numbers come before texts, and these before lists, as in IndexedDB. */
export type Key = number | string | Key[];

/** Both ends are included. Descending ones begin at the upper end. */
export interface Query {
  index?: string;
  from?: Key;
  to?: Key;
  limit?: number;
  isDescending?: boolean;
}

/** All keys that begin with these values: `[a]` comes before all of them, and `[a, []]` after. */
export function within(...values: Key[]): { from: Key; to: Key } {
  return { from: values, to: [...values, []] };
}

export interface Reading {
  get<T extends Table>(table: T, key: Key, index?: string): Promise<Tables[T] | undefined>;
  all<T extends Table>(table: T, query?: Query): Promise<Tables[T][]>;
}

/** Records are never changed in place: what is put replaces what was there. */
export interface Writing extends Reading {
  put<T extends Table>(table: T, record: Tables[T]): Promise<void>;
  /** Puts a record whose key the database gives. */
  append(table: "outbox", record: Omit<OutboxRow, "key">): Promise<void>;
  remove(table: Table, key: Key): Promise<void>;
  removeAll(table: Table, range?: { from: Key; to: Key }): Promise<void>;
}

export interface Database {
  /** The content of files, which is no part of any transaction. */
  readonly blobs: Blobs;
  read<Result>(body: (rows: Reading) => Promise<Result>): Promise<Result>;
  /** All of it or nothing. A body awaits nothing but its rows. */
  write<Result>(body: (rows: Writing) => Promise<Result>): Promise<Result>;
  close(): void;
}

/** Leaves nothing of what is stored. */
export async function eraseRows(database: Database): Promise<void> {
  await database.write(async (rows) => {
    for (const table of Object.keys(schema) as Table[]) await rows.removeAll(table);
  });
  await database.blobs.clear();
}
