import type { TimelineRow } from "../core/client.ts";
import { isSameDay } from "./words.ts";

// How messages stand together: runs of one sender, times between them.

/** Where a row stands among its neighbours. */
export interface Place {
  /** A day, or an hour without a message, ends before it: the time stands above it. */
  startsTime: boolean;
  /** The first, or last, of what one sender says in one go. */
  startsRun: boolean;
  endsRun: boolean;
}

const pause = 3_600_000;
const breath = 300_000;

export function placesOf(rows: TimelineRow[]): Place[] {
  const starts = rows.map((row, index) => startsTime(rows[index - 1], row));
  const runs = rows.map((row, index) => starts[index]! || !continues(rows[index - 1]!, row));
  return rows.map((_, index) => {
    return { startsTime: starts[index]!, startsRun: runs[index]!, endsRun: runs[index + 1] ?? true };
  });
}

/** The last of one's own messages that the server has and that is not deleted. */
export function lastSentOf(rows: TimelineRow[]): TimelineRow | undefined {
  return rows.findLast(({ isOwn, state, message: { kind, deletedForEveryone } }) =>
    isOwn && state === "stored" && kind !== "system" && !deletedForEveryone
  );
}

function startsTime(before: TimelineRow | undefined, row: TimelineRow): boolean {
  if (!before) return true;
  return !isSameDay(before.message.createdAt, row.message.createdAt) || between(before, row) > pause;
}

function continues(before: TimelineRow, row: TimelineRow): boolean {
  return before.message.senderId === row.message.senderId && before.message.kind !== "system" &&
    row.message.kind !== "system" && between(before, row) < breath;
}

function between(one: TimelineRow, other: TimelineRow): number {
  return Date.parse(other.message.createdAt) - Date.parse(one.message.createdAt);
}
