import type { ConversationId } from "../model.ts";
import type { CopyWriter } from "./copy.ts";
import { within } from "./database.ts";
import { messagesAfter } from "./messages.ts";
import { toldWithout } from "./unread.ts";

/** Takes messages out of the copy that the server keeps no longer: those before a position. */
export async function trimHistory(copy: CopyWriter, id: ConversationId, keptFrom: number): Promise<void> {
  const head = await copy.head(id);
  if (!head || keptFrom <= (head.keptFrom ?? 1)) return;
  const { toldUnread } = head;
  // What the server counted and is not stored here is counted anew.
  const needsHead = head.needsHead || toldUnread.count > 0 && toldUnread.after + 1 < keptFrom;
  const left = await toldWithout(copy.rows, head, keptFrom, copy.account.userId);
  for (const message of await messagesAfter(copy.rows, id, head.keptFrom ?? 1, keptFrom - 1)) {
    await copy.releaseAttachments(message);
    await copy.rows.removeAll("revisions", within(id, message.id));
  }
  await copy.rows.removeAll("messages", { from: [id, 0], to: [id, keptFrom - 1] });
  copy.setHead(id, { keptFrom, needsHead, toldUnread: left });
  copy.show(id);
}
