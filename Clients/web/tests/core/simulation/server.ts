import { mentions } from "../../../core/copy/messages.ts";
import type {
  Change,
  Conversation,
  FrameFromServer,
  KeptDraft,
  Member,
  Message,
  MessageLifetime,
  MessageRequest,
  Permission,
  Permissions,
  PrivateChange,
  Profile,
  Settings,
  Window,
} from "../../../core/model.ts";
import { digestOf } from "../../../core/copy/digest.ts";

// A server in memory that keeps the contract: what it knows, and what each user sees of it. Its limits are small, so that
// pages and reloads are met often.

export const conversationsInWelcome = 2;
export const conversationsPerPage = 2;
export const messagesPerPage = 6;
export const changesPerPage = 5;
export const replayedChanges = 8;
export const keptPrivateChanges = 3;
export const draftsPerUser = 2;

export interface Entry {
  kind: string;
  at: string;
  actorId: string;
  message?: string;
  userId?: string;
  role?: string;
  title?: string;
  permissions?: Permissions;
  messageLifetime?: MessageLifetime;
}

export interface Room {
  kind: string;
  createdAt: string;
  /** Position 1 is at index 0. */
  log: Entry[];
  /** Every state of every message, oldest first, in the form that is the same for every reader. */
  messages: Record<string, Message[]>;
  stays: Record<string, Window[]>;
  roles: Record<string, string>;
  permissions: Permissions;
  lifetime?: MessageLifetime;
  deliveredSeq: Record<string, number>;
  readSeq: Record<string, number>;
  statusVersion: number;
  /** Who is asked, or was, and did not accept. To the others they are members. */
  asked: Record<string, Asked>;
}

export interface Asked {
  by: string;
  at: string;
  /** `takenBack`: by whoever took them out, or by a block of theirs: they see nothing. */
  state: "waiting" | "declined" | "takenBack";
  /** The last position that who declined has seen. */
  last?: number;
}

/** What a user keeps to themselves about a conversation. */
export interface KeptMarks {
  mutedUntil?: string;
  pinOrder?: number;
  archivedSeq?: number;
  /** How far the user had read. */
  unreadSeq?: number;
}

export interface User {
  changes: PrivateChange[];
  marks: Record<string, KeptMarks>;
  drafts: Record<string, KeptDraft>;
  hidden: Record<string, string[]>;
  clearedSeq: Record<string, number>;
  removed: string[];
  settings: Settings;
  /** The keys of writes that were carried out. */
  outcomes: string[];
  blocked: string[];
  profile: Omit<Profile, "userId">;
}

/** All that a server keeps, as JSON: a copy of it is a backup. */
export interface State {
  logId: string;
  clock: number;
  rooms: Record<string, Room>;
  users: Record<string, User>;
}

export class ServerState {
  announcements: { user: string; frame: FrameFromServer }[] = [];
  /** Whether a user is asked about what those bring them into with whom they have no direct conversation. */
  asksAboutStrangers = false;

  constructor(public state: State) {}

  get now(): string {
    return new Date(this.state.clock).toISOString();
  }

  room(id: string): Room {
    return this.state.rooms[id]!;
  }

  user(user: string): User {
    return this.state.users[user] ??= {
      ...{ changes: [], marks: {}, drafts: {}, hidden: {}, clearedSeq: {}, removed: [], outcomes: [], blocked: [] },
      settings: { readReceipts: true, presence: true },
      profile: { version: 0 },
    };
  }

  // What a user sees.

  windows(user: string, id: string): Window[] | undefined {
    const windows = this.state.rooms[id]?.stays[user];
    const { state, last } = this.state.rooms[id]?.asked[user] ?? {};
    if (state === "takenBack") return undefined;
    return state === "declined" ? [...windows!.slice(0, -1), { ...windows!.at(-1)!, to: last }] : windows;
  }

  isMember(user: string, id: string): boolean {
    return !this.isAsked(user, id) && this.isPresent(this.windows(user, id));
  }

  isPresent(windows?: Window[]): boolean {
    const last = windows?.at(-1);
    return last !== undefined && last.to === undefined;
  }

  /** Whether a request waits. */
  isAsked(user: string, id: string): boolean {
    return this.state.rooms[id]?.asked[user]?.state === "waiting";
  }

  /** The requests that wait, the latest first. */
  requests(user: string): MessageRequest[] {
    const ids = Object.keys(this.state.rooms).filter((id) => this.isAsked(user, id));
    const requests = ids.map((id) => {
      const { at, by: userId } = this.room(id).asked[user]!;
      return { at, userId, conversation: this.conversation(id, user) };
    });
    return requests.sort((one, other) => one.at > other.at ? -1 : 1);
  }

  /** In a direct conversation also who has blocked the other, as that one sees it. */
  members(id: string): string[] {
    if (this.room(id).kind === "direct") return Object.keys(this.room(id).stays).sort();
    const { stays } = this.room(id);
    return Object.keys(stays).filter((user) => this.isPresent(stays[user])).sort();
  }

  /** The last position that the user may see. */
  lastSeq(user: string, id: string): number {
    const last = this.windows(user, id)?.at(-1);
    return last ? last.to ?? this.room(id).log.length : 0;
  }

  sees(user: string, seq: number, id: string): boolean {
    return this.windows(user, id)?.some(({ from, to }) => seq >= from && seq <= (to ?? Infinity)) ?? false;
  }

  activity(user: string, id: string): string {
    return this.room(id).log[this.lastSeq(user, id) - 1]!.at;
  }

  /** The conversations of a user's list, latest activity first. */
  list(user: string): string[] {
    const seen = Object.keys(this.state.rooms).filter((id) => this.windows(user, id) && !this.room(id).asked[user]);
    const listed = seen.filter((id) => !this.user(user).removed.includes(id));
    const place = (id: string) => `${this.activity(user, id)}/${id}`;
    return listed.sort((one, other) => place(one) > place(other) ? -1 : 1);
  }

  conversation(id: string, user: string): Conversation {
    const room = this.room(id);
    const lastSeq = this.lastSeq(user, id);
    const clearedSeq = this.user(user).clearedSeq[id] ?? 0;
    const readSeq = this.readSeq(user, id);
    const messages = this.messages(id, user);
    const unread = messages.filter(({ senderId, kind, deletedForEveryone, seq }) =>
      senderId !== user && kind !== "system" && !deletedForEveryone && seq > Math.max(readSeq, clearedSeq)
    );
    const mentioning = unread.filter((message) => mentions(message, user)).length;
    const named = room.log.slice(0, lastSeq).findLast(({ kind }) =>
      ["conversation.renamed", "conversation.created"].includes(kind)
    );
    const isPresent = (windows: Window[]) =>
      windows.some(({ from, to }) => lastSeq >= from && lastSeq < (to ?? Infinity));
    const { mutedUntil, pinOrder, archivedSeq, unreadSeq } = this.marks(user, id);
    const markedUnread = unreadSeq !== undefined && unreadSeq >= readSeq || undefined;
    return {
      ...{ id, kind: room.kind, title: named?.title, createdAt: room.createdAt, lastSeq },
      ...{ mutedUntil, pinOrder, archivedSeq, markedUnread, draft: this.user(user).drafts[id] },
      lastActivityAt: this.activity(user, id),
      lastMessage: messages.at(-1),
      memberCount: room.kind === "direct" ? 2 : Object.values(room.stays).filter(isPresent).length,
      role: room.roles[user] ?? "member",
      windows: this.windows(user, id)!,
      request: this.isAsked(user, id) || undefined,
      permissions: this.isMember(user, id) && isRestricting(room.permissions) ? room.permissions : undefined,
      messageLifetime: this.isMember(user, id) ? room.lifetime : undefined,
      ...{ clearedSeq, readSeq, unreadCount: Math.min(100, unread.length) },
      ...{ unreadMentions: Math.min(100, mentioning) || undefined, deliveredSeq: room.deliveredSeq[user] ?? 0 },
    };
  }

  isPermitted(user: string, id: string, permission: Permission): boolean {
    const { permissions, roles } = this.room(id);
    const among = { members: ["member", "admin", "owner"], admins: ["admin", "owner"], owners: ["owner"] };
    return among[(permissions[permission] ?? "admins") as "members"].includes(roles[user]!);
  }

  readSeq(user: string, id: string): number {
    const { readSeq, log } = this.room(id);
    return Math.min(readSeq[user] ?? 0, log.length);
  }

  marks(user: string, id: string): KeptMarks {
    return this.user(user).marks[id] ?? {};
  }

  /** With the marks of now, also where it is told again. */
  withMarks(change: PrivateChange, user: string): PrivateChange {
    const { kind, conversationId: id } = change;
    if (id === undefined || !this.state.rooms[id]) return change;
    if (kind === "draft") {
      // Told again, it comes with the change that told of it as it is now.
      const last = this.user(user).changes.findLast((each) => each.kind === kind && each.conversationId === id);
      return last?.useq === change.useq ? { ...change, draft: this.user(user).drafts[id] } : change;
    }
    const { mutedUntil, pinOrder, archivedSeq, unreadSeq } = this.marks(user, id);
    if (kind === "muted") return { ...change, mutedUntil, archivedSeq };
    if (kind === "pinned") return { ...change, pinOrder };
    if (kind === "archived") return { ...change, archivedSeq };
    if (kind !== "markedUnread") return change;
    const readSeq = this.readSeq(user, id);
    return { ...change, readSeq, markedUnread: unreadSeq !== undefined && unreadSeq >= readSeq };
  }

  /** The messages that a user sees, ascending, as HTTP gives them. */
  messages(id: string, user: string): Message[] {
    const { hidden, clearedSeq } = this.user(user);
    const states = Object.keys(this.room(id).messages).flatMap((message) => this.shared(id, message, user) ?? []);
    const seen = states.filter(({ id: message, seq }) => seq > (clearedSeq[id] ?? 0) && !hidden[id]?.includes(message));
    return seen.sort((one, other) => one.seq - other.seq).map((message) => this.withReceipts(message, user));
  }

  private withReceipts(message: Message, user: string): Message {
    if (message.senderId !== user || message.kind === "system") return message;
    const stays = Object.entries(this.room(message.conversationId).stays);
    const recipients = stays.filter(([other]) =>
      other !== user && this.sees(other, message.seq, message.conversationId)
    );
    return { ...message, status: "sent", deliveredCount: 0, readCount: 0, recipientCount: recipients.length };
  }

  /** A message in the form that is the same for every reader, as of when this one left. */
  shared(id: string, message: string, user: string): Message | undefined {
    const states = this.room(id).messages[message];
    if (!states || !this.sees(user, states[0]!.seq, id)) return undefined;
    const latest = states.at(-1)!;
    // A deletion for everyone reaches also who has left.
    return latest.deletedForEveryone ? latest : states.findLast(({ changeSeq }) => changeSeq <= this.lastSeq(user, id));
  }

  /** Where a message was created, if the server has it. */
  seqOf(message: string, id: string): number | undefined {
    return this.state.rooms[id]?.messages[message]?.[0]?.seq;
  }

  change(seq: number, id: string, user: string, isLive: boolean): Change {
    const room = this.room(id);
    const { kind, at, actorId, message, userId, role, title, permissions, messageLifetime } = room.log[seq - 1]!;
    const change: Change = { conversationId: id, seq, kind, at, actorId, userId, role, permissions, messageLifetime };
    if (kind === "conversation.renamed") change.title = title;
    if (kind === "conversation.created") {
      const memberCount = Object.values(room.stays).filter(([first]) => first!.from === 1).length;
      change.conversation = { id, kind: room.kind, title, createdAt: room.createdAt, memberCount };
    }
    const states = message === undefined ? undefined : room.messages[message];
    if (states && this.sees(user, states[0]!.seq, id)) {
      const live = isLive ? states.find(({ changeSeq }) => changeSeq === seq) : undefined;
      change.message = live ?? this.shared(id, message!, user);
    }
    return change;
  }

  async digest(id: string, user: string): Promise<string> {
    return await digestOf(this.messages(id, user));
  }

  /** Version 0 where it is not to be read. */
  profile(of: string, reader: string): Profile {
    const ids = Object.keys(this.state.rooms);
    const mayRead = of === reader || ids.some((id) => this.haveMet(of, reader, id));
    return { userId: of, ...mayRead ? this.user(of).profile : { version: 0 } };
  }

  /** Whether they were in a conversation at the same time. Who blocks is in the direct one for the other. */
  private haveMet(one: string, other: string, id: string): boolean {
    const { kind, stays } = this.room(id);
    if (kind === "direct") return !!stays[one] && !!stays[other];
    return !!stays[one]?.some(({ from, to = Infinity }) =>
      stays[other]?.some((stay) => from <= (stay.to ?? Infinity) && stay.from <= to)
    );
  }

  memberships(id: string): Member[] {
    const { roles, stays, deliveredSeq, readSeq } = this.room(id);
    return this.members(id).map((userId) => ({
      ...{ userId, role: roles[userId]!, joinedSeq: stays[userId]!.at(-1)!.from },
      ...{ deliveredSeq: deliveredSeq[userId] ?? 0, readSeq: readSeq[userId] ?? 0 },
    }));
  }
}

function isRestricting(permissions: Permissions): boolean {
  return Object.values(permissions).some((permitted) => permitted !== "members");
}
