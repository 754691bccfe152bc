import type {
  ConversationList,
  ConversationRow,
  Draft,
  FileLimits,
  Folder,
  ListView,
  ParleyClient,
  RefusedWrite,
  SearchResults,
  TimelineAnchor,
  TimelineRow,
  TimelineView,
  TimelineWindow,
  Watched,
} from "./client.ts";
import { isArchived, isMuted } from "./copy/marks.ts";
import { withVote } from "./copy/outbox-rows.ts";
import type {
  BanPage,
  Conversation,
  ConversationSettings,
  Device,
  Invitation,
  InvitationPreview,
  JoinRequestPage,
  Limits,
  Member,
  Message,
  NewInvitation,
  Permission,
  ScheduledMessage,
  Settings,
  UserId,
  VotePage,
} from "./model.ts";
import { Names } from "./names.ts";
import { restricting } from "./permissions.ts";
import { Emitter } from "./watched.ts";
import { newId } from "./uuid.ts";

/** A client without a server, for working on elements: demo conversations in memory, which a made-up Bob answers. */
export class FakeClient implements ParleyClient {
  readonly userId = new Emitter<UserId | null>("alice");
  readonly connection = new Emitter<"online" | "waiting">("online");
  readonly suspendedUntil = undefined;
  readonly unreadTotal = new Emitter(3);
  readonly settings = new Emitter<Settings | null>({ readReceipts: true, presence: true });
  readonly blockedUsers = new Emitter<UserId[]>([]);
  readonly requests = new Emitter<ConversationRow[]>([]);
  readonly names = new Names(() => {});
  readonly limits = new Emitter<Limits | null>({
    textBytes: 16_384,
    titleCharacters: 200,
    mentionsPerMessage: 100,
    membersPerRequest: 1_000,
    editWindowSeconds: 900,
    reportCharacters: 1_000,
    pollOptions: 12,
    pollOptionCharacters: 100,
  });
  readonly fileLimits = new Emitter<FileLimits | null>(null);
  readonly uploads = new Emitter(new Map());
  readonly problems = new Emitter<RefusedWrite[]>([]);
  readonly replaced = new Emitter<{ saved: number } | null>(null);
  readonly isSignedOut = new Emitter(false);
  readonly isOutdated = new Emitter(false);

  private talks = new Map<string, Talk>();
  private drafts = new Map<string, Draft>();
  private changed = new Set<() => void>();
  private arrivals = new Set<(message: Message) => void>();
  private typers = new Map<string, Emitter<UserId[]>>();

  constructor(longest = 2_000) {
    this.add("Climbing on Sunday", ["bob", "carol"], 24);
    this.add(undefined, ["bob"], 8);
    this.add("A long one", ["bob", "dave"], longest);
    this.add("مجموعة العائلة", ["carol", "dave"], 6);
  }

  // Watching.

  conversations(_limit = 50, folder: Folder = "inbox"): ConversationList {
    const list = new Emitter<ListView<ConversationRow>>({ rows: [], isLoaded: false, hasMore: false });
    const update = () => {
      const all = [...this.talks.values()].map((talk) => this.row(talk));
      const rows = all.filter((row) => row.isArchived === (folder === "archive"));
      rows.sort((one, other) => other.conversation.lastActivityAt < one.conversation.lastActivityAt ? -1 : 1);
      list.set({ rows, isLoaded: true, hasMore: false });
    };
    this.watch(update);
    return Object.assign(list, { extend() {}, close: () => this.changed.delete(update) });
  }

  conversation(id: string): Watched<ConversationRow | null> {
    const value = new Emitter<ConversationRow | null>(null);
    this.watch(() => value.set(this.talks.has(id) ? this.row(this.talks.get(id)!) : null));
    return value;
  }

  timeline(id: string, anchor: TimelineAnchor = "newest"): TimelineWindow {
    const view = new Emitter<TimelineView>(emptyView);
    let [first, last] = [0, 0];
    let follows = true;
    const talk = this.talks.get(id);
    const show = (to: TimelineAnchor) => {
      const end = talk?.rows.length ?? 0;
      const place = typeof to === "string"
        ? end
        : talk?.rows.findIndex((row) => "around" in to ? row.id === to.around : row.message.seq >= to.seq) ?? end;
      [first, last] = [Math.max(0, place - 50), Math.min(end, place + 50)];
      follows = last === end;
      update();
    };
    const update = () => {
      if (!talk) return;
      if (follows) last = talk.rows.length;
      const rows = talk.rows.slice(first, last);
      const hasMoreAfter = last < talk.rows.length;
      const firstUnread = talk.rows[talk.unreadFrom]?.id;
      view.set({ rows, isLoaded: true, hasMoreBefore: first > 0, hasMoreAfter, isLoading: false, firstUnread });
    };
    const extend = (before: number, after: number) => {
      first = Math.max(0, first - before);
      last = Math.min(talk?.rows.length ?? 0, last + after);
      update();
    };
    show(anchor);
    this.changed.add(update);
    return Object.assign(view, {
      isAtEnd: true,
      extendBefore: () => setTimeout(() => extend(50, 0), 30),
      extendAfter: () => setTimeout(() => extend(0, 50), 30),
      jump: show,
      close: () => this.changed.delete(update),
    });
  }

  receipts(id: string) {
    const last = this.talks.get(id)?.rows.findLast((row) => row.isOwn);
    const status = last?.message.status ?? "sent";
    const readCount = status === "read" ? 1 : 0;
    return new Emitter({ messageId: last?.id, status, deliveredCount: 1, readCount, recipientCount: 2 });
  }

  members(id: string) {
    const users = ["alice", ...this.talks.get(id)?.others ?? []];
    const members = users.map((userId, index): Member => {
      return { userId, role: index ? "member" : "owner", joinedSeq: 1, deliveredSeq: 0, readSeq: 0 };
    });
    return new Emitter({ members, isComplete: true });
  }

  conversationSettings(): Watched<ConversationSettings | null> {
    return new Emitter({ readReceipts: true, inherited: ["readReceipts"] });
  }

  typing(id: string): Emitter<UserId[]> {
    if (!this.typers.has(id)) this.typers.set(id, new Emitter<UserId[]>([]));
    return this.typers.get(id)!;
  }

  presence(user: UserId) {
    return new Emitter(user === "bob" ? { online: true } : { online: false, lastSeen: new Date(0).toISOString() });
  }

  onArrival(listener: (message: Message) => void) {
    this.arrivals.add(listener);
    return () => void this.arrivals.delete(listener);
  }

  isNews() {
    return Promise.resolve(true);
  }

  // Writing.

  send(id: string, text: string, options: { replyTo?: string; mentions?: UserId[] } = {}) {
    const talk = this.talks.get(id)!;
    const parent = talk.rows.find((row) => row.id === options.replyTo);
    const row = talk.append("alice", text, new Date(), parent);
    const stored = { ...row, message: { ...row.message, status: "delivered" as const } };
    Object.assign(row, { state: "sending" });
    setTimeout(() => talk.replace(row.id, () => text.includes("fail") ? failed(row) : { ...stored }), 400);
    setTimeout(() => this.changes(), 410);
    setTimeout(() => this.typing(id).set(["bob"]), 900);
    setTimeout(() => this.answer(id, talk, text), 2_500);
    return this.done(row.id);
  }

  edit(id: string, message: string, text: string) {
    return this.change(id, message, { text, editedAt: new Date().toISOString() });
  }

  deleteForMe(id: string, message: string) {
    const talk = this.talks.get(id)!;
    talk.rows = talk.rows.filter((row) => row.id !== message);
    return this.done();
  }

  deleteForEveryone(id: string, message: string) {
    return this.change(id, message, { text: null, deletedForEveryone: true, tapbacks: [], tapbackCounts: {} });
  }

  react(id: string, message: string, kind: string | null) {
    const tapbacks = kind ? [{ userId: "alice", kind }] : [];
    return this.change(id, message, { tapbacks, tapbackCounts: kind ? { [kind]: 1 } : {} });
  }

  retry(id: string, message: string) {
    this.talks.get(id)!.replace(message, (row) => ({ ...row, state: "stored", problem: undefined }));
    return this.done();
  }

  discard(id: string, message: string) {
    return this.deleteForMe(id, message);
  }

  read(id: string) {
    Object.assign(this.talks.get(id)!.conversation, { unreadCount: 0, unreadMentions: undefined });
    return this.done();
  }

  rename(id: string, title: string) {
    this.talks.get(id)!.conversation.title = title;
    return this.done();
  }

  setRole() {
    return this.done();
  }

  permit(id: string, permission: Permission, permitted: string) {
    const { conversation } = this.talks.get(id)!;
    conversation.permissions = restricting(conversation.permissions, { [permission]: permitted });
    this.changes();
    return this.done();
  }

  setMessageLifetime(id: string, seconds: number | null, from?: string) {
    const { conversation } = this.talks.get(id)!;
    conversation.messageLifetime = seconds === null ? undefined : { seconds, from, sinceSeq: conversation.lastSeq };
    this.changes();
    return this.done();
  }

  liftBan() {
    return this.done();
  }

  vote(id: string, message: string, options: number[]) {
    const known = this.talks.get(id)!.rows.find((row) => row.id === message)!.message;
    return this.change(id, message, { poll: withVote(known, options, "alice").poll });
  }

  closePoll(id: string, message: string) {
    const known = this.talks.get(id)!.rows.find((row) => row.id === message)!.message;
    return this.change(id, message, { poll: { ...known.poll!, closedAt: new Date().toISOString() } });
  }

  votes() {
    return this.done<VotePage>({ votes: [] });
  }

  setPinned(id: string, message: string, pins: boolean) {
    const pinned = pins ? { seq: Date.now(), userId: "alice", at: new Date().toISOString() } : undefined;
    return this.change(id, message, { pinned });
  }

  nextMention(id: string) {
    const mentioning = ({ mentions, mentionsAll }: Message) => mentionsAll || mentions.includes("alice");
    return this.done(this.talks.get(id)!.rows.map(({ message }) => message).find(mentioning));
  }

  pinnedMessages(id: string) {
    const messages = this.talks.get(id)!.rows.map(({ message }) => message).filter(({ pinned }) => pinned);
    return this.done({ messages: messages.toSorted((one, other) => other.pinned!.seq - one.pinned!.seq), more: false });
  }

  bans() {
    return this.done<BanPage>({ bans: [] });
  }

  invitations() {
    return this.done<Invitation[]>([]);
  }

  schedule() {
    return this.done();
  }

  cancelScheduled() {
    return this.done();
  }

  scheduledMessages() {
    return this.done<ScheduledMessage[]>([]);
  }

  invite(_id: string, invitation: NewInvitation) {
    return this.done<Invitation>({ ...invitation, code: "A".repeat(43), creatorId: "alice", uses: 0 });
  }

  joinRequests() {
    return this.done<JoinRequestPage>({ requests: [] });
  }

  declineJoinRequest() {
    return this.done();
  }

  revokeInvitation() {
    return this.done();
  }

  lookUpInvitation() {
    return this.done<InvitationPreview>({ title: "Chess", memberCount: 3 });
  }

  join() {
    return this.done(this.add("Chess", ["carol", "dave"], 0));
  }

  report() {
    return this.done();
  }

  devices() {
    const now = new Date().toISOString();
    const device = (deviceId: string, current: boolean): Device => ({
      deviceId,
      firstSeen: now,
      lastSeen: now,
      current,
    });
    return this.done([device("desk", true), device("phone", false)]);
  }

  endDevice() {
    return this.done();
  }

  endOtherDevices() {
    return this.done();
  }

  mute(id: string, until: string | null) {
    return this.mark(id, { mutedUntil: until ?? undefined });
  }

  pin(id: string, isPinned: boolean) {
    return this.mark(id, { pinOrder: isPinned ? 0 : undefined });
  }

  archive(id: string, isArchived: boolean) {
    return this.mark(id, { archivedSeq: isArchived ? this.talks.get(id)!.conversation.lastSeq : undefined });
  }

  markUnread(id: string) {
    return this.mark(id, { markedUnread: true });
  }

  unmarkUnread(id: string) {
    return this.mark(id, { markedUnread: undefined });
  }

  private mark(id: string, marks: Partial<Conversation>) {
    Object.assign(this.talks.get(id)!.conversation, marks);
    this.changes();
    return this.done();
  }

  block(user: UserId, isBlocked: boolean) {
    const others = this.blockedUsers.value.filter((other) => other !== user);
    this.blockedUsers.set(isBlocked ? [...others, user].sort() : others);
    return this.done();
  }

  showRequests() {
    return () => {};
  }

  accept() {
    return this.done();
  }

  decline() {
    return this.done();
  }

  createGroup(members: UserId[], title?: string) {
    return this.done(this.add(title, members, 0));
  }

  openDirect(user: UserId) {
    return this.done(this.add(undefined, [user], 0));
  }

  setName(displayName: string) {
    this.names.set([{ userId: "alice", version: 1, displayName }]);
    return this.done();
  }

  setDraft(id: string, draft?: Draft) {
    if (draft) this.drafts.set(id, draft);
    else this.drafts.delete(id);
    return Promise.resolve();
  }

  addMember = () => this.done();
  removeMember = () => this.done();
  leave = () => this.done();
  clearHistory = () => this.done();
  removeFromList = () => this.done();
  setSettings = () => this.done();
  setReadReceipts = () => this.done();
  dismiss = () => this.done();
  sayTyping = () => {};
  putDraft = () => {};

  // Files: there are none.

  content = () => Promise.reject(new Error("a demo has no files"));
  address = () => Promise.reject(new Error("a demo has no files"));

  // Asking.

  search(words: string): Promise<SearchResults> {
    const rows = [...this.talks.values()].flatMap((talk) => talk.rows);
    const found = rows.filter((row) => row.message.text?.includes(words)).slice(-20).reverse();
    return this.done({
      results: found.map(({ message }) => {
        const [before, ...after] = message.text!.split(words);
        return { message, pieces: [before!, words, after.join(words)] };
      }),
      isLocal: false,
    });
  }

  revisions = () => this.done([{ text: "Before", at: new Date(0).toISOString() }, { text: "After", at: "" }]);
  messageReceipts = () => this.done({ delivered: [], read: [], deliveredCount: 0, readCount: 0, recipientCount: 2 });
  tapbacks = () => this.done({ tapbacks: [], counts: {} });
  connect = () => this.connection.set("online");
  close = () => {};
  signOut() {
    this.isSignedOut.set(true);
    return this.done();
  }

  // The demo.

  private add(title: string | undefined, others: UserId[], count: number): string {
    const talk = new Talk(title, others);
    this.talks.set(talk.conversation.id, talk);
    for (let number = 0; number < count; number++) {
      const at = new Date(Date.now() - (count - number) * 1_700_000);
      const sender = ["alice", ...others][Math.trunc(number / 3) % (others.length + 1)]!;
      const parent = number % 11 === 7 ? talk.rows[number - 3] : undefined;
      const row = talk.append(sender, texts[number % texts.length]!, at, parent);
      row.message.status = row.isOwn ? "read" : undefined;
      if (number % 13 === 5) row.message.tapbackCounts = { love: 2, laugh: 1 };
      if (number % 17 === 9) row.message.editedAt = at.toISOString();
      if (number % 19 === 11) Object.assign(row.message, { text: null, deletedForEveryone: true });
    }
    talk.unreadFrom = count > 3 ? count - 3 : count;
    this.changes();
    return talk.conversation.id;
  }

  private answer(id: string, talk: Talk, text: string) {
    this.typing(id).set([]);
    const row = talk.append("bob", `“${text}”? Sounds good.`, new Date());
    this.changes();
    for (const listener of this.arrivals) listener(row.message);
  }

  private row(talk: Talk): ConversationRow {
    const last = talk.rows.at(-1);
    const conversation = {
      ...talk.conversation,
      lastActivityAt: last?.message.createdAt ?? talk.conversation.createdAt,
    };
    const draft = this.drafts.get(conversation.id);
    const marks = { isMuted: isMuted(conversation), isArchived: isArchived(conversation, conversation.lastSeq) };
    const { id } = conversation;
    const isBlocked = conversation.kind === "direct" && this.blockedUsers.value.includes(talk.others[0]!);
    const about = { id, conversation, others: talk.others, preview: last?.message, draft };
    return { ...about, isMember: !isBlocked, isBlocked, ...marks };
  }

  private change(id: string, message: string, fields: Partial<Message>) {
    this.talks.get(id)!.replace(message, (row) => ({ ...row, message: { ...row.message, ...fields } }));
    return this.done();
  }

  private watch(update: () => void) {
    this.changed.add(update);
    update();
  }

  private changes() {
    for (const update of this.changed) update();
  }

  private done(): Promise<void>;
  private done<Value>(value: Value): Promise<Value>;
  private done(value?: unknown): Promise<unknown> {
    this.changes();
    return Promise.resolve(value);
  }
}

class Talk {
  rows: TimelineRow[] = [];
  unreadFrom = 0;
  conversation: Conversation;

  constructor(title: string | undefined, readonly others: UserId[]) {
    const now = new Date().toISOString();
    this.conversation = {
      id: newId(),
      kind: title === undefined ? "direct" : "group",
      title,
      createdAt: now,
      lastSeq: 0,
      lastActivityAt: now,
      memberCount: others.length + 1,
      role: "owner",
      windows: [{ from: 1 }],
      clearedSeq: 0,
      unreadCount: 1,
      readSeq: 0,
      deliveredSeq: 0,
    };
  }

  append(senderId: UserId, text: string, at: Date, parent?: TimelineRow): TimelineRow {
    const seq = ++this.conversation.lastSeq;
    const time = at.toISOString();
    const kind = parent ? "reply" : "text";
    const message: Message = {
      ...{ id: newId(), conversationId: this.conversation.id, seq, changeSeq: seq, senderId, kind, text },
      ...{ sentAt: time, createdAt: time, tapbacks: [], tapbackCounts: {}, mentions: [] },
    };
    const row: TimelineRow = { id: message.id, message, state: "stored", isOwn: senderId === "alice" };
    if (parent) {
      row.parent = { id: parent.id, senderId: parent.message.senderId, preview: parent.message.text?.slice(0, 50) };
    }
    this.rows = [...this.rows, row];
    return row;
  }

  replace(id: string, change: (row: TimelineRow) => TimelineRow) {
    this.rows = this.rows.map((row) => row.id === id ? change(row) : row);
  }
}

const emptyView = { rows: [], isLoaded: false, hasMoreBefore: false, hasMoreAfter: false, isLoading: false };

function failed(row: TimelineRow): TimelineRow {
  const problem = { status: 403, title: "Forbidden", code: "forbidden", detail: "You are not in this conversation." };
  return { ...row, state: "failed", problem };
}

const texts = [
  "Sunday, nine?",
  "Yes!",
  "I will bring the long rope and two helmets, so that everybody can try the overhang this time.",
  "👍",
  "See https://example.org/route for how we get there.",
  "هل نلتقي عند المحطة؟",
  "Ten is better for me.\nThe first train is at half past eight.",
  "Who brings coffee?",
];
