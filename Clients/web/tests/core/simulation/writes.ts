import type { Message, Permissions, PrivateChange, Problem } from "../../../core/model.ts";
import { draftsPerUser, type Entry, type KeptMarks, ServerState } from "./server.ts";

// What users write, as `ingest` and `store` would carry it out.

export class Refusal extends Error {
  readonly problem: Problem;

  constructor(status: number, code: string, detail = "for a test") {
    super(detail);
    this.problem = { status, code, title: code, detail };
  }
}

interface NewMessage {
  id: string;
  text: string;
  replyTo?: string;
  mentions?: string[];
  mentionsAll?: true;
  sentAt: string;
}

export class WritableServer extends ServerState {
  /** Every text that was ever in a draft on the server, by user. */
  readonly everDrafted = new Set<string>();

  createGroup(id: string, by: string, members: string[], title?: string, kind = "group"): void {
    this.state.clock += 1;
    const users = [by, ...members];
    this.state.rooms[id] = {
      kind,
      createdAt: this.now,
      log: [{ kind: "conversation.created", at: this.now, actorId: by, title }],
      messages: {},
      stays: Object.fromEntries(users.map((user) => [user, [{ from: 1 }]])),
      roles: Object.fromEntries(users.map((user) => [user, user === by ? "owner" : "member"])),
      permissions: { write: "members", addMembers: "members", rename: "members" },
      ...{ deliveredSeq: {}, readSeq: {}, statusVersion: 0, asked: {} },
    };
    for (const user of this.members(id)) {
      if (!this.ask(user, id, by)) this.tell(user, "conversation.joined", id, { lastSeq: 0 });
    }
    this.announce(1, id);
  }

  createDirect(one: string, other: string): string {
    const id = this.directId(one, other);
    this.createGroup(id, one, [other], undefined, "direct");
    return id;
  }

  private directId(one: string, other: string): string {
    const pair = [...[one, other].sort().join("/")].map((letter) => letter.charCodeAt(0).toString(16)).join("");
    return `00000000-0000-8000-8000-${pair.slice(0, 12)}`;
  }

  // Requests.

  /** Returns false for whom the user knows. */
  private ask(user: string, id: string, by: string): boolean {
    const isKnown = this.state.rooms[this.directId(user, by)] !== undefined;
    if (!this.asksAboutStrangers || user === by || isKnown) return false;
    this.room(id).asked[user] = { by, at: this.now, state: "waiting" };
    this.tell(user, "request", id, { waiting: true });
    return true;
  }

  decide(id: string, user: string, accepts: boolean): void {
    if (accepts && this.isMember(user, id)) return;
    const asked = this.room(id).asked[user];
    if (!asked) throw new Refusal(this.isMember(user, id) ? 409 : 403, "conflict");
    if (accepts) {
      asked.state = "waiting";
      this.accept(id, user);
    } else if (asked.state === "waiting") {
      Object.assign(asked, { state: "declined", last: this.lastSeq(user, id) });
      this.tell(user, "request", id, { waiting: false });
    }
  }

  /** Whoever answers accepts. */
  accept(id: string, user: string): void {
    if (!this.isAsked(user, id)) return;
    delete this.room(id).asked[user];
    this.tell(user, "conversation.joined", id, { lastSeq: this.lastSeq(user, id) });
  }

  // Blocks.

  block(user: string, other: string, isBlocked: boolean): void {
    const account = this.user(user);
    if (account.blocked.includes(other) === isBlocked) return;
    this.state.clock += 1;
    account.blocked = account.blocked.filter((each) => each !== other);
    if (isBlocked) account.blocked = [...account.blocked, other].sort();
    const id = this.directId(user, other);
    if (this.windows(user, id)) this.setStay(id, user, !isBlocked);
    if (isBlocked) delete account.drafts[id];
    this.tell(user, "blocked", id, { userId: other, blocked: isBlocked });
  }

  /** No change tells of it. A stay in which nothing has come is taken back. */
  private setStay(id: string, user: string, isOpen: boolean): void {
    const { log, stays } = this.room(id);
    const before = stays[user]!;
    const [last, others] = [before.at(-1)!, before.slice(0, -1)];
    if (isOpen) {
      stays[user] = [...before, { from: log.length + 1 }];
      this.user(user).removed = this.user(user).removed.filter((each) => each !== id);
    } else stays[user] = last.from > log.length ? others : [...others, { ...last, to: log.length }];
  }

  send(id: string, by: string, { id: message, text, replyTo, mentions, mentionsAll, sentAt }: NewMessage): Message {
    const known = this.room(id).messages[message];
    if (known) {
      const isSame = known[0]!.senderId === by && (known[0]!.text === text || known.length > 1);
      if (!isSame) throw new Refusal(409, "conflict");
      return known.at(-1)!;
    }
    this.accept(id, by);
    if (!this.isMember(by, id) || !this.isPermitted(by, id, "write")) throw new Refusal(403, "forbidden");
    const mayMention = !mentionsAll || this.room(id).kind === "group" && this.isPermitted(by, id, "mentionAll");
    if (!mayMention) throw new Refusal(403, "forbidden");
    const parent = replyTo === undefined ? undefined : this.room(id).messages[replyTo]?.at(-1);
    const canReply = parent && !parent.deletedForEveryone && parent.kind !== "system" && this.sees(by, parent.seq, id);
    if (replyTo !== undefined && !canReply) throw new Refusal(422, "notReplyable");
    this.state.clock += 1;
    const seq = this.append(id, { kind: "message.created", at: this.now, actorId: by, message });
    const stored: Message = {
      ...{ id: message, conversationId: id, seq, changeSeq: seq, senderId: by, kind: parent ? "reply" : "text", text },
      ...{ sentAt, createdAt: this.now, tapbacks: [], tapbackCounts: {}, mentions: mentions ?? [], mentionsAll },
      replyTo: parent && { messageId: parent.id, seq: parent.seq },
    };
    this.room(id).messages[message] = [stored];
    this.announce(seq, id);
    return stored;
  }

  /** The last state of a message that the user may change. */
  private changeable(id: string, message: string, by: string, isOwn: boolean): Message {
    const state = this.room(id).messages[message]?.at(-1);
    if (!state || !this.sees(by, state.seq, id) || state.kind === "system") throw new Refusal(404, "notFound");
    if (isOwn && state.senderId !== by) throw new Refusal(403, "forbidden");
    return state;
  }

  edit(id: string, message: string, by: string, text: string): Message {
    if (this.changeable(id, message, by, true).deletedForEveryone) throw new Refusal(409, "conflict");
    const editedAt = new Date(this.state.clock + 1).toISOString();
    return this.changeMessage(id, message, by, "message.edited", { text, editedAt });
  }

  deleteForEveryone(id: string, message: string, by: string): void {
    const state = this.changeable(id, message, by, true);
    if (state.deletedForEveryone) return;
    const gone = { text: null, deletedForEveryone: true as const, deletedAt: state.createdAt, editedAt: undefined };
    const nothing = { tapbacks: [], tapbackCounts: {}, mentions: [], mentionsAll: undefined, pinned: undefined };
    this.changeMessage(id, message, by, "message.deleted", { ...gone, ...nothing });
  }

  setTapback(id: string, message: string, by: string, kind: string | null): Message {
    const state = this.changeable(id, message, by, false);
    if (state.deletedForEveryone) throw new Refusal(409, "conflict");
    const old = state.tapbacks.find(({ userId }) => userId === by)?.kind ?? null;
    if (old === kind) return state;
    const others = state.tapbacks.filter(({ userId }) => userId !== by);
    const tapbacks = kind === null ? others : [...others, { userId: by, kind }];
    const tapbackCounts: Record<string, number> = {};
    for (const { kind } of tapbacks) tapbackCounts[kind] = (tapbackCounts[kind] ?? 0) + 1;
    const what = kind === null ? "tapback.removed" : "tapback.set";
    return this.changeMessage(id, message, by, what, { tapbacks, tapbackCounts });
  }

  setPinned(id: string, message: string, by: string, pins: boolean): Message {
    const state = this.changeable(id, message, by, false);
    if (state.deletedForEveryone && pins) throw new Refusal(409, "conflict");
    if (!!state.pinned === pins) return state;
    const at = new Date(this.state.clock + 1).toISOString();
    const pinned = pins ? { seq: this.room(id).log.length + 1, userId: by, at } : undefined;
    return this.changeMessage(id, message, by, pins ? "message.pinned" : "message.unpinned", { pinned });
  }

  private changeMessage(
    id: string,
    message: string,
    by: string,
    kind: string,
    fields: Partial<Message>,
    at?: string,
  ): Message {
    this.state.clock += 1;
    const changeSeq = this.append(id, { kind, at: at ?? this.now, actorId: by, message });
    const states = this.room(id).messages[message]!;
    states.push({ ...states.at(-1)!, ...fields, changeSeq });
    this.announce(changeSeq, id);
    return states.at(-1)!;
  }

  hide(id: string, message: string, by: string): void {
    const state = this.room(id).messages[message]?.at(-1);
    if (!state || !this.sees(by, state.seq, id)) throw new Refusal(404, "notFound");
    const hidden = this.user(by).hidden[id] ??= [];
    if (hidden.includes(message)) return;
    hidden.push(message);
    this.tell(by, "message.hidden", id, { messageId: message });
  }

  clear(id: string, through: number, by: string): void {
    const throughSeq = Math.min(through, this.lastSeq(by, id));
    if (throughSeq <= (this.user(by).clearedSeq[id] ?? 0)) return;
    this.user(by).clearedSeq[id] = throughSeq;
    this.tell(by, "history.cleared", id, { throughSeq });
  }

  /** `fields` is null where the mark is taken away. No time comes to an end here: what is muted is so for ever. */
  mark(id: string, part: string, by: string, fields: Record<string, never> | null): void {
    const old = this.marks(by, id);
    const next = this.marked(id, part, by, old, fields);
    if (JSON.stringify(next) === JSON.stringify(old)) return;
    this.user(by).marks[id] = next;
    const kinds: Record<string, string> = { mute: "muted", pin: "pinned", archive: "archived", unread: "markedUnread" };
    this.tell(by, kinds[part]!, id);
  }

  private marked(
    id: string,
    part: string,
    by: string,
    old: KeptMarks,
    fields: Record<string, never> | null,
  ): KeptMarks {
    if (part === "pin") return { ...old, pinOrder: fields?.order };
    if (part === "unread") return { ...old, unreadSeq: fields ? this.readSeq(by, id) : undefined };
    if (part === "archive") {
      return { ...old, archivedSeq: fields ? Math.min(fields.throughSeq, this.lastSeq(by, id)) : undefined };
    }
    const last = this.messages(id, by).at(-1)?.seq ?? 0;
    const isBack = old.mutedUntil === undefined && old.archivedSeq !== undefined && last > old.archivedSeq;
    return { ...old, mutedUntil: fields?.until, archivedSeq: isBack ? undefined : old.archivedSeq };
  }

  /** Needs no key: what is there already changes nothing. */
  putDraft(id: string, by: string, draft?: { text: string; replyTo?: string }): void {
    const { drafts } = this.user(by);
    const old = drafts[id];
    if (old?.text === draft?.text && old?.replyTo === draft?.replyTo) return;
    if (!this.isMember(by, id)) throw new Refusal(403, "forbidden");
    if (draft && !old && Object.keys(drafts).length >= draftsPerUser) throw new Refusal(409, "conflict");
    this.state.clock += 1;
    if (draft) {
      drafts[id] = { text: draft.text, replyTo: draft.replyTo, at: this.now };
      this.everDrafted.add(`${by} ${draft.text}`);
    } else delete drafts[id];
    this.tell(by, "draft", id);
  }

  read(id: string, through: number, by: string): void {
    const seq = Math.min(through, this.room(id).log.length);
    if (seq <= (this.room(id).readSeq[by] ?? 0)) return;
    this.room(id).readSeq[by] = seq;
    this.tell(by, "read.moved", id, { readSeq: seq });
    this.moveStatus(id, by);
  }

  /** Takes a `delivered` frame. */
  delivered(id: string, seq: number, by: string): void {
    if (!this.isMember(by, id) || seq <= (this.room(id).deliveredSeq[by] ?? 0)) return;
    this.room(id).deliveredSeq[by] = Math.min(seq, this.room(id).log.length);
    this.moveStatus(id, by);
  }

  private moveStatus(id: string, by: string): void {
    this.room(id).statusVersion += 1;
    for (const user of this.members(id)) {
      if (!this.room(id).asked[user]) this.announcements.push({ user, frame: this.status(id, [by]) });
    }
  }

  status(id: string, users: string[]) {
    const { statusVersion, deliveredSeq, readSeq } = this.room(id);
    const of = (seqs: Record<string, number>) =>
      Object.fromEntries(users.flatMap((user) => seqs[user] === undefined ? [] : [[user, seqs[user]]]));
    const [delivered, read] = [of(deliveredSeq), of(readSeq)];
    const [conversationId, version] = [id, Math.max(1, statusVersion)];
    return { type: "status" as const, conversationId, statusVersion: version, delivered, read, at: this.now };
  }

  /** Others are told where they have an open conversation with the user. */
  setName(user: string, displayName: string): void {
    const version = this.user(user).profile.version + 1;
    this.user(user).profile = { version, displayName };
    this.tell(user, "profile.changed", undefined, { profileVersion: version });
    for (const other of this.whoSee(user)) {
      this.announcements.push({ user: other, frame: { type: "profile", userId: user, version } });
    }
  }

  /** Those who have an open conversation with somebody. */
  whoSee(user: string): string[] {
    const open = Object.keys(this.state.rooms).filter((id) => this.members(id).includes(user));
    const others = new Set(open.flatMap((id) => this.members(id).filter((other) => this.isMember(other, id))));
    return [...others].filter((other) => other !== user);
  }

  rename(id: string, title: string, by: string): void {
    this.state.clock += 1;
    const seq = this.append(id, { kind: "conversation.renamed", at: this.now, actorId: by, title });
    this.show(seq, id);
    this.announce(seq, id);
  }

  /** The change has all of them. */
  permit(id: string, changes: Partial<Permissions>, by: string): void {
    const permissions = { ...this.room(id).permissions, ...changes };
    if (permissions.mentionAll === "admins") delete permissions.mentionAll;
    if (JSON.stringify(permissions) === JSON.stringify(this.room(id).permissions)) return;
    this.state.clock += 1;
    this.room(id).permissions = permissions;
    this.announce(this.append(id, { kind: "permissions.changed", at: this.now, actorId: by, permissions }), id);
  }

  setLifetime(id: string, seconds: number | null, given: string | undefined, by: string): void {
    const room = this.room(id);
    const from = given === "sending" || seconds === null ? undefined : given;
    if (seconds === (room.lifetime?.seconds ?? null) && from === room.lifetime?.from) return;
    this.state.clock += 1;
    const messageLifetime = seconds === null ? undefined : { seconds, from, sinceSeq: room.log.length + 1 };
    room.lifetime = messageLifetime;
    this.announce(this.append(id, { kind: "lifetime.changed", at: this.now, actorId: by, messageLifetime }), id);
  }

  /** The time of all messages is over that were sent with the present lifetime. That is no activity. */
  expire(id: string): void {
    const { lifetime, messages } = this.room(id);
    if (!lifetime) return;
    const over = Object.values(messages).map((states) => states.at(-1)!)
      .filter(({ seq, kind, deletedForEveryone }) =>
        seq > lifetime.sinceSeq && kind !== "system" && !deletedForEveryone
      )
      .sort((one, other) => one.seq - other.seq);
    for (const { id: message, senderId, createdAt } of over) {
      const gone = { text: null, deletedForEveryone: true as const, deletedAt: createdAt, expired: true as const };
      const nothing = {
        ...{ tapbacks: [], tapbackCounts: {}, mentions: [], mentionsAll: undefined },
        ...{ editedAt: undefined, pinned: undefined },
      };
      const at = this.room(id).log.at(-1)!.at;
      this.changeMessage(id, message, senderId, "message.deleted", { ...gone, ...nothing }, at);
    }
  }

  setRole(id: string, user: string, role: string, by: string): void {
    if (!this.members(id).includes(user) || this.room(id).roles[user] === role) return;
    this.state.clock += 1;
    this.room(id).roles[user] = role;
    const seq = this.append(id, { kind: "member.changed", at: this.now, actorId: by, userId: user, role });
    this.show(seq, id);
    this.announce(seq, id);
  }

  addMember(id: string, user: string, by: string): void {
    // Of those who were asked nobody asks again here.
    if (this.isMember(user, id) || this.room(id).asked[user]) return;
    this.state.clock += 1;
    const isNew = !this.room(id).stays[user];
    const entry = { kind: "member.added", at: this.now, actorId: by, userId: user, role: "member" };
    const seq = this.append(id, entry);
    this.room(id).stays[user] = [...this.room(id).stays[user] ?? [], { from: seq }];
    this.room(id).roles[user] = "member";
    this.show(seq, id);
    if (!isNew || !this.ask(user, id, by)) this.tell(user, "conversation.joined", id, { lastSeq: seq - 1 });
    this.announce(seq, id);
  }

  removeMember(id: string, user: string, by: string): void {
    if (!this.members(id).includes(user) || this.members(id).length < 2) return;
    this.state.clock += 1;
    const role = this.room(id).roles[user];
    const seq = this.append(id, { kind: "member.removed", at: this.now, actorId: by, userId: user, role });
    const stays = this.room(id).stays[user]!;
    this.room(id).stays[user] = [...stays.slice(0, -1), { ...stays.at(-1)!, to: seq }];
    const asked = this.room(id).asked[user];
    const isTold = asked?.state !== "declined" && asked?.state !== "takenBack";
    if (asked) asked.state = "takenBack";
    this.show(seq, id);
    this.announce(seq, id);
    delete this.user(user).drafts[id];
    if (isTold) this.tell(user, "conversation.left", id);
  }

  // Telling.

  private append(id: string, entry: Entry): number {
    return this.room(id).log.push(entry);
  }

  private announce(seq: number, id: string): void {
    for (const user of Object.keys(this.room(id).stays).sort()) {
      if (this.isAsked(user, id) || !this.sees(user, seq, id)) continue;
      this.announcements.push({ user, frame: { type: "change", change: this.change(seq, id, user, true) } });
    }
  }

  tell(user: string, kind: string, conversationId?: string, fields: Partial<PrivateChange> = {}): void {
    const account = this.user(user);
    const useq = (account.changes.at(-1)?.useq ?? 0) + 1;
    const change: PrivateChange = { useq, kind, at: this.now, conversationId, ...fields };
    account.changes.push(change);
    if (kind === "conversation.joined") account.removed = account.removed.filter((id) => id !== conversationId);
    this.announcements.push({ user, frame: { type: "private", ...this.withMarks(change, user) } });
  }

  /** The message of the system that shows a change in the history. */
  private show(seq: number, id: string): void {
    const { kind, at, actorId: senderId, userId, title } = this.room(id).log[seq - 1]!;
    const message = `${id.slice(0, 24)}${seq.toString(16).padStart(12, "8")}`;
    this.room(id).messages[message] = [{
      ...{ id: message, conversationId: id, seq, changeSeq: seq, senderId, kind: "system", text: null, sentAt: at },
      ...{ createdAt: at, event: { kind, userId, title }, tapbacks: [], tapbackCounts: {}, mentions: [] },
    }];
  }
}
