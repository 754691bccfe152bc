import type { ConversationId, Message } from "../model.ts";
import {
  type Account,
  type ConversationRecord,
  conversationTables,
  type Database,
  type Reading,
  type ReleaseRecord,
  within,
  type Writing,
} from "./database.ts";
import { hiddenIn } from "./blocks.ts";
import { putDraftsAgain } from "./drafts.ts";
import { forgetRequest, isRequest } from "./requests.ts";
import { countUnread } from "./unread.ts";

/** What a transaction changed, for those who show it, in this tab and in others. */
export interface Touched {
  /** Their rows, timelines or lists of members. */
  conversations: ConversationId[];
  /** Receipts are a stream of their own: no message changes by them. */
  receipts: ConversationId[];
  members: ConversationId[];
  /** The whole copy: it was taken away, or every conversation changed. */
  everything: boolean;
  account: boolean;
  outbox: boolean;
  profiles: boolean;
  /** Messages of others that have just been written. */
  arrivals: Message[];
  /** What `releases` was given: content that nothing shows any more. */
  released: string[];
}

export function nothingTouched(): Touched {
  const lists = { conversations: [], receipts: [], members: [], arrivals: [], released: [] };
  return { ...lists, everything: false, account: false, outbox: false, profiles: false };
}

/**
 * A transaction that changes the copy. Conversations are read once and written once, however many changes of theirs it
 * takes, and what is derived from them is derived at its end.
 */
export class CopyWriter {
  private heads = new Map<ConversationId, ConversationRecord | undefined>();
  private changed = new Set<ConversationId>();
  private receipts = new Set<ConversationId>();
  private members = new Set<ConversationId>();
  /** Conversations that look different now. */
  private shown = new Set<ConversationId>();
  private touched = nothingTouched();
  private isAccountChanged = false;

  private constructor(readonly rows: Writing, private current: Account) {}

  /** Runs a transaction, and returns what it touched. */
  static run(database: Database, body: (copy: CopyWriter) => Promise<void>): Promise<Touched> {
    return database.write(async (rows) => {
      const copy = new CopyWriter(rows, await accountOf(rows));
      await body(copy);
      return copy.finish();
    });
  }

  // The account.

  get account(): Account {
    return this.current;
  }

  setAccount(changes: Partial<Account>): void {
    this.current = { ...this.current, ...changes };
    this.isAccountChanged = true;
  }

  // Conversations.

  async head(id: ConversationId): Promise<ConversationRecord | undefined> {
    if (!this.heads.has(id)) this.heads.set(id, await this.rows.get("conversations", id));
    return this.heads.get(id);
  }

  /** The conversation, of which perhaps nothing but the id is known. */
  async headOrNew(id: ConversationId): Promise<ConversationRecord> {
    const known = await this.head(id);
    if (known) return known;
    this.heads.set(id, newHead(id));
    this.changed.add(id);
    return this.heads.get(id)!;
  }

  /** Changes a conversation that is known. Without `isShown` nobody sees a difference. */
  setHead(id: ConversationId, changes: Partial<ConversationRecord>, isShown = true): void {
    this.heads.set(id, { ...this.heads.get(id)!, ...changes });
    this.changed.add(id);
    if (isShown) this.shown.add(id);
  }

  /** All conversations, as this transaction has them. */
  async allHeads(): Promise<ConversationRecord[]> {
    for (const head of await this.rows.all("conversations")) {
      if (!this.heads.has(head.id)) this.heads.set(head.id, head);
    }
    return [...this.heads.values()].filter((head) => head !== undefined);
  }

  async discard(id: ConversationId): Promise<void> {
    this.heads.set(id, undefined);
    this.changed.delete(id);
    forgetRequest(this, id);
    this.show(id);
    await this.releaseConversation(id);
    await this.rows.remove("conversations", id);
    for (const table of conversationTables) {
      if (table === "horizons") await this.rows.remove(table, id);
      else await this.rows.removeAll(table, within(id));
    }
  }

  /**
   * Takes the copy away, except the outbox, drafts among it: the server was restored. What waits there to be read or
   * cleared is a position of a history that is gone: in another one it could stand for messages that the user never saw.
   * A draft that was put, and that nothing will tell of any more, is put again.
   */
  async discardAll(): Promise<void> {
    for (const { id } of await this.allHeads()) await this.releaseConversation(id);
    this.heads.clear();
    this.changed.clear();
    this.setAccount({
      logId: undefined,
      useq: undefined,
      syncCursor: undefined,
      isListComplete: false,
      requests: undefined,
    });
    this.touched.everything = true;
    await this.rows.removeAll("conversations");
    for (const table of conversationTables) await this.rows.removeAll(table);
    await this.rows.removeAll("profiles");
    for (const { key, write, state } of await this.rows.all("outbox")) {
      if (state === "waiting" && (write.kind === "read" || write.kind === "clear")) {
        await this.rows.remove("outbox", key);
      }
    }
    await putDraftsAgain(this);
  }

  // What is to be shown.

  show(id: ConversationId): void {
    this.shown.add(id);
  }

  showReceipts(id: ConversationId): void {
    this.receipts.add(id);
  }

  showMembers(id: ConversationId): void {
    this.members.add(id);
  }

  showEverything(): void {
    this.touched.everything = true;
  }

  showProfiles(): void {
    this.touched.profiles = true;
  }

  showOutbox(): void {
    this.touched.outbox = true;
  }

  announce(message: Message): void {
    this.touched.arrivals.push(message);
  }

  // Content of files.

  /** The files of a message that nobody is to see any more are removed from this device. */
  async releaseAttachments(message: Message | undefined): Promise<void> {
    for (const { id } of message?.attachments ?? []) await this.release({ id });
  }

  private async releaseConversation(id: ConversationId): Promise<void> {
    for (const message of await this.rows.all("messages", within(id))) await this.releaseAttachments(message);
  }

  async release(release: ReleaseRecord): Promise<void> {
    this.touched.released.push(release.id);
    await this.rows.put("releases", release);
  }

  private async counts(head: ConversationRecord): Promise<Pick<ConversationRecord, "unread" | "mentions">> {
    const count = (part?: "mentioned") =>
      countUnread(this.rows, head, hiddenIn(this.account, head), this.account.userId, part);
    const unread = !isRequest(this.account, head.id) && await count() || undefined;
    return { unread, mentions: unread && Math.min(unread, await count("mentioned")) || undefined };
  }

  private async finish(): Promise<Touched> {
    for (const id of new Set([...this.changed, ...this.shown])) {
      const head = await this.head(id);
      if (!head) continue;
      const isCounted = this.shown.has(id) || this.touched.everything;
      const counts = isCounted ? await this.counts(head) : head;
      const { unread, mentions } = counts;
      if (this.changed.has(id) || unread !== head.unread || mentions !== head.mentions) {
        await this.rows.put("conversations", { ...head, unread, mentions });
      }
    }
    if (this.isAccountChanged) await this.rows.put("account", this.account);
    return {
      ...this.touched,
      conversations: [...this.shown],
      receipts: [...this.receipts],
      members: [...this.members],
      account: this.isAccountChanged,
    };
  }
}

export async function accountOf(rows: Reading): Promise<Account> {
  return await rows.get("account", 0) ?? { only: 0, isListComplete: false };
}

function newHead(id: ConversationId): ConversationRecord {
  return {
    ...{ id, needsHead: true, headSeq: 0, kind: "", createdAt: "", lastSeq: 0, memberCount: 0, role: "", windows: [] },
    ...{ clearedSeq: 0, readSeq: 0, deliveredSeq: 0, toldUnread: { count: 0, seq: 0, after: 0 }, firstCursor: 0 },
    ...{ statusVersion: 0, ranges: [], topSeq: 0, epoch: 0 },
  };
}
