import type {
  Change,
  ChangePage,
  Conversation,
  ConversationId,
  ConversationPage,
  DigestPage,
  FrameFromClient,
  FrameFromServer,
  History,
  MemberPage,
  Message,
  MessageId,
  MessageRequest,
  PrivateChange,
  Problem,
  Profile,
  Revision,
  Settings,
  Status,
  SyncPage,
  Time,
  UserId,
} from "../model.ts";
import type { ConnectionState } from "../client.ts";

// What goes into `Synchronizer` and what comes out. All of it is plain JSON, so that scripts can tell it.

/** Which page of a conversation's history. */
export type Place = "newest" | { before: number } | { after: number } | { around: number };

/** Positions, both ends included. */
export type Range = [first: number, last: number];

export type SyncEvent =
  /** Be connected, at once: the application is in front, or the network is back. */
  | { type: "start" }
  | { type: "stop" }
  | { type: "token"; token: string }
  | { type: "tokenFailed" }
  /** The WebSocket is open. */
  | { type: "opened" }
  | { type: "frame"; frame: FrameFromServer }
  /** The WebSocket has ended, or could not be opened. */
  | { type: "closed" }
  | { type: "response"; id: number; response: SyncResponse }
  /** The outbox has created a conversation, or accepted a request. */
  | { type: "created"; conversation: ConversationId }
  /** `wakeAt` has come. */
  | { type: "time" }
  /** Somebody looks at a part of a conversation that is not in the copy. */
  | { type: "look"; conversation: ConversationId; place: Place }
  | { type: "lookAtMembers"; conversation: ConversationId }
  /** Somebody looks at the requests, and the copy does not know whether these are all. */
  | { type: "lookAtRequests" }
  /** Somebody looks at a request. No change tells what happens in it, so it is read again. */
  | { type: "lookAgain"; conversation: ConversationId }
  /** People are shown. */
  | { type: "show"; users: UserId[] }
  | { type: "lookAtRevisions"; conversation: ConversationId; message: MessageId }
  /** Bring the copy up to date once, without a WebSocket. */
  | { type: "catchUp" }
  /** Ask for the server's digests of a conversation, to compare the copy with. */
  | { type: "compare"; conversation: ConversationId }
  /** These positions of the copy differ from the server's. */
  | { type: "differs"; conversation: ConversationId; range: Range };

/** A call of the contract. All of them read, so each may be repeated. */
export type SyncCall =
  | { call: "conversations"; before?: string }
  | { call: "conversation"; conversation: ConversationId }
  | { call: "changes"; conversation: ConversationId; after: number }
  | { call: "history"; conversation: ConversationId; place: Place }
  | { call: "members"; conversation: ConversationId; after?: UserId }
  | { call: "revisions"; conversation: ConversationId; message: MessageId }
  | { call: "settings" }
  | { call: "blocks" }
  | { call: "requests" }
  /** With the versions that the copy has when it is made. */
  | { call: "profiles"; users: UserId[] }
  | { call: "sync"; since?: string }
  | { call: "digest"; conversation: ConversationId; after: number };

/** The body of a response of 2xx, or why there is none. */
export type SyncResponse = { body: unknown } | { failure: CallFailure };

/** Without a problem there was no response: the request may or may not have been carried out. */
export interface CallFailure {
  problem?: Problem;
  /** In milliseconds. */
  retryAfter?: number;
}

/** Whether the same call may succeed later. */
export function isTemporary({ problem }: CallFailure): boolean {
  return !problem || problem.status === 429 || problem.status === 408 || problem.status >= 500 || excludes(problem);
}

/** Whether the user is suspended from everything, until later. Who may still read is told at once what they may not do. */
function excludes({ code, mode }: Problem): boolean {
  return code === "suspended" && mode !== "readOnly";
}

/** The bodies, by the name of their call. */
export interface Bodies {
  conversations: ConversationPage;
  conversation: Conversation;
  changes: ChangePage;
  history: History;
  members: MemberPage;
  revisions: { revisions: Revision[] };
  settings: Settings;
  blocks: { users: { userId: UserId }[] };
  requests: { requests: MessageRequest[] };
  profiles: { profiles: Profile[] };
  sync: SyncPage;
  digest: DigestPage;
}

/** One thing that was found out. All that come together are stored in one transaction, with the cursors they stand for. */
export type SyncWrite =
  /** The session's user, the server's database, and where the private stream begins if the copy does not follow it yet. */
  | { write: "session"; userId: UserId; logId: string; useq: number; serverTime?: Time }
  /** Takes the copy away, except the outbox, drafts among it. */
  | { write: "discardAll" }
  | { write: "settings"; settings: Settings }
  /** All whom the user has blocked, as of a position of the private stream; of a response that is not known. */
  | { write: "blocks"; users: UserId[]; useq?: number }
  /** Those that wait: all that the server shows. */
  | { write: "requests"; requests: MessageRequest[] }
  | { write: "profiles"; profiles: Profile[] }
  /** Whether the copy has every conversation of the user's list. */
  | { write: "listComplete"; isComplete: boolean }
  | { write: "syncCursor"; cursor: string }
  /** If it `follows`, it was waited for, and the stream sends everything after its `lastSeq`. */
  | { write: "conversation"; conversation: Conversation; follows: boolean }
  | { write: "discard"; conversation: ConversationId }
  | { write: "change"; change: Change; movesCursor: boolean }
  /** Positions without a change that the user may see: the cursor passes them. */
  | { write: "passed"; conversation: ConversationId; through: number }
  | { write: "history"; conversation: ConversationId; page: History; place: Place }
  | { write: "message"; message: Message }
  | { write: "status"; status: Status }
  | { write: "members"; conversation: ConversationId; members: MemberPage["members"]; isFirstPage: boolean }
  | { write: "revisions"; conversation: ConversationId; message: MessageId; revisions: Revision[] }
  /** What is stored of these positions, in one or in all conversations, may be outdated: it is loaded again when looked at. */
  | { write: "outdated"; conversation?: ConversationId; range?: Range }
  /** The server knows that this copy reaches here. */
  | { write: "delivered"; conversation: ConversationId; seq: number }
  | { write: "privateChange"; change: PrivateChange }
  /** Moves the cursor of the private stream without its changes; null: the next session begins it anew. */
  | { write: "privateStream"; useq: number | null };

/** What is not kept, for those who watch. */
export type SyncNotice =
  /** `until`: of a suspension that ends. */
  | { notice: "connection"; state: ConnectionState; until?: Time }
  | { notice: "typing"; conversation: ConversationId; user: UserId; active: boolean }
  | { notice: "presence"; user: UserId; online: boolean; lastSeen?: string }
  /** What `catchUp` asked for is done. */
  | { notice: "caughtUp" }
  /** To be compared with the copy. */
  | { notice: "digest"; conversation: ConversationId; digest: DigestPage };

/**
 * What to do about an event: first the writes, in one transaction, then the rest. If the writes fail, nothing of the rest
 * may happen, and synchronisation begins anew from what is stored.
 */
export class SyncStep {
  writes: SyncWrite[] = [];
  connection?: "open" | "close";
  frames: FrameFromClient[] = [];
  requests: { id: number; call: SyncCall }[] = [];
  /** `fresh`: the present one was refused or is about to expire. */
  token?: "any" | "fresh";
  notices: SyncNotice[] = [];

  /** Whether a part of the copy is taken away: then responses on their way to the outbox may be of a history that is gone. */
  get discards(): boolean {
    return this.writes.some(({ write }) => write === "discardAll" || write === "discard");
  }
}

/** How a conversation's changes arrive. */
export interface Stream {
  /** All changes up to here are in the copy. */
  cursor: number;
  statusVersion: number;
  /** The server knows that the copy reaches here. */
  deliveredSeq: number;
  /** While changes are paged over HTTP, those from the WebSocket are left to the pages, which bring them too. */
  isPaging: boolean;
  /** The position that the pages must reach. */
  target: number;
  /** Pages that brought nothing of what is missing. */
  emptyPages: number;
}

/** Where synchronisation stands, for a process that begins. */
export interface SyncPosition {
  userId?: UserId;
  logId?: string;
  useq?: number;
  syncCursor?: string;
  isListComplete: boolean;
  /** Of the conversations that are followed, latest activity first. */
  streams: { id: ConversationId; cursor: number; statusVersion: number; deliveredSeq: number }[];
  /** Conversations that the server has to be asked about. */
  unknown: ConversationId[];
}
