import type { Draft, NewFile, SendOptions } from "./client.ts";
import { blobKey, unsentPrefix } from "./copy/blobs.ts";
import { readThrough } from "./copy/blocks.ts";
import { accountOf } from "./copy/copy.ts";
import { shownMarks } from "./copy/marks.ts";
import { storeProfiles } from "./copy/profiles.ts";
import { discardUnsent, dismiss, enqueue, outboxOf, retry } from "./copy/outbox-rows.ts";
import { get } from "./http.ts";
import type { Hub } from "./hub.ts";
import { objectText } from "./json.ts";
import type {
  Conversation,
  ConversationId,
  LifetimeStart,
  MessageId,
  NewSettings,
  Permission,
  Permitted,
  Profile,
  Time,
  UserId,
} from "./model.ts";
import type { Mark, PendingFile, PendingWrite } from "./outbox/writes.ts";
import { newId } from "./uuid.ts";

type Id = ConversationId;

/** What a user does. All of it is a row before it is anything else, so it works without a connection. */
export class Writing {
  /**
   * End when what was sent before in a conversation is kept: a text does not overtake a large file on its way into the
   * database.
   */
  private lastSends = new Map<Id, Promise<unknown>>();

  constructor(protected hub: Hub) {}

  private async enqueue(write: PendingWrite, conversationId = "", messageId?: MessageId): Promise<void> {
    const at = new Date().toISOString();
    await this.hub.write((copy) => enqueue(copy, { write, conversationId, messageId, at, idempotencyKey: newId() }));
    this.hub.tell({ tell: "pump" });
  }

  send(id: Id, text: string, options: SendOptions = {}): Promise<MessageId> {
    const sentAt = new Date().toISOString();
    const before = this.lastSends.get(id) ?? Promise.resolve();
    const sent = before.then(() => this.sendNow(id, text, sentAt, options));
    this.lastSends.set(id, sent.catch(() => {}));
    return sent;
  }

  private async sendNow(id: Id, text: string, sentAt: Time, options: SendOptions) {
    const { sealed, poll, forward, attachments, forwarded, replyTo, mentions = [], files = [], extra } = options;
    const mentionsAll = options.mentionsAll || undefined;
    const messageId = newId();
    const kept = files.length ? await this.keep(files) : undefined;
    const content = { text, sealed, poll, forward, attachments, forwarded };
    const sent = { ...content, replyTo, mentions, mentionsAll, sentAt, files: kept, extra };
    await this.enqueue({ kind: "send", ...sent }, id, messageId);
    return messageId;
  }

  /** The content is on this device before the message is: it is needed after the page has gone. */
  private async keep(files: NewFile[]): Promise<PendingFile[]> {
    const kept: PendingFile[] = [];
    try {
      for (const { blob, ...about } of files) {
        const key = `${unsentPrefix}${newId()}`;
        await this.hub.database.blobs.put(blobKey(key), blob, false);
        kept.push({ key, size: blob.size, ...about });
      }
      return kept;
    } catch (error) {
      for (const { key } of kept) await this.hub.database.blobs.removeAll(key).catch(() => {});
      throw error;
    }
  }

  edit(id: Id, message: MessageId, text: string, sealed?: string): Promise<void> {
    return this.enqueue({ kind: "edit", text, sealed }, id, message);
  }

  deleteForMe(id: Id, message: MessageId): Promise<void> {
    return this.enqueue({ kind: "delete", scope: "me" }, id, message);
  }

  deleteForEveryone(id: Id, message: MessageId): Promise<void> {
    return this.enqueue({ kind: "delete", scope: "everyone" }, id, message);
  }

  react(id: Id, message: MessageId, kind: string | null): Promise<void> {
    return this.enqueue({ kind: "tapback", tapback: kind }, id, message);
  }

  vote(id: Id, message: MessageId, options: number[]): Promise<void> {
    return this.enqueue({ kind: "vote", options }, id, message);
  }

  closePoll(id: Id, message: MessageId): Promise<void> {
    return this.enqueue({ kind: "closePoll" }, id, message);
  }

  setPinned(id: Id, message: MessageId, pins: boolean): Promise<void> {
    return this.enqueue({ kind: "pinMessage", pins }, id, message);
  }

  async retry(id: Id, message: MessageId): Promise<void> {
    await this.hub.write((copy) => retry(copy, id, message, newId()));
    this.hub.tell({ tell: "pump" });
  }

  async discard(id: Id, message: MessageId): Promise<void> {
    await this.hub.write((copy) => discardUnsent(copy, id, message));
    // Those behind it are free.
    this.hub.tell({ tell: "pump" });
  }

  async read(id: Id, seq: number): Promise<void> {
    const through = await this.hub.database.read(async (rows) => {
      const head = await rows.get("conversations", id);
      const through = head && await readThrough(rows, head, await accountOf(rows), seq);
      return through && through > head.readSeq ? through : undefined;
    });
    if (through) await this.enqueue({ kind: "read", seq: through }, id);
  }

  rename(id: Id, title: string): Promise<void> {
    return this.enqueue({ kind: "rename", title }, id);
  }

  addMember(id: Id, user: UserId): Promise<void> {
    return this.enqueue({ kind: "member", user, isRemoved: false }, id);
  }

  removeMember(id: Id, user: UserId): Promise<void> {
    return this.enqueue({ kind: "member", user, isRemoved: true }, id);
  }

  setRole(id: Id, user: UserId, role: string): Promise<void> {
    return this.enqueue({ kind: "member", user, isRemoved: false, role }, id);
  }

  permit(id: Id, permission: Permission, permitted: Permitted): Promise<void> {
    return this.enqueue({ kind: "permissions", permissions: { [permission]: permitted } }, id);
  }

  setMessageLifetime(id: Id, seconds: number | null, from?: LifetimeStart): Promise<void> {
    return this.enqueue({ kind: "lifetime", seconds, from }, id);
  }

  liftBan(id: Id, user: UserId): Promise<void> {
    return this.enqueue({ kind: "ban", user }, id);
  }

  async leave(id: Id): Promise<void> {
    const account = await this.hub.database.read((rows) => rows.get("account", 0));
    if (account?.userId !== undefined) await this.removeMember(id, account.userId);
  }

  async clearHistory(id: Id): Promise<void> {
    const head = await this.hub.database.read((rows) => rows.get("conversations", id));
    if (head) await this.enqueue({ kind: "clear", through: head.lastSeq }, id);
  }

  removeFromList(id: Id): Promise<void> {
    return this.enqueue({ kind: "unlist" }, id);
  }

  mute(id: Id, until: Time | null): Promise<void> {
    return this.mark(id, { of: "muted", until });
  }

  /** Above all others that are pinned. */
  async pin(id: Id, isPinned: boolean): Promise<void> {
    const pinned = await this.hub.database.read((rows) => rows.all("conversations", { index: "pinned", limit: 1 }));
    await this.mark(id, { of: "pinned", order: isPinned ? (pinned[0]?.marks?.pinOrder ?? 1) - 1 : null });
  }

  /** With what the user was shown: what comes meanwhile brings it back. */
  async archive(id: Id, isArchived: boolean): Promise<void> {
    const head = await this.hub.database.read((rows) => rows.get("conversations", id));
    if (head) await this.mark(id, { of: "archived", through: isArchived ? Math.max(1, head.lastSeq) : null });
  }

  markUnread(id: Id): Promise<void> {
    return this.mark(id, { of: "unread", isMarked: true });
  }

  async unmarkUnread(id: Id): Promise<void> {
    const isMarked = await this.hub.database.read(async (rows) => {
      const head = await rows.get("conversations", id);
      return head && shownMarks(head, await outboxOf(rows, id)).markedUnread;
    });
    if (isMarked) await this.mark(id, { of: "unread", isMarked: false });
  }

  private mark(id: Id, mark: Mark): Promise<void> {
    return this.enqueue({ kind: "mark", mark, after: 0 }, id);
  }

  block(user: UserId, isBlocked: boolean): Promise<void> {
    return this.enqueue({ kind: "block", user, isBlocked, after: 0 });
  }

  accept(id: Id): Promise<void> {
    return this.enqueue({ kind: "accept" }, id);
  }

  decline(id: Id): Promise<void> {
    return this.enqueue({ kind: "decline" }, id);
  }

  setSettings(settings: NewSettings): Promise<void> {
    return this.enqueue({ kind: "settings", settings });
  }

  setReadReceipts(id: Id, on: boolean | null): Promise<void> {
    return this.enqueue({ kind: "conversationSettings", settings: { readReceipts: on } }, id);
  }

  async createGroup(members: UserId[], title?: string): Promise<Id> {
    const id = newId();
    await this.enqueue({ kind: "create", members, title: title || undefined }, id);
    return id;
  }

  async openDirect(user: UserId): Promise<Id> {
    const body = { kind: "direct", members: [user] };
    const { id } = await this.hub.ask<Conversation>({ method: "POST", path: "/v1/conversations", body });
    this.hub.tell({ tell: "event", event: { type: "created", conversation: id } });
    return id;
  }

  async setName(name: string): Promise<void> {
    const { userId } = await this.hub.database.read(accountOf);
    const told = await this.hub.ask<string>({ ...get("/v1/profiles", { ids: userId }), isText: true });
    const [known] = (JSON.parse(told) as { profiles: Profile[] }).profiles;
    const [displayName, avatarUrl] = [name || null, known?.avatarUrl ?? null].map((text) => JSON.stringify(text));
    const extra = objectText(told, "extra", 3) ?? null;
    const body = `{"displayName":${displayName},"avatarUrl":${avatarUrl},"extra":${extra}}`;
    const idempotencyKey = newId();
    const profile = await this.hub.ask<Profile>({ method: "PUT", path: "/v1/profile", body, idempotencyKey });
    await this.hub.write((copy) => storeProfiles(copy, [profile]));
  }

  dismiss(key: number): Promise<void> {
    return this.hub.write((copy) => dismiss(copy, key));
  }

  sayTyping(id: Id, active: boolean): void {
    const frame = this.hub.moment.say(id, active, performance.now());
    if (frame) this.hub.tell({ tell: "say", frame });
  }

  async setDraft(id: Id, draft?: Draft): Promise<void> {
    if (draft) this.hub.tell({ tell: "writing", id, isWriting: true });
    await this.enqueue({ kind: "draft", draft }, id);
    // Not before: the draft that ends would be put.
    if (!draft) this.putDraft(id);
    await this.hub.queries.settled();
  }

  putDraft(id: Id): void {
    this.hub.tell({ tell: "writing", id, isWriting: false });
  }
}
