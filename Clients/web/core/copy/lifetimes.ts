import { isFromReading, type LifetimeStart, type MessageLifetime } from "../model.ts";
import { CopyWriter, type Touched } from "./copy.ts";
import type { Database } from "./database.ts";
import { forgetPreviews, messagesAfter, noEpoch } from "./messages.ts";
import { buried } from "./outbox-rows.ts";

// Messages that disappear by themselves. The server deletes them, and tells of it; a device without a connection takes them out
// of its copy as well.

/** As it is shown before the server has said since when. */
export function pendingLifetime(seconds: number | null, from?: LifetimeStart): MessageLifetime | undefined {
  return seconds === null ? undefined : { seconds, from, sinceSeq: Number.MAX_SAFE_INTEGER };
}

/** Takes messages out of the copy whose time is over by the server's clock. Where there are no lifetimes, one index is looked into. */
export async function expireMessages(database: Database, deviceTime: number): Promise<Touched | undefined> {
  const heads = await database.read((rows) => rows.all("conversations", { index: "lifetime" }));
  if (!heads.length) return undefined;
  return await CopyWriter.run(database, async (copy) => {
    const now = deviceTime - (copy.account.clockAhead ?? 0);
    for (const { id } of heads) {
      const head = await copy.head(id);
      if (!head?.messageLifetime) continue;
      const { seconds, from, sinceSeq } = head.messageLifetime;
      if (isFromReading(from)) continue; // Only the server knows when all have read it.
      const first = Math.max(sinceSeq, head.expiredSeq ?? 0) + 1;
      const messages = await messagesAfter(copy.rows, id, first, Infinity, mostAtOnce);
      const over = messages.filter(({ createdAt }) => Date.parse(createdAt) + seconds * 1_000 <= now);
      for (const message of over) {
        if (message.kind === "system" || message.deletedForEveryone) continue;
        const gone = buried(message, new Date(now).toISOString());
        await copy.rows.put("messages", { ...gone, expired: true, epoch: noEpoch });
        await copy.rows.remove("revisions", [id, message.id]);
        await forgetPreviews(copy, message);
        await copy.releaseAttachments(message);
      }
      if (!over.length) continue;
      copy.setHead(id, { expiredSeq: over.at(-1)!.seq });
      copy.show(id);
    }
  });
}

const mostAtOnce = 1_000;
