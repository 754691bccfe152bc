import type { SearchResult } from "./client.ts";
import { hiddenIn, isShown } from "./copy/blocks.ts";
import { accountOf } from "./copy/copy.ts";
import type { Reading } from "./copy/database.ts";
import { rangeAt } from "./copy/ranges.ts";
import { isRequest } from "./copy/requests.ts";
import type { ConversationId, SearchPage } from "./model.ts";

const mostResults = 50;
/** So many of the newest messages of each conversation are looked through while the server cannot be asked. */
const messagesRead = 5_000;
const conversationsRead = 50;
/** Characters shown before a match. */
const before = 60;
const shown = 160;

/** The results of a page: U+0002 precedes and U+0003 follows each match. */
export function resultsOf({ results }: SearchPage): SearchResult[] {
  return results.map(({ message, snippet }) => ({
    message,
    pieces: snippet.replaceAll("\u0003", "\u0002").split("\u0002"),
  }));
}

/** The server finds also what is not shown. */
export async function shownResults(rows: Reading, results: SearchResult[]): Promise<SearchResult[]> {
  const account = await accountOf(rows);
  const shown: SearchResult[] = [];
  for (const result of account.blocked?.length ? results : []) {
    const head = await rows.get("conversations", result.message.conversationId) ?? { kind: "" };
    if (isShown(result.message, hiddenIn(account, head))) shown.push(result);
  }
  return account.blocked?.length ? shown : results;
}

/**
 * Messages of the copy that have all words of a text, newest first. What the user may have hidden without the copy knowing
 * is not among them.
 */
export async function searchCopy(rows: Reading, words: string, id?: ConversationId): Promise<SearchResult[]> {
  const wanted = words.toLowerCase().split(/[^\p{L}\p{N}\p{S}]+/u).filter(Boolean);
  if (!wanted.length) return [];
  const account = await accountOf(rows);
  const found: SearchResult[] = [];
  for (const conversation of id === undefined ? await latest(rows) : [id]) {
    if (isRequest(account, conversation)) continue;
    const { unsureThrough = 0, ranges = [], kind = "" } = await rows.get("conversations", conversation) ?? {};
    const isHidden = hiddenIn(account, { kind });
    const query = { from: [conversation, 1], to: [conversation, []], isDescending: true, limit: messagesRead };
    for (const message of await rows.all("messages", query)) {
      const isUnsure = message.seq <= unsureThrough && !rangeAt(ranges, message.seq);
      if (isUnsure || !isShown(message, isHidden)) continue;
      // As the server's: the text, and below it the names of its files.
      const text = [message.text ?? "", ...message.attachments?.map(({ name }) => name) ?? []].join("\n").trim();
      const lower = text.toLowerCase();
      if (text && wanted.every((word) => lower.includes(word))) found.push({ message, pieces: pieces(text, wanted) });
    }
  }
  found.sort((one, other) => one.message.createdAt > other.message.createdAt ? -1 : 1);
  return found.slice(0, mostResults);
}

async function latest(rows: Reading): Promise<ConversationId[]> {
  const query = { index: "activity", isDescending: true, limit: conversationsRead };
  return (await rows.all("conversations", query)).map(({ id }) => id);
}

/** A piece of the text around the first match, cut at the matches. */
function pieces(text: string, wanted: string[]): string[] {
  const escaped = wanted.map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  const pattern = new RegExp(`(${escaped.join("|")})`, "giu");
  const first = Math.max(0, text.search(pattern) - before);
  const part = text.slice(first, first + shown);
  return `${first ? "…" : ""}${part}${first + shown < text.length ? "…" : ""}`.split(pattern);
}
