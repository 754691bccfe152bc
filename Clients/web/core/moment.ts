import type { Presence } from "./client.ts";
import type { ConversationId, FrameFromClient, UserId } from "./model.ts";
import type { SyncNotice } from "./sync/events.ts";
import { Emitter } from "./watched.ts";

/** Typing ends after this time without another frame. */
const typingLasts = 6_000;
/** The server passes typing on at most this often. */
const betweenFrames = 3_000;

/** What is not kept: who types and who is there. */
export class Moment {
  private typers = new Map<ConversationId, Emitter<UserId[]>>();
  private ends = new Map<string, ReturnType<typeof setTimeout>>();
  private people = new Map<UserId, Emitter<Presence>>();
  /** Whom the user has blocked: nobody sees them come or type. */
  private hidden = new Set<UserId>();
  private said = new Map<ConversationId, number>();

  typing(id: ConversationId): Emitter<UserId[]> {
    if (!this.typers.has(id)) this.typers.set(id, new Emitter<UserId[]>([]));
    return this.typers.get(id)!;
  }

  presence(user: UserId): Emitter<Presence> {
    if (!this.people.has(user)) this.people.set(user, new Emitter<Presence>({ online: false }));
    return this.people.get(user)!;
  }

  take(notice: SyncNotice): void {
    if (notice.notice === "typing") this.setTyping(notice.conversation, notice.user, notice.active);
    if (notice.notice === "presence" && !this.hidden.has(notice.user)) {
      this.presence(notice.user).set({ online: notice.online, lastSeen: notice.lastSeen });
    }
    // After a reconnection everybody counts as away until a frame says otherwise.
    if (notice.notice === "connection" && notice.state !== "online") this.forget();
  }

  hide(users: UserId[]): void {
    this.hidden = new Set(users);
    for (const key of [...this.ends.keys()]) {
      const [id, user] = key.split(" ") as [ConversationId, UserId];
      if (this.hidden.has(user)) this.setTyping(id, user, false);
    }
    for (const user of users) this.people.get(user)?.set({ online: false });
  }

  private setTyping(id: ConversationId, user: UserId, isTyping: boolean): void {
    const active = isTyping && !this.hidden.has(user);
    const key = `${id} ${user}`;
    clearTimeout(this.ends.get(key));
    const others = this.typing(id).value.filter((other) => other !== user);
    this.typing(id).set(active ? [...others, user] : others);
    if (active) this.ends.set(key, setTimeout(() => this.setTyping(id, user, false), typingLasts));
    else this.ends.delete(key);
  }

  /** Who has sent a message does not type any more. */
  hasSent(id: ConversationId, user: UserId): void {
    if (this.ends.has(`${id} ${user}`)) this.setTyping(id, user, false);
  }

  private forget(): void {
    for (const typers of this.typers.values()) if (typers.value.length) typers.set([]);
    for (const person of this.people.values()) if (person.value.online) person.set({ online: false });
  }

  /** What others know, for a tab that has come. */
  notices(): SyncNotice[] {
    return [...this.people].filter(([, { value }]) => value.online || value.lastSeen).map(([user, { value }]) => {
      return { notice: "presence", user, ...value };
    });
  }

  /** The frame that tells the others, if they are to be told now. */
  say(id: ConversationId, active: boolean, now: number): FrameFromClient | undefined {
    const last = this.said.get(id);
    if (active && last !== undefined && now < last + betweenFrames || !active && last === undefined) return undefined;
    if (active) this.said.set(id, now);
    else this.said.delete(id);
    return { type: "typing", conversationId: id, active };
  }
}
