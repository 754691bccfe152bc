import type { StoredPart } from "./copy/blobs.ts";
import type { UploadProgress } from "./media/uploader.ts";
import type {
  Attachment,
  BanPage,
  Conversation,
  ConversationId,
  ConversationSettings,
  DeliveryStatus,
  Device,
  Forward,
  Forwarded,
  Invitation,
  InvitationPreview,
  JoinRequestPage,
  LifetimeStart,
  Limits,
  Member,
  Message,
  MessageId,
  NewInvitation,
  NewPoll,
  NewReport,
  NewScheduledMessage,
  NewSettings,
  Permission,
  Permitted,
  PinnedMessages,
  Problem,
  ReceiptPage,
  Revision,
  ScheduledMessage,
  Settings,
  SignedAddress,
  TapbackPage,
  Time,
  UserId,
  VotePage,
} from "./model.ts";

// What elements see of a client. Everything shown comes from the local copy; writes return as soon as they are kept on
// this device, and show in the windows at once.

/** A value that changes. A listener is told the present value at once, if there is one, and every later one. */
export interface Watched<Value> {
  readonly value: Value;
  subscribe(listener: (value: Value) => void): () => void;
}

/** What people are called. */
export interface UserNames {
  /** Their name, or their id. Ask for it when it is shown: it is loaded, or loaded again, by that. */
  of(user: UserId): string;
  /** Their name, if the copy has one, of somebody who is not shown. */
  known(user: UserId): string | undefined;
  /** Told whenever a name may be another one. */
  subscribe(listener: () => void): () => void;
}

/**
 * - `off`: not started, or signed out.
 * - `waiting`: the connection was lost; another attempt follows by itself.
 * - `suspended`: an administrator has suspended the user; another attempt follows at the end of it, and every hour.
 * - `superseded`: another session of this device took over; `connect` takes it back.
 * - `unwritable`: nothing can be kept on this device, so nothing is sent or taken either; another attempt follows.
 * - `otherUser`: the token is of another user than the one whose copy this is.
 * - `unauthenticated`: the token was refused, and the application gave no other one; another attempt follows.
 */
export type ConnectionState =
  | "off"
  | "connecting"
  | "online"
  | "waiting"
  | "suspended"
  | "superseded"
  | "unwritable"
  | "otherUser"
  | "unauthenticated";

/** Whether it may be tried at once what is tried later otherwise. */
export function isBetweenAttempts(state: ConnectionState): boolean {
  return state === "waiting" || state === "suspended" || state === "unauthenticated";
}

/** A part of something long. Rows that did not change are the same objects as before, so a screen may compare by `===`. */
export interface ListView<Row> {
  rows: Row[];
  /** False until the copy was read for the first time. */
  isLoaded: boolean;
  hasMore: boolean;
}

export interface ConversationRow {
  id: ConversationId;
  /** `lastMessage` is the last one the user sees, `unreadCount` counts up to 100. */
  conversation: Conversation;
  /** Up to four other members, as far as they are known: what a conversation without a title is named after. */
  others: UserId[];
  /** The last message, whether or not the server has it yet. */
  preview?: Message;
  previewState?: RowState;
  /** What is being written, on whichever device. */
  draft?: Draft;
  /** The user is asked about it, and has not decided; who asks, if it is known. */
  request?: "waiting" | "declined";
  requester?: UserId;
  isMember: boolean;
  /** The other user of a direct conversation is blocked. */
  isBlocked: boolean;
  isMuted: boolean;
  isArchived: boolean;
  /** Another one each time that somebody asks to join by a link of the user. */
  joinRequested?: number;
  /** Another one each time that what the user has scheduled here has changed. */
  scheduled?: number;
}

/** Where a conversation is for its user. A message takes it out of the archive, unless it is muted. */
export type Folder = "inbox" | "archive";

export interface ConversationList extends Watched<ListView<ConversationRow>> {
  /** Shows more rows, if there are. */
  extend(): void;
  close(): void;
}

/** `failed`: refused for good. It holds the later messages of its conversation back until retried, edited or discarded. */
export type RowState = "stored" | "sending" | "failed";

export interface TimelineRow {
  /** The message's id. */
  id: MessageId;
  /** As the server knows it, with what the user did since. `seq` is 0 until the server has it. */
  message: Message;
  state: RowState;
  /** Why it failed. */
  problem?: Problem;
  isOwn: boolean;
  /** The parent of a reply; absent where it is gone. Without `preview` it is being loaded. */
  parent?: { id: MessageId; senderId?: UserId; preview?: string };
}

export type TimelineAnchor = "newest" | "unread" | { around: MessageId } | { seq: number };

export interface TimelineView {
  /** Ascending, without a hole; what is on its way comes last. */
  rows: TimelineRow[];
  isLoaded: boolean;
  /** Whether there is more before, or after, these rows, here or on the server. */
  hasMoreBefore: boolean;
  hasMoreAfter: boolean;
  /** Something is missing and being loaded. It ends by itself when there is a connection. */
  isLoading: boolean;
  /** The first message that was unread when the window was opened: above it is the separator. */
  firstUnread?: MessageId;
}

export interface TimelineWindow extends Watched<TimelineView> {
  /** Whether the user sees the end. While not, what arrives pushes nothing out of a full window at its other side. */
  isAtEnd: boolean;
  /** Shows more rows on one side; far away on the other side some are let go, so that a window stays small. */
  extendBefore(): void;
  extendAfter(): void;
  jump(to: TimelineAnchor): void;
  close(): void;
}

/** How far the last of the user's own messages has got. */
export interface ReceiptsView {
  messageId?: MessageId;
  status: DeliveryStatus;
  deliveredCount: number;
  readCount: number;
  /** Unknown until the server has said it. */
  recipientCount?: number;
  /** When the last recipient got it, or read it. */
  dateDelivered?: Time;
  dateRead?: Time;
}

export interface MembersView {
  members: Member[];
  isComplete: boolean;
}

export interface Presence {
  online: boolean;
  lastSeen?: Time;
}

export interface Draft {
  text: string;
  replyTo?: MessageId;
}

/** What files a message may carry. */
export interface FileLimits {
  /** How many, and the bytes of each and of its name. */
  files: number;
  bytes: number;
  nameBytes: number;
  /** Whether a message with files may be replied to. */
  canReply: boolean;
}

/** A file to be sent. Of pictures and videos the dimensions, as they are shown, keep their place until they are there. */
export interface NewFile {
  blob: Blob;
  name: string;
  type: string;
  width?: number;
  height?: number;
  duration?: number;
}

export interface SearchResult {
  message: Message;
  /** A piece of the text, in turn unmarked and marked: the odd ones are matches. */
  pieces: string[];
}

export interface SearchResults {
  results: SearchResult[];
  /** Of `search`, for the next page. */
  next?: string;
  /** The server could not be asked: these are of the copy alone. */
  isLocal: boolean;
}

/** A write that the server refused and that was undone. `dismiss` it when the user has seen it. */
export interface RefusedWrite {
  key: number;
  /** Such as `edit`, `delete`, `tapback`, `rename`, `member`, `settings`. */
  kind: string;
  conversationId?: ConversationId;
  messageId?: MessageId;
  problem: Problem;
}

export interface ParleyOptions {
  /** The origin of the server; by default that of the page. */
  server?: string;
  /**
   * Asked when a token is needed: with the last one, which is kept on this device, and with whether it was refused or is
   * about to expire. It is asked again later if it rejects.
   */
  token(isFresh: boolean, kept?: string): Promise<string>;
}

export interface SendOptions {
  /**
   * What the application has encrypted, in base64 with padding: everybody gets it as `sealed`, and only who has the application's
   * key can read it. The text is then empty, and there is no `replyTo`: what it replies to is said inside.
   */
  sealed?: string;
  /** Makes it a poll, of which the text is the question: two to twelve options of one line. It replies to nothing. */
  poll?: NewPoll;
  /** A message that is sent on: the server takes what it says. The text here, its files and who wrote it are shown until then. */
  forward?: Forward;
  attachments?: Attachment[];
  forwarded?: Forwarded;
  replyTo?: MessageId;
  mentions?: UserId[];
  /** Everybody, where the user may. */
  mentionsAll?: boolean;
  /** With them the text may be empty. */
  files?: NewFile[];
  /** The application's own, at most 4 KiB as JSON. The text is what it is to a client that does not know it. */
  extra?: Record<string, unknown>;
}

export interface ParleyClient {
  /** Null before the first session on this device. */
  readonly userId: Watched<UserId | null>;
  readonly connection: Watched<ConnectionState>;
  /** When the user's suspension ends by itself, if `connection` is `suspended`; undefined: only when it is lifted. */
  readonly suspendedUntil: Time | undefined;
  /** Unread messages in all conversations that are neither muted nor archived, as far as the copy goes. */
  readonly unreadTotal: Watched<number>;
  readonly settings: Watched<Settings | null>;
  readonly names: UserNames;
  /** By name. In groups nothing is shown of what they write and do. */
  readonly blockedUsers: Watched<UserId[]>;
  /** What people ask whom the user does not know, the latest first. In no list of conversations, count or search. */
  readonly requests: Watched<ConversationRow[]>;
  readonly limits: Watched<Limits | null>;
  /** Null where files cannot be sent. As the server said last, so that it is known without a connection. */
  readonly fileLimits: Watched<FileLimits | null>;
  /** Of the files that are being uploaded, by `local` of their attachments. */
  readonly uploads: Watched<ReadonlyMap<string, UploadProgress>>;
  /** Refused writes that the user has not been told of. */
  readonly problems: Watched<RefusedWrite[]>;
  /** The copy could not be opened and is loaded anew; how many unsent writes were saved from it. */
  readonly replaced: Watched<{ saved: number } | null>;
  /** True once the user has signed out, in this tab or in another. */
  readonly isSignedOut: Watched<boolean>;
  /** True once a page of a newer version has taken the copy over: this one is to be loaded again. */
  readonly isOutdated: Watched<boolean>;

  // Watching. What these return is closed by its owner, or ends with the last subscriber.
  /** The pinned ones first, then by their latest activity. */
  conversations(limit?: number, folder?: Folder): ConversationList;
  /** Null until the copy knows it. */
  conversation(id: ConversationId): Watched<ConversationRow | null>;
  timeline(id: ConversationId, anchor?: TimelineAnchor): TimelineWindow;
  /** They are shown, and read again until what this returns is called: the server tells of nothing that is written there. */
  showRequests(): () => void;
  receipts(id: ConversationId): Watched<ReceiptsView | null>;
  members(id: ConversationId): Watched<MembersView>;
  conversationSettings(id: ConversationId): Watched<ConversationSettings | null>;
  /** Who is typing, without the user. */
  typing(id: ConversationId): Watched<UserId[]>;
  presence(user: UserId): Watched<Presence>;
  /** Messages of others that have just arrived, each once in every tab: to announce and to notify of. */
  onArrival(listener: (message: Message) => void): () => void;
  /** Whether the user is to be called for such a message: it is not read, here or elsewhere, and its conversation not muted. */
  isNews(message: Message): Promise<boolean>;

  // Writing. Resolves when the write is kept on this device.
  send(id: ConversationId, text: string, options?: SendOptions): Promise<MessageId>;
  /** Of a sealed message `sealed` changes, and the text is empty. */
  edit(id: ConversationId, message: MessageId, text: string, sealed?: string): Promise<void>;
  deleteForMe(id: ConversationId, message: MessageId): Promise<void>;
  deleteForEveryone(id: ConversationId, message: MessageId): Promise<void>;
  /** One tapback per user and message; null takes it back. */
  react(id: ConversationId, message: MessageId, kind: string | null): Promise<void>;
  /** In the place of the vote before: positions of options, from 0; none: it is withdrawn. */
  vote(id: ConversationId, message: MessageId, options: number[]): Promise<void>;
  /** By its sender, and who leads the group. */
  closePoll(id: ConversationId, message: MessageId): Promise<void>;
  /** Pins a message for everybody, or takes it down. */
  setPinned(id: ConversationId, message: MessageId, pins: boolean): Promise<void>;
  retry(id: ConversationId, message: MessageId): Promise<void>;
  discard(id: ConversationId, message: MessageId): Promise<void>;
  /** The user has seen everything up to here: call it only while the page is visible and in front. */
  read(id: ConversationId, seq: number): Promise<void>;
  rename(id: ConversationId, title: string): Promise<void>;
  addMember(id: ConversationId, user: UserId): Promise<void>;
  /** From now on only owners and admins bring them back. */
  removeMember(id: ConversationId, user: UserId): Promise<void>;
  /** Of a member. Owners do this, and the next. */
  setRole(id: ConversationId, user: UserId, role: "owner" | "admin" | "member"): Promise<void>;
  permit(id: ConversationId, permission: Permission, permitted: Permitted): Promise<void>;
  /**
   * How long messages stay that are sent from now on; null: until somebody deletes them. Owners and admins of a group do this, and
   * both of a direct conversation.
   */
  setMessageLifetime(id: ConversationId, seconds: number | null, from?: LifetimeStart): Promise<void>;
  /** Whoever may add members may bring the user back. */
  liftBan(id: ConversationId, user: UserId): Promise<void>;
  leave(id: ConversationId): Promise<void>;
  clearHistory(id: ConversationId): Promise<void>;
  /** Takes a conversation that the user has left out of the list. */
  removeFromList(id: ConversationId): Promise<void>;
  /** Null ends it; `forEver` has no end. */
  mute(id: ConversationId, until: Time | null): Promise<void>;
  pin(id: ConversationId, isPinned: boolean): Promise<void>;
  archive(id: ConversationId, isArchived: boolean): Promise<void>;
  /** Until the user reads on in it. */
  markUnread(id: ConversationId): Promise<void>;
  /** The user has opened it. Does nothing where there is no mark. */
  unmarkUnread(id: ConversationId): Promise<void>;
  /** Blocks a user, who does not learn of it, or ends that. */
  block(user: UserId, isBlocked: boolean): Promise<void>;
  /** Becomes a member, since the request was made. So does who sends a message or reacts. */
  accept(id: ConversationId): Promise<void>;
  /** Sees nothing more of it. Nobody is told. */
  decline(id: ConversationId): Promise<void>;
  setSettings(settings: NewSettings): Promise<void>;
  /** Null inherits the user's own setting. */
  setReadReceipts(id: ConversationId, on: boolean | null): Promise<void>;
  createGroup(members: UserId[], title?: string): Promise<ConversationId>;
  /** Needs a connection, as the server derives the id. */
  openDirect(user: UserId): Promise<ConversationId>;
  /**
   * What the user is called; empty: nothing. Needs a connection: a profile is replaced as a whole, so the rest of it is read
   * just before and left as it is.
   */
  setName(name: string): Promise<void>;
  dismiss(key: number): Promise<void>;
  /** Tells the others that the user types, as often as one likes; `false` when the text was sent or emptied. */
  sayTyping(id: ConversationId, active: boolean): void;
  /** Keeps what is being written, as often as one likes. The user's other devices have it when the user pauses. */
  setDraft(id: ConversationId, draft?: Draft): Promise<void>;
  /** They have it at once: the user turns away. */
  putDraft(id: ConversationId): void;

  // Files. These reject where it is neither on this device nor can be had.
  /** A thumbnail or the content; of a message that is not sent yet the content. What was loaded once stays for a while. */
  content(attachment: Attachment, part: StoredPart): Promise<Blob>;
  /** For what plays or is downloaded. */
  address(attachment: Attachment): Promise<SignedAddress>;

  // Asking. These need a connection and reject with a `ClientProblem`, except `search`, which falls back on the copy.
  search(words: string, options?: { conversation?: ConversationId; next?: string }): Promise<SearchResults>;
  revisions(id: ConversationId, message: MessageId): Promise<Revision[]>;
  messageReceipts(id: ConversationId, message: MessageId, after?: UserId): Promise<ReceiptPage>;
  /** Who was removed, for owners and admins: up to 200, by name. */
  bans(id: ConversationId): Promise<BanPage>;
  tapbacks(id: ConversationId, message: MessageId, after?: UserId): Promise<TapbackPage>;
  votes(id: ConversationId, message: MessageId, after?: UserId): Promise<VotePage>;
  /** The first message behind what the user has read that mentions them, by name or with everybody. */
  nextMention(id: ConversationId): Promise<Message | undefined>;
  /** Has the server send a message at a time, in place of what was scheduled under the id. It needs a connection. */
  schedule(id: ConversationId, message: NewScheduledMessage, messageId?: MessageId): Promise<void>;
  /** Has it not sent. */
  cancelScheduled(id: ConversationId, message: MessageId): Promise<void>;
  /** What the user has scheduled in a conversation, with what could not be sent: the earliest first. */
  scheduledMessages(id: ConversationId): Promise<ScheduledMessage[]>;
  /** A page of what is pinned, before `pinned.seq` of the last one of the page before. */
  pinnedMessages(id: ConversationId, before?: number): Promise<PinnedMessages>;
  /** Those that are good: for owners and admins all of the group's, for members their own. */
  invitations(id: ConversationId): Promise<Invitation[]>;
  /** With its code, which is told this once. The same again gives it another one, so what failed can be repeated. */
  invite(id: ConversationId, invitation: NewInvitation): Promise<Invitation>;
  revokeInvitation(id: ConversationId, invitation: string): Promise<void>;
  /** What a code opens to the user: their conversation, where they are a member, or what they may join. */
  lookUpInvitation(code: string): Promise<ConversationId | InvitationPreview>;
  /** Nothing: the user has asked to join, and owners and admins decide. */
  join(code: string): Promise<ConversationId | undefined>;
  /** Who asks to join, for owners and admins, who let them in by `addMember`: up to 200, by name. */
  joinRequests(id: ConversationId): Promise<JoinRequestPage>;
  /** Nobody is told. */
  declineJoinRequest(id: ConversationId, user: UserId): Promise<void>;
  /** Nobody but those who run the service learns of it. The same again is the same report, so what failed can be repeated. */
  report(report: NewReport): Promise<void>;
  /** Where the user has begun sessions, the latest first, as far as their tokens name devices. */
  devices(): Promise<Device[]>;
  /** It needs another token from the application to come back. */
  endDevice(device: string): Promise<void>;
  /** Those without a name as well. Refused where this one has none. */
  endOtherDevices(): Promise<void>;

  /** Connects at once: the page is in front again, or the user asks for it. */
  connect(): void;
  /** Ends the session in every tab and erases what is kept on this device. */
  signOut(): Promise<void>;
  /** Ends what this page does; the copy stays. */
  close(): void;
}

/** Why something that needs the server was not done. */
export class ClientProblem extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail);
  }
}
