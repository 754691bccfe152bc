import type { ConversationRow, Folder, ListView, ParleyClient } from "../core/client.ts";
import { type ConversationId, forEver, type Time } from "../core/model.ts";
import { avatar } from "./avatar.ts";
import { setBlocked } from "./blocking.ts";
import { arrange, Endings, make, nodesOf, on, set } from "./dom.ts";
import { ActionMenu } from "./menu.ts";
import { openReport } from "./reporting.ts";
import { briefTime, isolated, onNewDay, plain, previewOf, titleOf, today } from "./words.ts";

/** How long a conversation may be muted, in hours. */
const mutes = [
  { name: "Mute for 1 hour", hours: 1 },
  { name: "Mute for 8 hours", hours: 8 },
  { name: "Mute for 1 week", hours: 168 },
  { name: "Mute", hours: Infinity },
];

function endOfMute(hours: number): Time {
  return hours === Infinity ? forEver : new Date(Date.now() + hours * 3_600_000).toISOString();
}

interface Shown {
  row: ConversationRow;
  key: string;
  node: HTMLElement;
}

/**
 * The conversations, the pinned and then the latest first, as a listbox: arrows move, what is chosen is opened, and a menu by
 * right click, long press or the menu key has what the user keeps to themselves about one. A button shows the archive, and
 * above the list another one what people ask whom the user does not know.
 */
export class Conversations extends HTMLElement {
  onopen: (id: ConversationId) => void = () => {};
  #client!: ParleyClient;
  #endings = new Endings();
  #view: ListView<ConversationRow> = { rows: [], isLoaded: false, hasMore: false };
  #extend = () => {};
  #shown = new Map<ConversationId, Shown>();
  #selected: ConversationId | null = null;
  #list = make("div.conversations", { role: "listbox", "aria-label": "Conversations" });
  #empty = make("p.empty", { hidden: true });
  #menu = new ActionMenu();
  #folder: Folder | "requests" = "inbox";
  #folderButton = make("button.folder", { onclick: () => this.#show(this.#folder === "inbox" ? "archive" : "inbox") });
  #requests = make("button.folder", { onclick: () => this.#show("requests") });
  #ending = () => {};

  open(client: ParleyClient): void {
    this.#client = client;
    this.append(this.#requests, this.#list, this.#empty, this.#folderButton, this.#menu);
    this.#watch();
    this.#endings.add(() => this.#ending());
    const update = () => this.#update();
    this.#endings.add(
      onNewDay(update),
      client.names.subscribe(update),
      client.requests.subscribe((rows) => this.#showCount(rows.length)),
    );
    on(this.#list, "keydown", (event) => this.#pressed(event));
    on(this.#list, "click", (event) => {
      const option = (event.target as Element).closest<HTMLElement>("[role=option]");
      if (option) this.onopen(option.dataset.id!);
    });
    on(this.#list, "contextmenu", (event) => {
      const option = (event.target as Element).closest<HTMLElement>("[role=option]");
      if (!option) return;
      event.preventDefault();
      // Of the menu key, which has no place of its own.
      const at = event.button === 2 ? { x: event.clientX, y: event.clientY } : null;
      this.#openMenu(option, at);
    });
    on(this, "scroll", () => this.#extendNearEnd());
  }

  #watch(): void {
    this.#ending();
    const [folder, client] = [this.#folder, this.#client];
    this.#list.setAttribute(
      "aria-label",
      { inbox: "Conversations", archive: "Archived conversations", requests: "Requests" }[folder],
    );
    this.#folderButton.textContent = folder === "inbox" ? "Archived" : "Back to conversations";
    this.#empty.textContent = folder === "inbox"
      ? "No conversations yet. Start one with the pencil above."
      : "Nothing is archived.";
    this.#showCount(client.requests.value.length);
    if (folder === "requests") {
      this.#extend = () => {};
      const leave = client.showRequests();
      const end = client.requests.subscribe((rows) => this.#update({ rows, isLoaded: true, hasMore: false }));
      this.#ending = () => (end(), leave());
      return;
    }
    const source = client.conversations(50, folder);
    this.#extend = () => source.extend();
    const end = source.subscribe((view) => this.#update(view));
    this.#ending = () => (end(), source.close());
  }

  #show(folder: Folder | "requests"): void {
    this.#folder = folder;
    this.#watch();
  }

  #showCount(count: number): void {
    this.#requests.textContent = `Requests (${count})`;
    this.#requests.hidden = !count || this.#folder !== "inbox";
    if (!count && this.#folder === "requests") this.#show("inbox");
  }

  #openMenu(option: HTMLElement, at: { x: number; y: number } | null): void {
    const row = this.#shown.get(option.dataset.id!)?.row;
    if (!row || row.request) return;
    const { id, isMuted, isArchived, isBlocked, conversation } = row;
    const other = conversation.kind === "direct" ? row.others[0] : undefined;
    const client = this.#client;
    const isUnread = conversation.unreadCount > 0 || conversation.markedUnread;
    const readAll = () => void client.unmarkUnread(id).then(() => client.read(id, conversation.lastSeq));
    const isPinned = conversation.pinOrder !== undefined;
    this.#menu.open(
      {
        label: "Conversation actions",
        items: [
          { name: isPinned ? "Unpin" : "Pin", run: () => void client.pin(id, !isPinned) },
          ...isMuted
            ? [{ name: "Unmute", run: () => void client.mute(id, null) }]
            : mutes.map(({ name, hours }) => ({ name, run: () => void client.mute(id, endOfMute(hours)) })),
          { name: isArchived ? "Unarchive" : "Archive", run: () => void client.archive(id, !isArchived) },
          isUnread
            ? { name: "Mark as read", run: readAll }
            : { name: "Mark as unread", run: () => void client.markUnread(id) },
          ...other === undefined ? [] : [{
            name: "Report…",
            isDangerous: true,
            run: () => openReport(this, client, other, { conversationId: id }),
          }, {
            name: isBlocked ? "Unblock" : "Block",
            isDangerous: !isBlocked,
            run: () => void setBlocked(this, client, other, !isBlocked),
          }],
        ],
      },
      option,
      at,
    );
  }

  disconnectedCallback(): void {
    this.#endings.end();
  }

  select(id: ConversationId | null): void {
    this.#selected = id;
    this.#update();
    this.#shown.get(id ?? "")?.node.scrollIntoView({ block: "nearest" });
  }

  focusSelected(): void {
    this.#options().find((option) => option.tabIndex === 0)?.focus();
  }

  #update(view = this.#view): void {
    this.#view = view;
    const ids = new Set(view.rows.map((row) => row.id));
    for (const id of this.#shown.keys()) if (!ids.has(id)) this.#shown.delete(id);
    arrange(this.#list, view.rows.map((row) => this.#node(row)));
    this.#empty.hidden = !view.isLoaded || view.rows.length > 0;
    this.#list.hidden = !view.rows.length;
    this.#keepOneTabStop();
  }

  #node(row: ConversationRow): HTMLElement {
    // The day decides how times are written, and names change without a row.
    const texts = `${titleOf(row, this.#client.names)} ${this.#previewText(row)}`;
    const key = `${row.id === this.#selected} ${today()} ${texts}`;
    const before = this.#shown.get(row.id);
    if (before && before.row === row && before.key === key) return before.node;
    const node = before?.node ?? make("div", { role: "option", tabindex: "-1", "data-id": row.id });
    this.#fill(node, row);
    this.#shown.set(row.id, { row, key, node });
    return node;
  }

  #fill(node: HTMLElement, row: ConversationRow): void {
    const { names } = this.#client;
    const title = titleOf(row, names);
    const unread = row.conversation.unreadCount;
    const isUnread = unread > 0 || row.conversation.markedUnread;
    const mentions = row.conversation.unreadMentions;
    const isPinned = row.conversation.pinOrder !== undefined;
    const time = row.preview?.createdAt ?? row.conversation.lastActivityAt;
    set(node, {
      "aria-selected": String(row.id === this.#selected),
      "aria-label": [
        title,
        unread ? `${unread} unread` : isUnread ? "marked as unread" : "",
        mentions ? `${mentions} unread mention${mentions > 1 ? "s" : ""}` : "",
        isPinned ? "pinned" : "",
        row.isMuted ? "muted" : "",
        row.isBlocked ? "blocked" : "",
        row.draft?.text ? "draft" : "",
        this.#previewText(row),
        briefTime(time),
      ].filter((part) => part).map(plain).join(", "),
      class: [isUnread ? "unread" : "", row.isMuted ? "muted" : ""].join(" ").trim() || null,
    });
    node.replaceChildren(
      avatar(
        row.conversation.kind === "direct"
          ? row.others.slice(0, 1)
          : row.conversation.title
          ? [row.conversation.title]
          : row.others,
        44,
        row.conversation.kind !== "direct" && row.conversation.title ? undefined : names,
      ),
      make(
        "div.summary",
        make(
          "div.top",
          make("span.title", { dir: "auto" }, ...nodesOf(title)),
          isPinned && make("span.sign", "📌"),
          row.isMuted && make("span.sign", "🔕"),
          row.isBlocked && make("span.sign", "🚫"),
          make("time", briefTime(time)),
        ),
        make(
          "div.bottom",
          this.#preview(row),
          // Whoever is mentioned is meant, muted or not.
          !!mentions && make("span.badge.at", "@"),
          ...(isUnread ? [make("span.badge", unread >= 100 ? "99+" : unread ? String(unread) : "●")] : []),
        ),
      ),
    );
  }

  #preview(row: ConversationRow): HTMLElement {
    const node = make("span.preview", { dir: "auto" });
    if (row.previewState === "failed") node.append(make("b.danger", "Not sent "));
    else if (row.draft?.text) node.append(make("b", "Draft "));
    node.append(...nodesOf(this.#previewText(row)));
    return node;
  }

  #previewText(row: ConversationRow): string {
    if (row.draft?.text) return row.draft.text.slice(0, 200);
    if (!row.preview) return "No messages yet";
    const { names, userId } = this.#client;
    const text = previewOf(row.preview, userId.value, names).slice(0, 300);
    const needsNoName = row.conversation.kind === "direct" || row.previewState === "failed";
    if (needsNoName || row.preview.kind === "system") return text;
    const sender = row.preview.senderId;
    return `${sender === userId.value ? "You" : isolated(names, sender)}: ${text}`;
  }

  #extendNearEnd(): void {
    if (this.#view.hasMore && this.scrollHeight - this.clientHeight - this.scrollTop < 600) this.#extend();
  }

  // The keyboard.

  #options(): HTMLElement[] {
    return [...this.#list.children] as HTMLElement[];
  }

  #keepOneTabStop(): void {
    const options = this.#options();
    const focused = options.find((option) => option.matches(":focus"));
    const stop = focused ?? options.find((option) => option.dataset.id === this.#selected) ?? options[0];
    for (const option of options) option.tabIndex = option === stop ? 0 : -1;
  }

  #pressed(event: KeyboardEvent): void {
    const options = this.#options();
    const index = options.indexOf(event.target as HTMLElement);
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return this.onopen(options[index]!.dataset.id!);
    }
    const next = { ArrowUp: index - 1, ArrowDown: index + 1, Home: 0, End: options.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    options[Math.min(Math.max(next, 0), options.length - 1)]?.focus();
    this.#keepOneTabStop();
  }
}
