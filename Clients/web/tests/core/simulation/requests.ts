import type { FrameFromClient, FrameFromServer, History, Settings } from "../../../core/model.ts";
import type { HTTPRequest } from "../../../core/http.ts";
import type { SyncResponse } from "../../../core/sync/events.ts";
import * as limit from "./server.ts";
import { Refusal, WritableServer } from "./writes.ts";

type Fields = Record<string, never>;
type Hello = Extract<FrameFromClient, { type: "hello" }>;

/** The server as its clients see it: HTTP and WebSocket. */
export class ScriptedServer extends WritableServer {
  async response(request: HTTPRequest, user: string): Promise<SyncResponse> {
    try {
      // What goes over the network is text.
      return { body: JSON.parse(JSON.stringify(await this.handle(request, user) ?? null)) };
    } catch (error) {
      if (error instanceof Refusal) return { failure: { problem: error.problem } };
      throw error;
    }
  }

  private handle({ method, path, body, idempotencyKey }: HTTPRequest, user: string): unknown {
    const url = new URL(path, "http://parley");
    const query = Object.fromEntries(url.searchParams);
    const parts = url.pathname.split("/").slice(2).map(decodeURIComponent);
    const fields = JSON.parse(JSON.stringify(body ?? {})) as Fields;
    if (parts[0] === "settings") return method === "GET" ? this.user(user).settings : this.setSettings(user, fields);
    if (parts[0] === "blocks" && method === "GET") {
      return { users: this.user(user).blocked.map((userId) => ({ userId, at: this.now })) };
    }
    if (parts[0] === "blocks") return this.blockOnce(user, idempotencyKey!, parts[1]!, method === "PUT");
    if (parts[0] === "requests") return { requests: this.requests(user) };
    if (parts[0] === "profiles") {
      const versions = query.versions!.split(",").map(Number);
      const all = query.ids!.split(",").map((of) => this.profile(of, user));
      return { profiles: all.filter(({ version }, index) => version !== versions[index]) };
    }
    if (parts[0] === "sync") return this.sync(user, query.since);
    if (parts[0] === "messages:batch") return this.batch(user, fields.messages);
    if (parts.length === 1 && method === "GET") return this.page(user, query.before);
    if (parts.length === 1) return this.create(user, fields);
    const id = parts[1]!;
    if (!this.windows(user, id)) throw new Refusal(404, "notFound");
    if (method === "GET") return this.look(user, id, parts.slice(2), query);
    if (parts[2] === "messages" && method === "POST") return this.send(id, user, fields as never);
    if (parts[2] === "receipts") return this.mayWrite(user, id), this.read(id, fields.readSeq, user);
    if (parts[2] === "draft") return this.putDraft(id, user, method === "PUT" ? fields as never : undefined);
    return this.once(user, idempotencyKey!, parts, () => this.write(user, id, method, parts.slice(2), query, fields));
  }

  /** A write with a key is carried out once. */
  private once(user: string, key: string, parts: string[], write: () => unknown): unknown {
    const { outcomes } = this.user(user);
    if (!outcomes.includes(key)) {
      const outcome = write();
      outcomes.push(key);
      return outcome;
    }
    const [, id, , message] = parts;
    return message && parts[2] === "messages" ? this.room(id!).messages[message]!.at(-1) : this.conversation(id!, user);
  }

  private blockOnce(user: string, key: string, other: string, isBlocked: boolean): void {
    const { outcomes } = this.user(user);
    if (outcomes.includes(key)) return;
    outcomes.push(key);
    this.block(user, other, isBlocked);
  }

  private mayWrite(user: string, id: string): void {
    if (!this.isMember(user, id)) throw new Refusal(403, "forbidden");
  }

  private write(
    user: string,
    id: string,
    method: string,
    [part, about, what]: string[],
    query: Record<string, string>,
    fields: Fields,
  ): unknown {
    if (part === undefined && method === "DELETE") return this.removeFromList(user, id);
    if (part === "acceptance") return this.decide(id, user, method === "PUT");
    if (["mute", "pin", "archive", "unread"].includes(part!)) {
      const isUnlisted = !this.isMember(user, id) && this.user(user).removed.includes(id);
      if (isUnlisted || this.room(id).asked[user]) throw new Refusal(409, "conflict");
      return this.mark(id, part!, user, method === "PUT" ? fields : null);
    }
    if (what === "tapback" && method === "PUT") this.accept(id, user);
    this.mayWrite(user, id);
    if (part === "history") return this.clear(id, Number(query.through), user);
    if (this.room(id).kind === "direct" && [undefined, "members", "permissions"].includes(part)) {
      throw new Refusal(409, "conflict");
    }
    this.check(user, id, method, part, about, fields, what);
    if (part === "lifetime") {
      return this.setLifetime(id, fields.seconds, fields.from, user), this.conversation(id, user);
    }
    if (part === "permissions") return this.permit(id, fields as never, user), this.conversation(id, user);
    if (part === "members" && fields?.role) return this.setRole(id, about!, fields.role, user);
    if (part === undefined) return this.rename(id, fields.title, user), this.conversation(id, user);
    if (part === "members" && method === "PUT") return this.addMember(id, about!, user);
    if (part === "members") return this.removeMember(id, about!, user);
    if (method === "DELETE" && part === "messages" && what === undefined && query.scope === "me") {
      return this.hide(id, about!, user);
    }
    if (what === "tapback") return this.setTapback(id, about!, user, method === "PUT" ? fields.kind : null);
    if (what === "pin") return this.setPinned(id, about!, user, method === "PUT");
    if (method === "PATCH") return this.edit(id, about!, user, fields.text);
    return this.deleteForEveryone(id, about!, user);
  }

  /** What a role does not permit. Anybody may remove others here, so that it happens often. */
  private check(
    user: string,
    id: string,
    method: string,
    part?: string,
    about?: string,
    fields?: Fields,
    what?: string,
  ): void {
    const isOwner = this.room(id).roles[user] === "owner";
    const isNew = part === "members" && method === "PUT" && !this.isMember(about!, id);
    const isPermitted = part === "permissions" || fields?.role
      ? isOwner
      : part === "lifetime"
      ? this.room(id).kind === "direct" || this.room(id).roles[user] !== "member"
      : part === undefined
      ? this.isPermitted(user, id, "rename")
      : part === "messages" && (method === "PATCH" || what === "pin")
      ? this.isPermitted(user, id, "write")
      : !isNew || this.isPermitted(user, id, "addMembers");
    if (!isPermitted) throw new Refusal(403, "forbidden");
  }

  private removeFromList(user: string, id: string): void {
    if (this.isMember(user, id)) throw new Refusal(409, "conflict");
    this.user(user).removed.push(id);
    this.user(user).marks[id] = { mutedUntil: this.marks(user, id).mutedUntil };
    this.tell(user, "conversation.removed", id);
  }

  private create(user: string, fields: Fields): unknown {
    const { id, members, title } = fields;
    if (!this.state.rooms[id]) this.createGroup(id, user, members, title);
    if (!this.windows(user, id)) throw new Refusal(409, "conflict");
    return this.conversation(id, user);
  }

  private batch(user: string, messages: Fields[]): unknown {
    const results = messages.map((fields) => {
      try {
        if (!this.windows(user, fields.conversationId)) throw new Refusal(404, "notFound");
        return { status: 201, message: this.send(fields.conversationId, user, fields as never) };
      } catch (error) {
        const { problem } = error as Refusal;
        return { status: problem.status, problem };
      }
    });
    return { results };
  }

  private setSettings(user: string, fields: Fields): Settings {
    const account = this.user(user);
    account.settings = { ...account.settings, ...fields };
    this.tell(user, "settings.changed", undefined, account.settings);
    return account.settings;
  }

  // Reading.

  private async look(user: string, id: string, [part, , what]: string[], query: Record<string, string>) {
    const lastSeq = this.lastSeq(user, id);
    if (part === undefined) return this.conversation(id, user);
    if (part === "changes") return this.changes(user, id, Number(query.after));
    if (part === "members") return { members: this.memberships(id) };
    if (what === "revisions") return { revisions: [] };
    if (part === "messages") return this.history(user, id, query);
    const page = { fromSeq: 1, toSeq: lastSeq, changes: "", state: await this.digest(id, user) };
    return { lastSeq, useq: this.useq(user), pages: [page], more: false };
  }

  private useq(user: string): number {
    return this.user(user).changes.at(-1)?.useq ?? 0;
  }

  private page(user: string, before?: string) {
    // The cursor is the place where the page begins, as a conversation that moved up is not repeated.
    const place = (id: string) => `${this.activity(user, id)}/${id}`;
    const all = this.list(user).filter((id) => before === undefined || place(id) < before);
    const ids = all.slice(0, limit.conversationsPerPage);
    const nextCursor = ids.length < all.length ? place(ids.at(-1)!) : undefined;
    return { conversations: ids.map((id) => this.conversation(id, user)), nextCursor };
  }

  private missed(user: string, id: string, after: number): number[] {
    const count = Math.max(0, this.lastSeq(user, id) - after);
    return Array.from({ length: count }, (_, index) => after + 1 + index).filter((seq) => this.sees(user, seq, id));
  }

  private changes(user: string, id: string, after: number) {
    const seqs = this.missed(user, id, after);
    const changes = seqs.slice(0, limit.changesPerPage).map((seq) => this.change(seq, id, user, false));
    return { changes, lastSeq: this.lastSeq(user, id), more: seqs.length > limit.changesPerPage };
  }

  private history(user: string, id: string, { before, after, around }: Record<string, string>): History {
    const all = this.messages(id, user);
    const size = limit.messagesPerPage;
    const placeOf = (seq: number) => all.findIndex((message) => message.seq >= seq) + 1 || all.length + 1;
    let [first, last] = [Math.max(0, all.length - size), all.length];
    if (before) [first, last] = [Math.max(0, placeOf(Number(before)) - 1 - size), placeOf(Number(before)) - 1];
    if (after) first = placeOf(Number(after) + 1) - 1, last = Math.min(all.length, first + size);
    if (around) first = Math.max(0, placeOf(Number(around)) - 1 - size / 2), last = Math.min(all.length, first + size);
    const messages = all.slice(first, last);
    return { messages, hasMoreBefore: first > 0, hasMoreAfter: last < all.length, lastSeq: this.lastSeq(user, id) };
  }

  /** The cursor is the positions of the clock and of the private stream. */
  private sync(user: string, since?: string) {
    const [clock, useq] = since?.split("/").map(Number) ?? [0, this.useq(user)];
    const missed = this.user(user).changes.filter((change) => change.useq > useq!);
    const reload = missed.length > limit.keptPrivateChanges || undefined;
    const changed = this.list(user).filter((id) => reload || Date.parse(this.activity(user, id)) >= clock!);
    return {
      conversations: changed.map((id) => this.conversation(id, user)),
      private: reload ? [] : missed.map((change) => this.withMarks(change, user)),
      ...{ reload, cursor: `${this.state.clock}/${this.useq(user)}`, more: false },
    };
  }

  // Sessions.

  /** The frames with which a session begins. Everything after comes by `announcements`. */
  begin(hello: Hello, user: string): FrameFromServer[] {
    const listed = this.list(user);
    const conversations = listed.slice(0, limit.conversationsInWelcome).map((id) => this.conversation(id, user));
    const { logId } = this.state;
    const more = listed.length > conversations.length;
    const useq = this.useq(user);
    const { blocked } = this.user(user);
    const about = { serverTime: this.now, logId, useq, conversations, more, blocked };
    const welcome = { type: "welcome" as const, userId: user, ...about };
    if (hello.logId !== undefined && hello.logId !== logId) return [welcome, { type: "reset" }];
    const cursors = Object.entries(hello.cursors).sort();
    return [
      welcome,
      ...this.privateReplay(user, hello.useq),
      ...cursors.flatMap(([id, cursor]) => this.replay(user, id, cursor, hello.statusVersions[id] ?? 0)),
    ];
  }

  private privateReplay(user: string, useq?: number): FrameFromServer[] {
    if (useq === undefined) return [];
    const missed = this.user(user).changes.filter((change) => change.useq > useq);
    if (missed.length > limit.keptPrivateChanges) return [{ type: "reload", useq: this.useq(user) }];
    return missed.map((change) => {
      const { kind, conversationId: id } = change;
      const lastSeq = kind === "conversation.joined" ? this.lastSeq(user, id!) : change.lastSeq;
      return { type: "private", ...this.withMarks(change, user), lastSeq };
    });
  }

  private replay(user: string, id: string, cursor: number, statusVersion: number): FrameFromServer[] {
    if (!this.windows(user, id)) return [];
    const lastSeq = this.lastSeq(user, id);
    if (cursor > lastSeq) return [{ type: "reset", conversationId: id }];
    const missed = this.missed(user, id, cursor);
    const frames: FrameFromServer[] = missed.length > limit.replayedChanges
      ? [{ type: "reload", conversationId: id, lastSeq }]
      : missed.map((seq) => ({ type: "change", change: this.change(seq, id, user, false) }));
    const isBehind = this.isMember(user, id) && this.room(id).statusVersion > statusVersion;
    return isBehind ? [...frames, this.status(id, this.members(id))] : frames;
  }
}
