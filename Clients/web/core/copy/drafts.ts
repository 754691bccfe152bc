import type { Draft } from "../client.ts";
import type { ConversationId, KeptDraft, Problem } from "../model.ts";
import type { PendingWrite } from "../outbox/writes.ts";
import type { CopyWriter } from "./copy.ts";
import type { ConversationRecord, OutboxRow } from "./database.ts";
import { outboxOf } from "./outbox-rows.ts";

// What is being written. It is what was written here, a row of the outbox, until the server has told of it, and else what the
// server has told. A row is `held` where it is not to be sent by itself: it was put and not told yet, or the server refused
// it, or another device has a newer one.

type DraftRow = OutboxRow & { write: Extract<PendingWrite, { kind: "draft" }> };

function isDraft(row: OutboxRow): row is DraftRow {
  return row.write.kind === "draft";
}

/** In the order of writing: the last one counts. */
async function ownDrafts(copy: CopyWriter, id: ConversationId): Promise<DraftRow[]> {
  return (await outboxOf(copy.rows, id)).filter(isDraft);
}

export function isSame(one?: Draft, other?: Draft): boolean {
  return one?.text === other?.text && one?.replyTo === other?.replyTo;
}

/** As the server has it: what has no text is none there. */
export function kept(draft?: Draft): Draft | undefined {
  return draft?.text ? draft : undefined;
}

export function shownDraft(head: ConversationRecord | undefined, pending: OutboxRow[]): Draft | undefined {
  const own = pending.findLast(isDraft);
  return own ? own.write.draft : head?.draft;
}

// By the user.

/** What a request was made with is repeated until the server has answered, and what was written since follows it. */
export async function enqueueDraft(copy: CopyWriter, row: Omit<OutboxRow, "key">, draft?: Draft): Promise<void> {
  const { conversationId: id } = row;
  const own = await ownDrafts(copy, id);
  const head = await copy.head(id);
  if (isSame(draft, shownDraft(head, own))) return;
  const known = own.filter(({ wasTried, problem }) => wasTried && !problem);
  for (const { key } of own) if (!known.some((row) => row.key === key)) await copy.rows.remove("outbox", key);
  // Else the server has it, or will have it.
  if (!isSame(draft, shownDraft(head, known))) await copy.rows.append("outbox", row);
}

// By the server.

/** The server has it, and has not told of it yet. */
function isPut({ state, wasTried, problem }: OutboxRow): boolean {
  return state === "held" && wasTried && !problem;
}

/** Whether the server still has what was put is not known any more. The last one counts. */
export async function putDraftsAgain(copy: CopyWriter): Promise<void> {
  const rows = (await copy.rows.all("outbox")).filter(isDraft);
  for (const row of rows.filter(isPut)) {
    const isLast = !rows.some(({ conversationId: id, key }) => id === row.conversationId && key > row.key);
    if (isLast) await copy.rows.put("outbox", { ...row, state: "waiting", wasTried: false });
    else await copy.rows.remove("outbox", row.key);
  }
}

/** If it `isWhole`, it is a response, after which what was missed is not told again. */
export async function tellDraft(
  copy: CopyWriter,
  id: ConversationId,
  told?: KeptDraft,
  isWhole = false,
): Promise<void> {
  const draft = told && { text: told.text, replyTo: told.replyTo };
  const isNews = !isSame(draft, (await copy.head(id))?.draft);
  if (isNews) await setTold(copy, id, draft);
  const own = await ownDrafts(copy, id);
  const put = own.filter(({ wasTried }) => wasTried);
  // Told again, a change of before comes without its draft: then it may be of any that was put.
  const last = put.findLast(({ write }) => isWhole || isSame(kept(write.draft), draft)) ??
    (draft ? undefined : put.at(-1));
  for (const row of put) {
    if (row.key > (last?.key ?? 0)) continue;
    if (isPut(row)) await copy.rows.remove("outbox", row.key);
    else await copy.rows.put("outbox", { ...row, write: { ...row.write, isTold: true } });
  }
  const [first] = own;
  if (!first || !isNews || own.length > 1 || first.wasTried) return;
  // Another device has written, while this was not put. The newer one stays with the server, and this one here until the
  // user goes on with it.
  const isOlder = told && told.at > first.at;
  if (isSame(first.write.draft, draft) || isOlder && !first.write.draft) await copy.rows.remove("outbox", first.key);
  else if (isOlder) await copy.rows.put("outbox", { ...first, state: "held" });
}

async function setTold(copy: CopyWriter, id: ConversationId, draft?: Draft): Promise<void> {
  if (await copy.head(id)) copy.setHead(id, { draft });
  if (draft) return;
  // There is room for one more: the oldest that there was none for is put.
  const refused = (await copy.rows.all("outbox")).find((row) =>
    isDraft(row) && row.state === "held" && row.problem?.status === 409
  );
  if (refused) await copy.rows.put("outbox", { ...refused, state: "waiting", wasTried: false, problem: undefined });
}

/**
 * A draft was put. What the server told meanwhile may have come before it or after it, so what is shown stays until the server
 * tells of it. With a problem it was refused, and stays on this device until the user goes on with it.
 */
export async function finishDraft(copy: CopyWriter, { key, conversationId: id }: OutboxRow, problem?: Problem) {
  const own = await ownDrafts(copy, id);
  const row = own.find((row) => row.key === key);
  if (!row) return;
  const { draft, isTold } = row.write;
  const isLast = own.at(-1) === row;
  // A reply without a text is kept on this device alone.
  const isAlone = !problem && draft && !draft.text;
  // What was put before this one is told first.
  const isShown = isTold || own[0] === row && isSame(draft, (await copy.head(id))?.draft);
  const isDone = problem || isAlone ? !isLast : isShown;
  if (isDone) await copy.rows.remove("outbox", key);
  else await copy.rows.put("outbox", { ...row, state: "held", wasTried: !isAlone, problem });
  copy.show(id);
}

/** The user has left: nothing can be sent there. */
export async function dropDrafts(copy: CopyWriter, id: ConversationId): Promise<void> {
  for (const { key } of await ownDrafts(copy, id)) await copy.rows.remove("outbox", key);
  copy.show(id);
  if ((await copy.head(id))?.draft) await setTold(copy, id);
}
