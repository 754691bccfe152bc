import type { ParleyClient, ReceiptsView, TimelineRow } from "../core/client.ts";
import type { Attachment, Message, Time, UserId } from "../core/model.ts";
import { Attachments } from "./attachments.ts";
import { avatar } from "./avatar.ts";
import { arrange, type Child, iconOf, make, nodesOf, on, set } from "./dom.ts";
import type { Place } from "./runs.ts";
import { everybody, isLong, isOnlyEmoji, textNodes } from "./text.ts";
import { eventText, plain, refusalText, signOf, spokenText, textOf, timeText, wholeTime } from "./words.ts";

/** What a bubble can ask for. */
export interface BubbleActions {
  openMenu(row: TimelineRow, at: { x: number; y: number } | null): void;
  jump(message: string): void;
  retry(row: TimelineRow): void;
  rewrite(row: TimelineRow): void;
  discard(row: TimelineRow): void;
  showRevisions(row: TimelineRow): void;
  showTapbacks(row: TimelineRow): void;
  showReceipts(row: TimelineRow): void;
  /** Chooses an option of a poll, or chooses it no more. */
  vote(row: TimelineRow, option: number): void;
  /** Shows a picture or video in full. */
  view(row: TimelineRow, attachment: Attachment): void;
  save(attachment: Attachment): Promise<void>;
  /** What the page around shows of the application's own fields. */
  extraOf(message: Message): Node | null;
  /** When it was read, or delivered; the server is asked if the copy does not know. */
  timeOf(row: TimelineRow, receipts: ReceiptsView): Promise<Time | undefined>;
}

export interface BubbleContext {
  client: ParleyClient;
  place: Place;
  isGroup: boolean;
  isRequest: boolean;
  me: UserId | null;
  /** Of the last of one's own messages, where this is it. */
  receipts: ReceiptsView | null;
  actions: BubbleActions;
}

/** Shows a row in `article`, which is kept when the row changes, so that it keeps the focus. */
export function showRow(article: HTMLElement, row: TimelineRow, context: BubbleContext): void {
  const { message } = row;
  if (message.kind === "system") return showEvent(article, row, context);
  const { place, isGroup } = context;
  const isGone = !!message.deletedForEveryone;
  const isLarge = !isGone && !row.parent && !message.attachments && isOnlyEmoji(message.text ?? "");
  article.className = classes({
    own: row.isOwn,
    first: place.startsRun,
    last: place.endsRun,
    gone: isGone,
    large: isLarge,
    pending: row.state === "sending",
    failed: row.state === "failed",
    carrying: !isGone && !!message.attachments?.length,
    silent: !textOf(message),
    sealed: !isGone && message.kind === "sealed",
    tapped: hasTapbacks(row),
  });
  set(article, { "aria-label": labelOf(row, context) });
  arrange(article, [
    ...(isGroup && !row.isOwn
      ? [make("div.face", place.endsRun ? avatar([message.senderId], 28, context.client.names) : null)]
      : []),
    kept(article, "stack", row, (stack) => stackOf(row, stack, context)),
  ]);
}

/**
 * An element inside of another one. Of a message with files or options the one that is there is kept in its place: what plays
 * in it would stop if it were moved, and what has the focus would lose it.
 */
function kept(around: Element, name: string, row: TimelineRow, children: (node: HTMLElement) => Child[]): HTMLElement {
  const present = (row.message.attachments || row.message.poll) &&
    around.querySelector<HTMLElement>(`:scope > .${name}`);
  const node = present ?? make("div", { class: name });
  arrange(node, children(node).filter((child) => child instanceof Node));
  return node;
}

function showEvent(article: HTMLElement, row: TimelineRow, { me, client }: BubbleContext): void {
  const text = eventText(row.message, me, client.names);
  article.className = "event";
  set(article, { "aria-label": `${plain(text)}, ${wholeTime(row.message.createdAt)}` });
  article.replaceChildren(make("span", { dir: "auto" }, ...nodesOf(text)));
}

function stackOf(row: TimelineRow, stack: HTMLElement, context: BubbleContext): Child[] {
  const { message } = row;
  const { actions, client: { names } } = context;
  return [
    context.isGroup && !row.isOwn && context.place.startsRun &&
    make("span.sender", { dir: "auto", title: message.senderId }, names.of(message.senderId)),
    message.forwarded && make("span.edited", { dir: "auto" }, `Forwarded from ${names.of(message.forwarded.userId)}`),
    row.parent && quote(row.parent, context),
    kept(stack, "line", row, (line) => [bubble(row, line, context), moreButton(row, actions)]),
    message.editedAt && !message.deletedForEveryone &&
    make("button.edited", { tabindex: "-1", onclick: () => actions.showRevisions(row) }, "Edited"),
    message.pinned && make("span.edited", "Pinned"),
    row.state === "failed" && failure(row, actions),
    context.receipts && row.state === "stored" && statusLine(row, context),
    row.state === "sending" && context.place.endsRun && make("span.status", "Sending…"),
  ];
}

function bubble(row: TimelineRow, line: HTMLElement, context: BubbleContext): HTMLElement {
  const { message } = row;
  if (message.deletedForEveryone) {
    return make("div.bubble", make("div.text", "Message deleted"));
  }
  const text = textOf(message);
  const mentions = message.mentionsAll ? [...message.mentions, everybody] : message.mentions;
  const body = make("div.text", { dir: "auto" }, ...textNodes(text, mentions, context.client.names));
  // Not before somebody who is not known yet is accepted: it may load something.
  const own = (message.extra || message.sealed) && !context.isRequest && context.actions.extraOf(message);
  const node = kept(line, "bubble", row, (node) => [
    !!message.attachments?.length && files(row, node, context),
    (text || !message.attachments?.length) && !(own && message.sealed) && body,
    own,
    !!message.poll && poll(row, node, context),
    hasTapbacks(row) && tapbacks(row, context.me, context.actions),
  ]);
  if (isLong(text)) fold(node, body);
  return node;
}

function poll(row: TimelineRow, bubble: HTMLElement, { isRequest, actions }: BubbleContext): HTMLElement {
  const { options, voters, vote, closedAt } = row.message.poll!;
  const node = bubble.querySelector<HTMLElement>(":scope > .poll") ??
    make("div.poll", { role: "group", "aria-label": "Poll" }, ...options.map(() => make("button")), make("span.total"));
  options.forEach(({ text, votes }, place) => {
    const button = node.children[place] as HTMLButtonElement;
    set(button, {
      "aria-pressed": String(!!vote?.options.includes(place)),
      disabled: !!closedAt || isRequest || row.state !== "stored",
    });
    button.style.setProperty("--share", `${voters && 100 * votes / voters}%`);
    button.replaceChildren(
      make("span", { dir: "auto" }, text),
      make("b", { "aria-label": countText(votes) }, `${votes}`),
    );
    button.onclick = () => actions.vote(row, place);
  });
  node.lastElementChild!.textContent = countText(voters) + (closedAt ? ", closed" : "");
  return node;
}

function countText(votes: number): string {
  return votes === 1 ? "1 vote" : `${votes} votes`;
}

function files(row: TimelineRow, bubble: HTMLElement, { client, isRequest, actions }: BubbleContext): HTMLElement {
  const node = bubble.querySelector<Attachments>(":scope > parley-attachments") ?? new Attachments();
  node.update(client, row, isRequest, {
    open: (attachment) => actions.view(row, attachment),
    save: (attachment) => actions.save(attachment),
    cancel: () => actions.discard(row),
  });
  return node;
}

function fold(node: HTMLElement, body: HTMLElement): void {
  body.classList.add("folded");
  const button = make("button.unfold", {
    onclick: () => {
      button.textContent = body.classList.toggle("folded") ? "Show all" : "Show less";
    },
  }, "Show all");
  node.append(button);
}

function hasTapbacks(row: TimelineRow): boolean {
  return !row.message.deletedForEveryone && Object.values(row.message.tapbackCounts).some((count) => count > 0);
}

function tapbacks(row: TimelineRow, me: UserId | null, actions: BubbleActions): HTMLElement {
  const counts = Object.entries(row.message.tapbackCounts).filter(([, count]) => count > 0);
  counts.sort(([, one], [, other]) => other - one);
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  const isMine = row.message.tapbacks.some((tapback) => tapback.userId === me);
  return make(
    "button",
    {
      class: classes({ tapbacks: true, mine: isMine }),
      tabindex: "-1",
      "aria-label": `Tapbacks: ${tapbackText(row)}`,
      onclick: () => actions.showTapbacks(row),
    },
    ...counts.slice(0, 3).map(([kind]) => make("span", signOf(kind))),
    total > 1 && make("span.count", String(total)),
  );
}

function tapbackText(row: TimelineRow): string {
  const counts = Object.entries(row.message.tapbackCounts).filter(([, count]) => count > 0);
  return counts.map(([kind, count]) => `${count} ${kind}`).join(", ");
}

function quote(parent: NonNullable<TimelineRow["parent"]>, { actions, client }: BubbleContext): HTMLElement {
  // While the parent is loading there is its place, so that nothing moves when it comes.
  const sender = parent.senderId === undefined ? "…" : client.names.of(parent.senderId);
  const text = parent.preview ?? "…";
  return make(
    "blockquote.quote",
    make(
      "button",
      {
        tabindex: "-1",
        "aria-label": `Jump to ${sender}: ${text}`,
        onclick: () => actions.jump(parent.id),
      },
      make("span.who", { dir: "auto" }, sender),
      make("span.what", { dir: "auto" }, text),
    ),
  );
}

function moreButton(row: TimelineRow, actions: BubbleActions): HTMLElement {
  // For the mouse alone: the keyboard and screen readers open the menu by Enter on the message.
  const button = make("button.icon.reveal", { tabindex: "-1", "aria-hidden": "true" }, iconOf("more"));
  on(button, "click", () => {
    const box = button.getBoundingClientRect();
    actions.openMenu(row, { x: box.left, y: box.bottom });
  });
  return button;
}

function failure(row: TimelineRow, actions: BubbleActions): HTMLElement {
  return make(
    "div.failure",
    make("span.reason", iconOf("alert"), failureText(row)),
    make("button", { onclick: () => actions.retry(row) }, "Retry"),
    make("button.rewrite", { onclick: () => actions.rewrite(row) }, "Edit"),
    make("button", { onclick: () => actions.discard(row) }, "Discard"),
  );
}

export function failureText({ problem }: TimelineRow): string {
  return `Not sent: ${problem ? refusalText(problem) : "It could not be sent."}`;
}

function statusLine(row: TimelineRow, { receipts, isGroup, actions }: BubbleContext): HTMLElement {
  const word = statusWord(receipts!, isGroup);
  const button = make("button.status", { tabindex: "-1" }, word);
  on(button, "click", async () => {
    if (isGroup) return actions.showReceipts(row);
    const time = button.textContent === word && await actions.timeOf(row, receipts!);
    button.textContent = time ? `${word} ${timeText(time)}` : word;
  });
  return button;
}

export function statusWord(receipts: ReceiptsView, isGroup: boolean): string {
  if (isGroup && receipts.readCount > 0) return `Read by ${receipts.readCount}`;
  if (receipts.status === "read") return "Read";
  return receipts.status === "delivered" ? "Delivered" : "Sent";
}

/** What a screen reader says of it: sender, text, time, state. */
function labelOf(row: TimelineRow, { client: { names }, receipts, isGroup }: BubbleContext): string {
  const { message } = row;
  const text = message.deletedForEveryone ? "Message deleted" : spokenText(message).slice(0, 500);
  const parts = [names.of(message.senderId), text, wholeTime(message.createdAt)];
  if (message.editedAt && !message.deletedForEveryone) parts.push("Edited");
  if (message.poll) {
    parts.push(...message.poll.options.map(({ text, votes }) => `${text}: ${countText(votes)}`));
    if (message.poll.closedAt) parts.push("Poll closed");
  }
  if (message.pinned) parts.push("Pinned");
  if (row.parent?.preview && row.parent.senderId !== undefined) {
    parts.push(`reply to ${names.of(row.parent.senderId)}: ${row.parent.preview}`);
  }
  if (hasTapbacks(row)) parts.push(tapbackText(row));
  if (row.isOwn) parts.push(stateOf(row, receipts, isGroup));
  return parts.join(", ");
}

function stateOf(row: TimelineRow, receipts: ReceiptsView | null, isGroup: boolean): string {
  if (row.state === "sending") return "Sending";
  if (row.state === "failed") return failureText(row);
  if (receipts) return statusWord(receipts, isGroup);
  return { read: "Read", delivered: "Delivered", sent: "Sent" }[row.message.status ?? "sent"];
}

function classes(flags: Record<string, boolean>): string {
  return Object.keys(flags).filter((name) => flags[name]).join(" ");
}
