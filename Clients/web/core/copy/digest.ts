import type { ConversationId, Message, PageDigest } from "../model.ts";
import { accountOf } from "./copy.ts";
import type { Database } from "./database.ts";
import { rangeAt } from "./ranges.ts";
import { isSpoken } from "./unread.ts";

// Comparing a copy with the server's: "Comparing copies" in the API guide.

export type Comparison = "notComparable" | "equal" | "different";

/**
 * Compares how the messages created at a page's positions read. A copy that is at other positions than the digest, or
 * lacks messages of the page, says nothing.
 */
export async function compare(
  database: Database,
  id: ConversationId,
  page: PageDigest,
  { lastSeq, useq }: { lastSeq: number; useq: number },
): Promise<Comparison> {
  const messages = await database.read(async (rows) => {
    const head = await rows.get("conversations", id);
    const isWhole = (rangeAt(head?.ranges ?? [], page.fromSeq)?.[1] ?? 0) >= page.toSeq;
    if (head?.cursor !== lastSeq || !isWhole || (await accountOf(rows)).useq !== useq) return undefined;
    return await rows.all("messages", { from: [id, page.fromSeq], to: [id, page.toSeq] });
  });
  // Pages that did not come over TLS have no digests.
  if (!messages || !crypto.subtle) return "notComparable";
  return await digestOf(messages) === page.state ? "equal" : "different";
}

/** The digest `state` of messages, ascending. */
export async function digestOf(messages: Message[]): Promise<string> {
  const lines = messages.filter(isSpoken).map(line);
  return await sha256((await Promise.all(lines)).join(""));
}

async function line(message: Message): Promise<string> {
  const { seq, id, senderId, replyTo, editedAt, mentions, tapbackCounts } = message;
  const text = message.text ?? message.sealed ?? null;
  const tapbacks = Object.entries(tapbackCounts).sort(([one], [other]) => compareBytes(one, other));
  const fields = [
    ...[seq, id, senderId, replyTo?.messageId, editedAt],
    ...[mentions.join(","), tapbacks.map(([kind, count]) => `${kind}:${count}`).join(",")],
    text === null ? "-" : await sha256(text),
  ];
  if (message.poll) {
    fields.push(`${message.poll.closedAt ? "closed" : "open"}:${message.poll.options.map(({ votes }) => votes)}`);
  }
  return fields.map((field) => field || "-").join(" ") + "\n";
}

const encoder = new TextEncoder();

/** UTF-8 orders as code points do, UTF-16 units do not. */
function compareBytes(one: string, other: string): number {
  const [bytes, others] = [encoder.encode(one), encoder.encode(other)];
  const index = bytes.findIndex((byte, index) => byte !== others[index]);
  return index < 0 ? bytes.length - others.length : bytes[index]! - (others[index] ?? -1);
}

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
