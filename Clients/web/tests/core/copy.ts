import { applyWrites } from "../../core/copy/apply.ts";
import { CopyWriter, type Touched } from "../../core/copy/copy.ts";
import type { OutboxRow } from "../../core/copy/database.ts";
import { MemoryDatabase } from "../../core/copy/memory.ts";
import { enqueue } from "../../core/copy/outbox-rows.ts";
import { timeline, type TimelinePage, type TimelinePart } from "../../core/copy/timeline.ts";
import type { Change, Conversation, History, Message } from "../../core/model.ts";
import type { PendingWrite } from "../../core/outbox/writes.ts";
import type { SyncWrite } from "../../core/sync/events.ts";

export const talk = "01900000-0000-7000-8000-00000000cafe";

/** A copy of anna's with one conversation, and short ways to change it and to look at it. */
export class Copy {
  readonly database = new MemoryDatabase();

  static async begin(lastSeq = 10, fields: Partial<Conversation> = {}): Promise<Copy> {
    const copy = new Copy();
    await copy.apply(
      { write: "session", userId: "anna", logId: "log", useq: 0 },
      { write: "conversation", conversation: conversation(lastSeq, fields), follows: true },
    );
    return copy;
  }

  change(body: (copy: CopyWriter) => Promise<unknown>): Promise<Touched> {
    return CopyWriter.run(this.database, async (copy) => void await body(copy));
  }

  apply(...writes: SyncWrite[]): Promise<Touched> {
    return this.change((copy) => applyWrites(copy, writes));
  }

  write(write: PendingWrite, messageId?: string): Promise<Touched> {
    const about = { conversationId: talk, messageId, at: "2026-03-07T12:00:00.000Z", idempotencyKey: "key" };
    return this.change((copy) => enqueue(copy, { ...about, write }));
  }

  rows(): Promise<OutboxRow[]> {
    return this.database.read((rows) => rows.all("outbox"));
  }

  page(part: TimelinePart = { at: "end", before: 100, after: 0 }): Promise<TimelinePage> {
    return this.database.read((rows) => timeline(rows, talk, part));
  }

  async texts(): Promise<(string | null)[]> {
    return (await this.page()).rows.map(({ message }) => message.text);
  }

  stored(seq: number) {
    return this.database.read((rows) => rows.get("messages", [talk, seq]));
  }

  async head() {
    return (await this.database.read((rows) => rows.get("conversations", talk)))!;
  }
}

export function conversation(lastSeq: number, fields: Partial<Conversation> = {}): Conversation {
  return {
    ...{ id: talk, kind: "group", title: "Sunday", createdAt: time(1), lastSeq, lastActivityAt: time(lastSeq) },
    ...{ memberCount: 3, role: "member", windows: [{ from: 1 }], clearedSeq: 0, unreadCount: 0, readSeq: 0 },
    ...{ deliveredSeq: 0, ...fields },
  };
}

export function time(seconds: number): string {
  return new Date(Date.UTC(2026, 2, 7) + 1_000 * seconds).toISOString();
}

export function messageId(number: number): string {
  return `0198c2a5-0000-7000-8000-${String(number).padStart(12, "0")}`;
}

export function message(seq: number, fields: Partial<Message> = {}): Message {
  return {
    ...{ id: messageId(seq), conversationId: talk, seq, changeSeq: seq, senderId: "ben", kind: "text" },
    ...{ text: `text ${seq}`, sentAt: time(seq), createdAt: time(seq), tapbacks: [], tapbackCounts: {}, mentions: [] },
    ...fields,
  };
}

export function created(seq: number, fields: Partial<Message> = {}): SyncWrite {
  const about = { conversationId: talk, seq, kind: "message.created", at: time(seq), actorId: "ben" };
  return { write: "change", change: { ...about, message: message(seq, fields) }, movesCursor: true };
}

export function changed(seq: number, fields: Partial<Change>): SyncWrite {
  const change = { conversationId: talk, seq, kind: "message.edited", at: time(seq), actorId: "ben", ...fields };
  return { write: "change", change, movesCursor: true };
}

/** A page with all messages from one position to another. */
export function history(first: number, last: number, lastSeq: number): SyncWrite {
  const messages = Array.from({ length: last - first + 1 }, (_, index) => message(first + index));
  const page: History = { messages, hasMoreBefore: first > 1, hasMoreAfter: last < lastSeq, lastSeq };
  return { write: "history", conversation: talk, page, place: "newest" };
}

export function send(text: string, replyTo?: string): PendingWrite {
  return { kind: "send", text, replyTo, mentions: [], sentAt: time(0) };
}

/** Fails with both values where they are not equal as JSON. */
export function expectEqual(found: unknown, expected: unknown): void {
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
  if (one !== other) throw new Error(`expected ${other}, found ${one}`);
}
