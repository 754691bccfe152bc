import type { UserNames } from "../core/client.ts";
import { make } from "./dom.ts";
import type { UserId } from "../core/model.ts";

// What stands in a bubble: text, with links and mentions.

/** A link ends where a control of writing direction would make it look like another one. */
const link = /\b(?:https?:\/\/|mailto:)[^\s<>"'“”\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gi;
const allowed = new Set(["http:", "https:", "mailto:"]);

/** The text as nodes; what looks like a link to somewhere else than a page or an address stays text. */
export function textNodes(text: string, mentions: UserId[], names: UserNames): Node[] {
  const nodes: Node[] = [];
  let end = 0;
  for (const match of text.matchAll(link)) {
    const address = match[0].replace(/[.,:;!?)\]}]+$/, "");
    const node = linkTo(address);
    if (!node) continue;
    nodes.push(...withMentions(text.slice(end, match.index), mentions, names), node);
    end = match.index + address.length;
  }
  nodes.push(...withMentions(text.slice(end), mentions, names));
  return nodes;
}

function linkTo(address: string): Node | undefined {
  if (!URL.canParse(address) || !allowed.has(new URL(address).protocol)) return undefined;
  return make("a", { href: address, rel: "noopener noreferrer", target: "_blank" }, address);
}

function withMentions(text: string, mentions: UserId[], names: UserNames): Node[] {
  if (!mentions.length) return text ? [document.createTextNode(text)] : [];
  const pieces = text.split(patternOf(mentions));
  return pieces.filter((piece) => piece).map((piece) =>
    pieces.length > 1 && piece.startsWith("@") && mentions.includes(piece.slice(1))
      ? make("b.mention", { title: piece }, make("bdi", piece === atAll ? piece : `@${names.of(piece.slice(1))}`))
      : document.createTextNode(piece)
  );
}

/** Finds those who are mentioned. The longest name first: "@ann" is not found in "@anna". */
export function patternOf(mentions: UserId[]): RegExp {
  const ids = [...mentions].sort((one, other) => other.length - one.length).map(escaped);
  return new RegExp(`(@(?:${ids.join("|")})(?![\\w@-]))`, "g");
}

function escaped(name: string): string {
  return name.replace(/[.+]/g, "\\$&");
}

/** What stands in a text for everybody, unless a member is called so. */
export const everybody = "all";
const atAll = `@${everybody}`;

/** The members that a text names by `@`. */
export function mentionsIn(text: string, members: UserId[]): UserId[] {
  const named = new Set(
    [...text.matchAll(/@([\w.@:+-]+)/g)].flatMap(([, name]) => [name!, name!.replace(/[.:+-]+$/, "")]),
  );
  return members.filter((member) => named.has(member));
}

// Made at run time: an older browser without this flag shows emoji like other text.
const emoji = emojiPattern();

function emojiPattern(): RegExp | undefined {
  try {
    return new RegExp("^(?:\\p{RGI_Emoji}\\s?){1,3}$", "v");
  } catch {
    return undefined;
  }
}

/** One to three emoji and nothing else are shown large, without a bubble. */
export function isOnlyEmoji(text: string): boolean {
  return text.length <= 48 && !!emoji?.test(text);
}

/** Whether a text is so long that it is shown folded. */
export function isLong(text: string): boolean {
  if (text.length > 3_000) return true;
  let lines = 0;
  for (let place = -1; lines <= 40 && (place = text.indexOf("\n", place + 1)) >= 0;) lines++;
  return lines > 40;
}
