// The contract's types, as JSON has them. Kinds are plain strings where a later version of the server may add some; what
// is unknown is passed over. Times stay texts: in the contract's form their order is the order of time.

export type UserId = string;
export const userIdPattern = /^[A-Za-z0-9._@:+-]{1,64}$/;
export type ConversationId = string;
export type MessageId = string;
export type Time = string;

/** A message that is sent on; with `origin` it shows who wrote it. */
export interface Forward {
  conversationId: ConversationId;
  messageId: MessageId;
  origin: boolean;
}

export interface Forwarded {
  userId: UserId;
  /** By that sender's clock. */
  sentAt: Time;
}

export interface Message {
  id: MessageId;
  conversationId: ConversationId;
  /** Where it was created, from 1; 0 while only this device has it. */
  seq: number;
  /** The last change that touched it: of two states the one with the higher is newer. */
  changeSeq: number;
  senderId: UserId;
  kind: "text" | "reply" | "sealed" | "poll" | "system" | string;
  text: string | null;
  /** Of a sealed message: what its sender has encrypted, in base64. */
  sealed?: string;
  /** Of a poll, of which the text is the question. */
  poll?: Poll;
  sentAt: Time;
  createdAt: Time;
  editedAt?: Time;
  deletedForEveryone?: true;
  /** Its time was over. It is not shown, not even as deleted. */
  expired?: true;
  deletedAt?: Time;
  event?: SystemEvent;
  replyTo?: Reference;
  tapbacks: Tapback[];
  tapbackCounts: Record<string, number>;
  mentions: UserId[];
  /** It mentions everybody. */
  mentionsAll?: true;
  /** In the sender's order; then `text` may be null. */
  attachments?: Attachment[];
  /** The application's own. */
  extra?: Record<string, unknown>;
  /** Who wrote a forwarded message, where its sender shows that. */
  forwarded?: Forwarded;
  /** By whom it is pinned for everybody, since when, and where that stands among the changes. */
  pinned?: { seq: number; userId: UserId; at: Time };
  status?: DeliveryStatus;
  dateDelivered?: Time;
  dateRead?: Time;
  deliveredCount?: number;
  readCount?: number;
  recipientCount?: number;
}

export interface Poll {
  options: { text: string; votes: number }[];
  /** One may choose several. */
  multiple: boolean;
  /** How many have chosen any. */
  voters: number;
  closedAt?: Time;
  /** The user's own: positions of options, from 0. In a change somebody else's. */
  vote?: { userId: UserId; options: number[] };
}

export interface NewPoll {
  options: string[];
  multiple?: boolean;
}

export interface VotePage {
  votes: { userId: UserId; options: number[]; at: Time }[];
  nextCursor?: UserId;
}

/** What a message says of a file that it carries. */
export interface Attachment {
  id: string;
  /** As its sender called it: neither a path nor a type. */
  name: string;
  /** Judged by its content. */
  type: string;
  size: number;
  width?: number;
  height?: number;
  /** In seconds. */
  duration?: number;
  thumbhash?: string;
  waveform?: number[];
  /** Of a message that is not sent yet: what the file is kept under on this device. */
  local?: string;
}

/** What `media` says of a file. */
export interface MediaFacts extends Attachment {
  state: "uploading" | "processing" | "ready" | "refused" | string;
  reason?: string;
}

/** Where a file can be read without a token, for a few minutes. */
export interface SignedAddress {
  url: string;
  expiresAt: Time;
}

export type DeliveryStatus = "sent" | "delivered" | "read";

export interface SystemEvent {
  kind: string;
  userId?: UserId;
  title?: string;
}

/** The parent of a reply: bare in changes, with sender and preview in responses. */
export interface Reference {
  messageId: MessageId;
  seq?: number;
  senderId?: UserId;
  preview?: string;
  unavailable?: true;
}

export interface Tapback {
  userId: UserId;
  kind: string;
}

export const tapbackKinds = ["love", "like", "dislike", "laugh", "emphasize", "question"];

export interface Conversation {
  id: ConversationId;
  kind: "direct" | "group" | string;
  title?: string;
  createdAt: Time;
  lastSeq: number;
  lastActivityAt: Time;
  lastMessage?: Message;
  memberCount: number;
  role: "owner" | "admin" | "member" | string;
  windows: Window[];
  clearedSeq: number;
  unreadCount: number;
  /** Those of them that mention the user, up to 100. Absent: none. */
  unreadMentions?: number;
  readSeq: number;
  deliveredSeq: number;
  /** The end of the user's mute, which may have passed. */
  mutedUntil?: Time;
  /** The place among the pinned, the lowest first. */
  pinOrder?: number;
  /** Archived with all that had come up to here. */
  archivedSeq?: number;
  archived?: boolean;
  markedUnread?: boolean;
  draft?: KeptDraft;
  /** The user is asked about it, reads it, and is no member. */
  request?: true;
  /** Absent where everything is as by default, and for former members. */
  permissions?: Permissions;
  /** How long new messages stay. Absent: until somebody deletes them, and for former members. */
  messageLifetime?: MessageLifetime;
  /** Messages before this position were removed, for everybody. */
  keptFrom?: number;
}

/** Who may do something in a group: the name of the lowest role that may. */
export type Permitted = "members" | "admins" | "owners" | string;
export type Permission = "write" | "addMembers" | "rename" | "mentionAll";
/** Everybody is mentioned by admins and owners where it does not say by whom. */
export type Permissions = Record<Exclude<Permission, "mentionAll">, Permitted> & { mentionAll?: Permitted };

export type LifetimeStart = "sending" | "reading" | string;

/** How long messages stay that were sent behind a position. */
export interface MessageLifetime {
  seconds: number;
  /** From when on they count: from when everybody else has read a message, which only the server knows. Absent: `sending`. */
  from?: LifetimeStart;
  sinceSeq: number;
}

/** An unknown start is one that only the server knows, too. */
export const isFromReading = (from: LifetimeStart = "sending") => from !== "sending";

/** A user who was removed from a group, and whom only owners and admins bring back. */
export interface Ban {
  userId: UserId;
  at: Time;
  actorId: UserId;
}

/** A link into a group, by whose code others join. */
export interface Invitation {
  id: string;
  /** In the response to its creation alone. */
  code?: string;
  creatorId: UserId;
  expiresAt?: Time;
  maxUses?: number;
  uses: number;
  /** Who comes by it asks, and owners and admins decide. */
  approval?: true;
}

/** Without `expiresAt` for ever, without `maxUses` for any number. */
export type NewInvitation = Pick<Invitation, "id" | "expiresAt" | "maxUses" | "approval">;

/** What a code tells of its group. */
export interface InvitationPreview {
  title?: string;
  memberCount: number;
  approval?: true;
}

/** Somebody who asks to join a group. */
export interface JoinRequest {
  userId: UserId;
  requestedAt: Time;
  /** Who made the link; absent when it is gone. */
  inviterId?: UserId;
}

export type ReportReason = "spam" | "harassment" | "violence" | "sexual" | "selfHarm" | "illegal" | "other";

/** What a user tells those who run the service: of a message, as the user sees it, or of a person. */
export interface NewReport {
  id: string;
  conversationId: ConversationId;
  messageId?: MessageId;
  userId?: UserId;
  reason: ReportReason;
  text?: string;
}

/** By the name that its tokens give it. */
export interface Device {
  deviceId: string;
  firstSeen: Time;
  /** When it last began a session. */
  lastSeen: Time;
  /** The one that asks. */
  current: boolean;
}

/** A conversation that somebody whom the user does not know brought them into. */
export interface MessageRequest {
  at: Time;
  /** Absent where a block that ended left it to the user. */
  userId?: UserId;
  conversation: Conversation;
}

/** What the user has written and not sent, and when the server got it. */
export interface KeptDraft {
  text: string;
  replyTo?: MessageId;
  at: Time;
}

/** A mute until then has no end. */
export const forEver: Time = "9999-12-31T23:59:59.999Z";

/** One stay of the user, both ends included; without `to` while they are a member. */
export interface Window {
  from: number;
  to?: number;
}

export interface Member {
  userId: UserId;
  role: string;
  joinedSeq: number;
  deliveredSeq: number;
  readSeq: number;
}

export interface Change {
  conversationId: ConversationId;
  seq: number;
  kind: string;
  at: Time;
  actorId: UserId;
  message?: Message;
  conversation?: Pick<Conversation, "id" | "kind" | "title" | "createdAt" | "memberCount">;
  userId?: UserId;
  role?: string;
  title?: string;
  permissions?: Permissions;
  messageLifetime?: MessageLifetime;
  keptFrom?: number;
}

export interface PrivateChange {
  useq: number;
  kind: string;
  at: Time;
  conversationId?: ConversationId;
  messageId?: MessageId;
  throughSeq?: number;
  readSeq?: number;
  lastSeq?: number;
  readReceipts?: boolean;
  presence?: boolean;
  inherited?: string[];
  mutedUntil?: Time;
  pinOrder?: number;
  archivedSeq?: number;
  markedUnread?: boolean;
  userId?: UserId;
  blocked?: boolean;
  profileVersion?: number;
  draft?: KeptDraft;
  waiting?: boolean;
}

/** What a user has scheduled. Nobody else sees it. */
export interface ScheduledMessage {
  conversationId: ConversationId;
  /** Of the message that it becomes. */
  id: MessageId;
  useq: number;
  at: Time;
  text: string;
  replyTo?: MessageId;
  mentions: UserId[];
  mentionsAll?: boolean;
  extra?: Record<string, unknown>;
  /** Why it was not sent at its time. */
  failure?: { code: string; at: Time };
}

export interface NewScheduledMessage {
  /** Null: now. */
  at: Time | null;
  text: string;
  replyTo?: MessageId;
  mentions?: UserId[];
  mentionsAll?: boolean;
  extra?: Record<string, unknown>;
}

/** What a user is called, as far as the caller may read it. Its picture is not shown: whose host it is learns who looks. */
export interface Profile {
  userId: UserId;
  /** 0: there is none. */
  version: number;
  displayName?: string;
  avatarUrl?: string;
}

export interface Settings {
  readReceipts: boolean;
  presence: boolean;
}

/** `null` resets to the default. */
export interface NewSettings {
  readReceipts?: boolean | null;
  presence?: boolean | null;
}

export interface ConversationSettings {
  readReceipts: boolean;
  inherited: string[];
}

/** `null` inherits the user's own setting. */
export interface NewConversationSettings {
  readReceipts?: boolean | null;
}

/** What mentions the user. A page may be empty and have a next one. */
export interface MentionPage {
  messages: Message[];
  /** The next page begins after it. */
  through?: number;
}

export interface Revision {
  /** Absent of a sealed message. */
  text?: string;
  sealed?: string;
  at: Time;
}

export interface Problem {
  status: number;
  title: string;
  detail: string;
  code: string;
  /** With the code `suspended`. */
  mode?: "readOnly" | "out";
  until?: Time;
}

/** What of `GET /v1/limits` a client needs. */
export interface Limits {
  textBytes: number;
  titleCharacters: number;
  mentionsPerMessage: number;
  messageExtraBytes?: number;
  membersPerRequest: number;
  editWindowSeconds: number;
  /** Where the WebSocket is, if not at the page's own origin. */
  socketUrl?: string;
  attachmentsPerMessage?: number;
  replyToAttachments?: boolean;
  /** Absent from a server without profiles. */
  profileWriters?: "users" | "backend" | "both" | string;
  /** Of one file, and of its name. */
  mediaBytes?: number;
  mediaNameBytes?: number;
  reportCharacters: number;
  pollOptions: number;
  pollOptionCharacters: number;
}

// Pages.

export interface ConversationPage {
  conversations: Conversation[];
  nextCursor?: string;
}

export interface History {
  messages: Message[];
  hasMoreBefore: boolean;
  hasMoreAfter: boolean;
  lastSeq: number;
}

export interface ChangePage {
  changes: Change[];
  lastSeq: number;
  more: boolean;
}

export interface MemberPage {
  members: Member[];
  nextCursor?: UserId;
}

export interface PinnedMessages {
  /** Latest pin first. */
  messages: Message[];
  /** Whether there are messages that were pinned before these. */
  more: boolean;
}

export interface BanPage {
  bans: Ban[];
  nextCursor?: UserId;
}

export interface JoinRequestPage {
  requests: JoinRequest[];
  nextCursor?: UserId;
}

export interface SyncPage {
  conversations: Conversation[];
  private: PrivateChange[];
  reload?: true;
  cursor: string;
  more: boolean;
}

export interface PageDigest {
  fromSeq: number;
  toSeq: number;
  changes: string;
  state: string;
}

export interface DigestPage {
  lastSeq: number;
  useq: number;
  pages: PageDigest[];
  more: boolean;
}

export interface SearchPage {
  results: { message: Message; snippet: string }[];
  nextCursor?: string;
}

export interface ReceiptPage {
  delivered: { userId: UserId; at: Time }[];
  read: { userId: UserId; at: Time }[];
  deliveredCount: number;
  readCount: number;
  recipientCount: number;
  nextCursor?: UserId;
}

export interface TapbackPage {
  tapbacks: { userId: UserId; kind: string; at: Time }[];
  counts: Record<string, number>;
  nextCursor?: UserId;
}

export interface BatchResults {
  results: { status: number; message?: Message; problem?: Problem }[];
}

// Frames of the WebSocket.

export interface Welcome {
  type: "welcome";
  userId: UserId;
  serverTime: Time;
  logId: string;
  useq: number;
  conversations: Conversation[];
  more: boolean;
  /** Whom the user has blocked. Absent from a server without blocks. */
  blocked?: UserId[];
}

export interface Status {
  type: "status";
  conversationId: ConversationId;
  statusVersion: number;
  delivered?: Record<UserId, number>;
  read?: Record<UserId, number>;
  counts?: { seq: number; deliveredCount: number; readCount: number }[];
  at: Time;
}

export interface Position {
  conversationId: ConversationId;
  seq: number;
}

export type FrameFromServer =
  | Welcome
  | { type: "change"; change: Change }
  | ({ type: "private" } & PrivateChange)
  | Status
  | { type: "typing"; conversationId: ConversationId; userId: UserId; active: boolean }
  | { type: "presence"; userId: UserId; online: boolean; lastSeen?: Time }
  | { type: "profile"; userId: UserId; version: number }
  | { type: "reload"; conversationId?: ConversationId; lastSeq?: number; useq?: number }
  | { type: "reset"; conversationId?: ConversationId }
  | { type: "tokenExpiring"; at: Time }
  | { type: "bye"; code: string; reason: string; retryAfter?: number; until?: Time }
  | { type: "pong"; id?: string };

export type FrameFromClient =
  | {
    type: "hello";
    token: string;
    cursors: Record<ConversationId, number>;
    useq?: number;
    statusVersions: Record<ConversationId, number>;
    logId?: string;
  }
  | { type: "delivered"; items: Position[] }
  | { type: "typing"; conversationId: ConversationId; active: boolean }
  | { type: "auth"; token: string }
  | { type: "ping"; id: string };
