import type { ParleyClient, TimelineRow } from "../core/client.ts";
import type { ConversationId, Message, MessageId, ReceiptPage, TapbackPage, UserId, VotePage } from "../core/model.ts";
import { sealedTitle } from "../core/media/kinds.ts";
import { may } from "../core/permissions.ts";
import { personOf } from "./avatar.ts";
import { openDialog, reasonOf, toggle } from "./dialog.ts";
import { Endings, make, nodesOf, on } from "./dom.ts";
import { signOf, spokenText, titleOf, wholeTime } from "./words.ts";

// What one asks about a single message. It is loaded from the server when asked for.

export function showRevisions(owner: Element, client: ParleyClient, row: TimelineRow): void {
  const { list } = loading(owner, "Edits");
  fill(list, async () => {
    const revisions = await client.revisions(row.message.conversationId, row.id);
    return revisions.map(({ text = sealedTitle, at }) =>
      make("li", make("span.wrapped", { dir: "auto" }, text), make("time", at ? wholeTime(at) : ""))
    );
  });
}

export function showReceipts(owner: Element, client: ParleyClient, row: TimelineRow): void {
  const { list, endings } = loading(owner, "Read by");
  const person = personIn(client, endings);
  pages(list, (after) => client.messageReceipts(row.message.conversationId, row.id, after), (page: ReceiptPage) => {
    const readers = new Set(page.read.map(({ userId }) => userId));
    const delivered = page.delivered.filter(({ userId }) => !readers.has(userId));
    return [
      ...page.read.map(({ userId, at }) => person(userId, `Read ${wholeTime(at)}`)),
      ...delivered.map(({ userId, at }) => person(userId, `Delivered ${wholeTime(at)}`)),
    ];
  });
}

export function showTapbacks(owner: Element, client: ParleyClient, row: TimelineRow): void {
  const { list, endings } = loading(owner, "Tapbacks");
  const person = personIn(client, endings);
  pages(
    list,
    (after) => client.tapbacks(row.message.conversationId, row.id, after),
    (page: TapbackPage) => page.tapbacks.map(({ userId, kind }) => person(userId, signOf(kind), kind)),
  );
}

export function showVotes(owner: Element, client: ParleyClient, row: TimelineRow): void {
  const { list, endings } = loading(owner, "Votes");
  const person = personIn(client, endings);
  const text = (place: number) => row.message.poll!.options[place]?.text ?? "";
  pages(
    list,
    (after) => client.votes(row.message.conversationId, row.id, after),
    (page: VotePage) => page.votes.map(({ userId, options }) => person(userId, options.map(text).join(", "))),
  );
}

/** What is pinned in a conversation: choosing one goes there. */
export function showPinned(
  owner: Element,
  client: ParleyClient,
  id: ConversationId,
  jump: (message: MessageId) => void,
): void {
  const { list } = loading(owner, "Pinned messages");
  const choose = (message: MessageId) => {
    list.closest("dialog")!.close();
    jump(message);
  };
  const item = (message: Message) =>
    make(
      "li",
      make(
        "button.pinned",
        { onclick: () => choose(message.id) },
        make("span.who", { dir: "auto" }, client.names.of(message.senderId)),
        make("span.wrapped", { dir: "auto" }, spokenText(message).slice(0, 500)),
        make("time", wholeTime(message.createdAt)),
      ),
    );
  const add = async (before?: number): Promise<HTMLElement[]> => {
    const { messages, more } = await client.pinnedMessages(id, before);
    const rows: HTMLElement[] = messages.map(item);
    if (more) rows.push(nextButton((item) => fill(list, () => add(messages.at(-1)?.pinned?.seq), item)));
    return rows.length ? rows : [make("li.quiet", "Nothing is pinned.")];
  };
  fill(list, () => add());
}

/** Where a message is to be sent on to. */
export function openForward(owner: Element, client: ParleyClient, message: Message): void {
  const { id: messageId, conversationId, senderId: userId, sentAt, text, attachments } = message;
  const list = make("ul.people");
  let origin = true;
  const send = (to: ConversationId) => {
    const forwarded = origin ? message.forwarded ?? { userId, sentAt } : undefined;
    void client.send(to, text ?? "", { forward: { conversationId, messageId, origin }, attachments, forwarded });
    dialog.close();
  };
  const conversations = client.conversations(200);
  const show = () =>
    list.replaceChildren(
      ...conversations.value.rows.filter((row) => row.isMember && may(row, "write")).map((row) =>
        make("li", make("button.pinned", { onclick: () => send(row.id) }, ...nodesOf(titleOf(row, client.names))))
      ),
    );
  const dialog = openDialog(owner, "Forward", toggle("Show who wrote it", origin, (isOn) => origin = isOn), list);
  const endings = new Endings();
  endings.add(conversations.subscribe(show));
  endings.add(() => conversations.close());
  on(dialog, "close", () => endings.end());
  show();
}

function loading(owner: Element, title: string) {
  const list = make("ul.people", make("li.quiet", "Loading…"));
  const endings = new Endings();
  on(openDialog(owner, title, list), "close", () => endings.end());
  return { list, endings };
}

/** Pages of people, with a button for the next. */
function pages<Page extends { nextCursor?: UserId }>(
  list: HTMLElement,
  load: (after?: UserId) => Promise<Page>,
  rows: (page: Page) => HTMLElement[],
): void {
  const add = async (after?: UserId): Promise<HTMLElement[]> => {
    const page = await load(after);
    const found = rows(page);
    if (page.nextCursor) found.push(nextButton((item) => fill(list, () => add(page.nextCursor), item)));
    return found.length ? found : [make("li.quiet", "Nobody yet")];
  };
  fill(list, () => add());
}

function nextButton(next: (item: HTMLElement) => void): HTMLElement {
  const item = make("li", make("button.link", { onclick: () => next(item) }, "Show more"));
  return item;
}

/** Puts what is loaded into the place of `item`. */
function fill(list: HTMLElement, load: () => Promise<HTMLElement[]>, item = list.lastElementChild!): void {
  load().then(
    (rows) => item.replaceWith(...rows),
    (error) => item.replaceWith(make("li.quiet", reasonOf(error))),
  );
}

/** Makes items of people, whose names may come later. */
function personIn({ names }: ParleyClient, endings: Endings) {
  return (user: UserId, detail: string, spoken = detail): HTMLElement => {
    const item = make("li");
    const about = make("span.detail", {
      "aria-label": spoken === detail ? null : spoken,
      role: spoken === detail ? null : "img",
    }, detail);
    const show = () => item.replaceChildren(...personOf(names, user), about);
    endings.add(names.subscribe(show));
    show();
    return item;
  };
}
