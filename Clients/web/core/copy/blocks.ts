import type { Message, PrivateChange, UserId } from "../model.ts";
import { type CopyWriter } from "./copy.ts";
import type { Account, ConversationRecord, OutboxRow, Reading } from "./database.ts";
import { messagesAfter } from "./messages.ts";
import { outboxOf } from "./outbox-rows.ts";
import { rangeAt } from "./ranges.ts";

// Whom the user has blocked, and what is not shown for that.

/** What the server has told of a user: whether they are blocked. */
export interface Block {
  isTold: boolean;
  /** The private stream has told it since the list was missed. */
  isRecent?: true;
  /** A number by chance, another one each time that the server tells of it. */
  version: number;
}

/** By user. With them the whole list is known, if it `isWhole`, with all private changes up to `useq`. */
export interface Blocks {
  users: Record<UserId, Block>;
  isWhole: boolean;
  useq: number;
}

const nothing: Blocks = { users: {}, isWhole: false, useq: 0 };

/** A user may be called like what every object has. */
function blockOf({ users }: Blocks, user: UserId): Block | undefined {
  return Object.hasOwn(users, user) ? users[user] : undefined;
}

type IsHidden = (user: UserId | undefined) => boolean;

/**
 * The rule: in groups, what blocked users write and do is not shown. Everything that is shown or counted asks this. A
 * conversation of two shows what it had before it ended.
 */
export function hiddenIn({ blocked }: Account, { kind }: { kind: string }): IsHidden {
  if (!blocked?.length || kind === "direct") return () => false;
  const users = new Set(blocked);
  return (user) => user !== undefined && users.has(user);
}

/** What happened to the group is shown, whoever did it. What is over is not, not even as deleted. */
export function isShown({ senderId, kind, expired }: Message, isHidden: IsHidden): boolean {
  return !expired && (kind === "system" || !isHidden(senderId));
}

/** A message with the tapbacks that are shown, as far as it names who set them. */
export function withShownTapbacks<Row extends Message>(message: Row, isHidden: IsHidden): Row {
  const hidden = message.tapbacks.filter(({ userId }) => isHidden(userId));
  if (!hidden.length) return message;
  const tapbackCounts = { ...message.tapbackCounts };
  for (const { kind } of hidden) if (--tapbackCounts[kind]! <= 0) delete tapbackCounts[kind];
  return { ...message, tapbacks: message.tapbacks.filter(({ userId }) => !isHidden(userId)), tapbackCounts };
}

/**
 * Up to where the user has read who has read a message: what is not shown and follows it at once is read with it. Else who
 * is blocked could tell it from receipts that never come.
 */
export async function readThrough(rows: Reading, head: ConversationRecord, account: Account, seq: number) {
  const last = account.blocked?.length ? rangeAt(head.ranges, seq)?.[1] ?? seq : seq;
  const isHidden = hiddenIn(account, head);
  let through = seq;
  for (const message of await messagesAfter(rows, head.id, seq + 1, last)) {
    if (isShown(message, isHidden)) break;
    through = message.seq;
  }
  return through;
}

// By the server.

/**
 * Takes the whole list, as of a position of the private stream. Without one it is a response, which may be older than what
 * the stream has told since it was asked for, and says nothing if the list is known.
 */
export async function storeBlocks(copy: CopyWriter, blocked: UserId[], useq?: number): Promise<void> {
  const known = copy.account.blocks ?? nothing;
  if (useq === undefined && known.isWhole) return;
  const users = Object.fromEntries([...Object.keys(known.users), ...blocked].map((user): [UserId, Block] => {
    const { isTold, isRecent } = blockOf(known, user) ?? {};
    const stays = useq === undefined ? isRecent : undefined;
    return [user, { isTold: stays ? isTold! : blocked.includes(user), isRecent: stays, version: Math.random() }];
  }));
  copy.setAccount({ blocks: { users, isWhole: true, useq: useq ?? known.useq } });
  await showBlocks(copy);
}

/** Private changes were missed: what the stream tells from now on is newer than the list that is asked for. */
export function outdateBlocks(copy: CopyWriter): void {
  const { users, useq } = copy.account.blocks ?? nothing;
  const old = Object.entries(users).map(([user, block]) => [user, { ...block, isRecent: undefined }]);
  copy.setAccount({ blocks: { users: Object.fromEntries(old), isWhole: false, useq } });
}

export async function applyBlock(copy: CopyWriter, { useq, userId, blocked }: PrivateChange): Promise<void> {
  if (userId === undefined || blocked === undefined) return;
  const known = copy.account.blocks ?? nothing;
  // Of an earlier change nothing is shown for a moment: the list has what came of it.
  const isTold = useq > known.useq ? blocked : blockOf(known, userId)?.isTold ?? false;
  setBlock(copy, userId, { isTold, isRecent: true, version: Math.random() });
  await showBlocks(copy);
}

function setBlock(copy: CopyWriter, user: UserId, block: Block): void {
  const known = copy.account.blocks ?? nothing;
  copy.setAccount({ blocks: { ...known, users: { ...known.users, [user]: block } } });
}

// By the user.

/** Takes the place of an earlier one of the same user that no request was made with, and is in force at once. */
export async function enqueueBlock(copy: CopyWriter, row: Omit<OutboxRow, "key">): Promise<void> {
  const { write } = row;
  if (write.kind !== "block") return;
  for (const { key, write: earlier, state, wasTried } of await outboxOf(copy.rows, "")) {
    const isSame = earlier.kind === "block" && earlier.user === write.user && state === "waiting" && !wasTried;
    if (isSame) await copy.rows.remove("outbox", key);
  }
  const known = blockOf(copy.account.blocks ?? nothing, write.user);
  // A list may come that does not name them: it tells of them, too.
  if (!known) setBlock(copy, write.user, { isTold: false, version: 0 });
  await copy.rows.append("outbox", { ...row, write: { ...write, after: known?.version ?? 0 } });
  await showBlocks(copy);
}

/** It is with the server. Unless that has told of it meanwhile, perhaps of a later one, it is as the user set it. */
export async function completeBlock(copy: CopyWriter, user: UserId, isTold: boolean, after: number): Promise<void> {
  const known = blockOf(copy.account.blocks ?? nothing, user);
  if (known?.version === after) setBlock(copy, user, { ...known, isTold });
  await showBlocks(copy);
}

/** Shows what the server told with what waits in the outbox. */
export async function showBlocks(copy: CopyWriter): Promise<void> {
  const { users } = copy.account.blocks ?? nothing;
  const blocked = new Set(Object.keys(users).filter((user) => users[user]!.isTold));
  for (const { write, state } of await outboxOf(copy.rows, "")) {
    if (write.kind !== "block" || state !== "waiting") continue;
    if (write.isBlocked) blocked.add(write.user);
    else blocked.delete(write.user);
  }
  const before = copy.account.blocked ?? [];
  if (before.length === blocked.size && before.every((user) => blocked.has(user))) return;
  copy.setAccount({ blocked: [...blocked].sort() });
  // Whoever is blocked may be anywhere.
  copy.showEverything();
  for (const { id, lastSeq, readSeq, clearedSeq } of await copy.allHeads()) {
    if (Math.max(readSeq, clearedSeq) < lastSeq) copy.show(id);
  }
}
