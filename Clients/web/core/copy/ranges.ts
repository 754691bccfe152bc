import type { History } from "../model.ts";
import type { Place, Range } from "../sync/events.ts";

// Positions of which the copy has every message: ranges in ascending order that neither touch nor overlap.

export function cover(ranges: Range[], [first, last]: Range): Range[] {
  const before = ranges.filter((range) => range[1] < first - 1);
  const after = ranges.filter((range) => range[0] > last + 1);
  const touching = ranges.slice(before.length, ranges.length - after.length);
  const from = Math.min(first, ...touching.map((range) => range[0]));
  const to = Math.max(last, ...touching.map((range) => range[1]));
  return [...before, [from, to], ...after];
}

export function uncover(ranges: Range[], [first, last]: Range): Range[] {
  return ranges.flatMap((range): Range[] => {
    if (range[1] < first || range[0] > last) return [range];
    const rest: Range[] = [];
    if (range[0] < first) rest.push([range[0], first - 1]);
    if (range[1] > last) rest.push([last + 1, range[1]]);
    return rest;
  });
}

/** The range that a position lies in. */
export function rangeAt(ranges: Range[], seq: number): Range | undefined {
  return ranges.find(([first, last]) => first <= seq && seq <= last);
}

/**
 * The positions of which a page has every message: from a page's edge if there are more beyond it, else from the end of
 * the history.
 */
export function coveredBy(page: History, place: Place): Range | undefined {
  let first = page.hasMoreBefore ? page.messages[0]?.seq : 1;
  let last = page.hasMoreAfter ? page.messages.at(-1)?.seq : page.lastSeq;
  if (typeof place === "object" && "before" in place) last = Math.min(place.before - 1, page.lastSeq);
  if (typeof place === "object" && "after" in place) first = place.after + 1;
  return first === undefined || last === undefined || first > last ? undefined : [first, last];
}
