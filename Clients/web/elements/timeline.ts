import type {
  ParleyClient,
  ReceiptsView,
  TimelineAnchor,
  TimelineRow,
  TimelineView,
  TimelineWindow,
} from "../core/client.ts";
import { kindOf } from "../core/media/kinds.ts";
import type { ConversationId, MessageId } from "../core/model.ts";
import { type BubbleActions, showRow } from "./bubble.ts";
import { arrange, Endings, gathered, iconOf, make, on, set } from "./dom.ts";
import { MessageKeys } from "./message-keys.ts";
import { lastSentOf, type Place, placesOf } from "./runs.ts";
import type { Viewed } from "./viewer.ts";
import { dayText, onNewDay, timeText, today } from "./words.ts";

/** How near to an edge, in pixels, more rows are asked for, and at which distance from the end it counts as left. */
const nearEdge = 900;
const atEnd = 40;

interface Shown {
  row: TimelineRow;
  /** What besides the row decided how it looks. */
  key: string;
  node: HTMLElement;
}

/**
 * The messages of a conversation. It shows the window of rows that the client gives it, which stays small however long
 * the history is, and asks for more near the edges. What the reader looks at does not move when rows come or go above.
 */
export class Timeline extends HTMLElement {
  /** Resolves when the first rows are shown. */
  readonly loaded: Promise<void>;
  #resolveLoaded!: () => void;
  onread: (seq: number) => void = () => {};
  /** A message was being sent, and was refused. */
  onfailed: (row: TimelineRow) => void = () => {};
  #client!: ParleyClient;
  #actions!: BubbleActions;
  #id!: ConversationId;
  #isGroup = false;
  #isRequest = false;
  #endings = new Endings();
  #window!: TimelineWindow;
  #view: TimelineView = { rows: [], isLoaded: false, hasMoreBefore: false, hasMoreAfter: false, isLoading: false };
  #receipts: ReceiptsView | null = null;
  #shown = new Map<MessageId, Shown>();
  #times = new Map<MessageId, HTMLElement>();
  #isFollowing = true;
  #target: MessageId | null = null;
  #isOpening = true;
  #lastShown: MessageId | null = null;
  #keys!: MessageKeys;
  #unread = 0;
  #lastRead = 0;

  #list = make("div.messages", { role: "log", "aria-label": "Messages", "aria-live": "off" });
  #scroller = make("div.scroller", this.#list);
  #spinner = make("div.spinner", { "aria-hidden": "true" });
  #separator = make("div.unread", { role: "separator", "aria-label": "Unread messages" }, make("span", "New messages"));
  #count = make("span.badge");
  #latest = make(
    "button.latest",
    {
      "aria-label": "Jump to latest",
      title: "Jump to latest",
      onclick: () => this.jumpToLatest(),
    },
    iconOf("down"),
    this.#count,
  );

  #mentions = make("button.latest.mention", { title: "Next mention", onclick: () => void this.#jumpToMention() });

  constructor() {
    super();
    this.loaded = new Promise((resolve) => this.#resolveLoaded = resolve);
  }

  open(
    client: ParleyClient,
    id: ConversationId,
    isGroup: boolean,
    actions: BubbleActions,
    anchor: TimelineAnchor,
  ): void {
    [this.#client, this.#id, this.#isGroup, this.#actions] = [client, id, isGroup, actions];
    this.#isFollowing = anchor === "newest";
    if (typeof anchor === "object" && "around" in anchor) this.#target = anchor.around;
    this.#mentions.hidden = true;
    this.append(this.#spinner, this.#scroller, this.#mentions, this.#latest);
    this.#keys = new MessageKeys(this.#list, (id) => this.row(id), actions.openMenu);
    this.#window = client.timeline(id, anchor);
    this.#endings.add(
      () => this.#window.close(),
      this.#window.subscribe((view) => this.#update(view)),
      client.receipts(id).subscribe((receipts) => this.#updateReceipts(receipts)),
      client.conversation(id).subscribe((row) => {
        this.#updateUnread(row?.conversation.unreadCount ?? 0);
        const mentions = row?.conversation.unreadMentions ?? 0;
        this.#mentions.hidden = !mentions || !!row?.request;
        this.#mentions.replaceChildren("@", make("span.badge", String(mentions)));
        set(this.#mentions, { "aria-label": `Next mention, ${mentions} unread` });
        if (!row || !!row.request === this.#isRequest) return;
        this.#isRequest = !!row.request;
        this.#showAgain();
      }),
      onNewDay(() => this.#show()),
      client.names.subscribe(() => this.#showAgain()),
    );
    this.#watchScrolling();
    this.#keys.watch(this.#endings);
  }

  disconnectedCallback(): void {
    this.#endings.end();
  }

  // What the conversation needs to know.

  row(id: MessageId): TimelineRow | undefined {
    return this.#shown.get(id)?.row;
  }

  lastOwn(): TimelineRow | undefined {
    return this.#view.rows.findLast((row) =>
      row.isOwn && row.message.kind !== "system" && !row.message.deletedForEveryone
    );
  }

  /** The pictures and videos of the messages shown. */
  pictures(): Viewed[] {
    return this.#view.rows.flatMap(({ message }) => {
      const visual = message.attachments?.filter((file) => ["photo", "video"].includes(kindOf(file))) ?? [];
      return visual.map((attachment) => ({ message, attachment }));
    });
  }

  jumpToLatest(): void {
    this.#isOpening = false;
    this.#isFollowing = true;
    if (this.#view.hasMoreAfter) this.#window.jump("newest");
    else this.#scrollToEnd(true);
    this.#updateLatest();
  }

  jump(id: MessageId): void {
    this.#target = id;
    this.#isFollowing = false;
    if (this.#shown.has(id)) this.#showTarget();
    else this.#window.jump({ around: id });
  }

  async #jumpToMention(): Promise<void> {
    const mention = await this.#client.nextMention(this.#id).catch(() => undefined);
    if (mention && this.isConnected) this.jump(mention.id);
  }

  /** Puts the focus on a message, or on the last one. */
  focusMessage(id = this.#keys.active): void {
    const shown = this.#shown.get(id ?? "") ?? this.#shown.get(this.#view.rows.at(-1)?.id ?? "");
    shown?.node.focus();
  }

  // Rows.

  #update(view: TimelineView): void {
    if (!view.isLoaded) return;
    const anchor = this.#isFollowing && !view.hasMoreAfter ? null : this.#anchor();
    const previous = this.#view;
    this.#view = view;
    this.#show();
    this.#spinner.hidden = !view.isLoading;
    this.#place(anchor, previous);
    this.#resolveLoaded();
    this.#noticeReading();
  }

  #show(): void {
    const places = placesOf(this.#view.rows);
    const last = this.#statusRow();
    const end = this.#view.rows.findIndex((row) => row.id === this.#lastShown);
    const nodes: Node[] = [];
    const present = new Set<MessageId>();
    this.#view.rows.forEach((row, index) => {
      present.add(row.id);
      if (places[index]!.startsTime) nodes.push(this.#timeAbove(row));
      if (row.id === this.#view.firstUnread) nodes.push(this.#separator);
      // What comes after the row that was the last one has just arrived, and is seen arriving.
      const isNew = end >= 0 && index > end && this.#isFollowing && !this.#isOpening;
      nodes.push(this.#node(row, places[index]!, row === last ? this.#receipts : null, isNew));
    });
    for (const id of this.#shown.keys()) if (!present.has(id)) this.#forget(id);
    this.#lastShown = this.#view.rows.at(-1)?.id ?? null;
    arrange(this.#list, nodes);
    this.#keys.keepOneTabStop();
  }

  /** Its status stands below it. */
  #statusRow(): TimelineRow | undefined {
    const row = lastSentOf(this.#view.rows);
    return row?.id === this.#receipts?.messageId ? row : undefined;
  }

  #node(row: TimelineRow, place: Place, receipts: ReceiptsView | null, isNew: boolean): HTMLElement {
    const about = receipts ? JSON.stringify(receipts) : "";
    const me = this.#client.userId.value;
    const key = [...Object.values(place), today(), me, this.#isRequest, about, this.#namesIn(row)].join(" ");
    const before = this.#shown.get(row.id);
    if (before && before.row === row && before.key === key) return before.node;
    if (before?.row.state === "sending" && row.state === "failed") this.onfailed(row);
    const node = before?.node ?? make("article", { tabindex: "-1", "data-id": row.id });
    if (!before && isNew) node.dataset.arrived = "";
    showRow(node, row, {
      client: this.#client,
      place,
      isGroup: this.#isGroup,
      isRequest: this.#isRequest,
      me,
      receipts,
      actions: this.#actions,
    });
    this.#shown.set(row.id, { row, key, node });
    return node;
  }

  #namesIn({ message: { senderId, event, mentions }, parent }: TimelineRow): string {
    const users = [senderId, event?.userId, parent?.senderId, ...mentions].filter((user) => user !== undefined);
    return users.map((user) => this.#client.names.of(user)).join("\n");
  }

  #forget(id: MessageId): void {
    this.#shown.delete(id);
    this.#times.delete(id);
    if (this.#keys.active === id) this.#keys.active = null;
  }

  #timeAbove(row: TimelineRow): HTMLElement {
    let node = this.#times.get(row.id);
    if (!node) this.#times.set(row.id, node = make("div.time"));
    const time = row.message.createdAt;
    const key = `${time} ${today()}`;
    if (node.dataset.key !== key) {
      node.dataset.key = key;
      node.replaceChildren(make("b", dayText(time)), ` ${timeText(time)}`);
    }
    return node;
  }

  #updateReceipts(receipts: ReceiptsView | null): void {
    this.#receipts = receipts;
    this.#showAgain();
  }

  #showAgain(): void {
    if (!this.#view.isLoaded) return;
    const anchor = this.#isFollowing ? null : this.#anchor();
    this.#show();
    this.#place(anchor, this.#view);
  }

  // The place that the reader looks at.

  /** The uppermost message in sight and where it is. */
  #anchor(): { node: HTMLElement; top: number } | null {
    const edge = this.#scroller.getBoundingClientRect().top;
    const node = this.#keys.articles().find((article) => article.getBoundingClientRect().bottom > edge);
    return node ? { node, top: topOfBubble(node) } : null;
  }

  #place(anchor: { node: HTMLElement; top: number } | null, previous: TimelineView): void {
    if (this.#isOpening && this.#view.rows.length) return this.#placeFirst();
    if (this.#target && this.#shown.has(this.#target)) return this.#showTarget();
    if (anchor?.node.isConnected) {
      const moved = topOfBubble(anchor.node) - anchor.top;
      if (moved) this.#scroller.scrollTop += moved;
    } else if (this.#isFollowing) {
      this.#scrollToEnd(previous.isLoaded && this.#view.rows.at(-1) !== previous.rows.at(-1));
    }
    this.#updateLatest();
  }

  /**
   * Opens at the end, or where the unread messages begin if that is above. What is missing may still be coming: until it
   * is there, or the reader moves, the place is found anew.
   */
  #placeFirst(): void {
    this.#isOpening = this.#view.isLoading;
    if (this.#target) return this.#showTarget();
    this.#scrollToEnd(false);
    const isAbove = this.#separator.getBoundingClientRect().top < this.#scroller.getBoundingClientRect().top;
    if (this.#separator.isConnected && (isAbove || this.#view.hasMoreAfter)) {
      this.#scroller.scrollTop = this.#separator.offsetTop - 60;
    }
    this.#isFollowing = !this.#view.hasMoreAfter && this.#distanceToEnd() < atEnd;
    this.#updateLatest();
  }

  #showTarget(): void {
    const shown = this.#shown.get(this.#target!);
    this.#target = null;
    this.#isOpening = false;
    if (!shown) return;
    shown.node.scrollIntoView({ block: "center", behavior: "instant" });
    shown.node.dataset.found = "";
    on(shown.node, "animationend", () => delete shown.node.dataset.found, { once: true });
    this.#keys.activate(shown.node);
    shown.node.focus({ preventScroll: true });
    this.#updateLatest();
  }

  #scrollToEnd(isSmooth: boolean): void {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const isNear = this.#distanceToEnd() < this.#scroller.clientHeight * 1.5;
    this.#scroller.scrollTo({
      top: this.#scroller.scrollHeight,
      behavior: isSmooth && isNear && !calm ? "smooth" : "instant",
    });
  }

  #distanceToEnd(): number {
    return this.#scroller.scrollHeight - this.#scroller.clientHeight - this.#scroller.scrollTop;
  }

  #watchScrolling(): void {
    let lastTop = 0;
    const read = gathered(120, () => this.#noticeReading());
    this.#endings.listen(this.#scroller, "scroll", () => {
      const top = this.#scroller.scrollTop;
      // Only the reader scrolls upwards; growing and shrinking do not end following.
      if (this.#distanceToEnd() < atEnd) this.#isFollowing = !this.#view.hasMoreAfter;
      else if (top < lastTop - 2) this.#isFollowing = false;
      lastTop = top;
      this.#askForMore();
      this.#updateLatest();
      read();
    });
    for (const type of ["wheel", "touchmove", "keydown"]) {
      this.#endings.listen(this.#scroller, type, () => this.#isOpening = false);
    }
    const resized = new ResizeObserver(() => {
      if (this.#isFollowing && !this.#isOpening) this.#scrollToEnd(false);
    });
    resized.observe(this.#scroller);
    this.#endings.add(() => resized.disconnect());
    for (const type of ["focus", "blur"]) this.#endings.listen(globalThis, type, () => read());
    this.#endings.listen(document, "visibilitychange", () => read());
  }

  #askForMore(): void {
    if (this.#view.hasMoreBefore && this.#scroller.scrollTop < nearEdge) this.#window.extendBefore();
    if (this.#view.hasMoreAfter && this.#distanceToEnd() < nearEdge) this.#window.extendAfter();
  }

  // Reading.

  /** Says what has been read: what is on the screen of a page that is visible and in front. */
  #noticeReading(): void {
    if (document.visibilityState !== "visible" || !document.hasFocus() || !this.isConnected) return;
    this.#askForMore();
    const bottom = this.#scroller.getBoundingClientRect().bottom;
    const seen = this.#view.rows.findLast((row) => {
      const box = this.#shown.get(row.id)?.node.getBoundingClientRect();
      return row.message.seq > 0 && !!box && box.height > 0 && box.top + Math.min(box.height, 40) <= bottom + 1;
    });
    if (!seen || seen.message.seq <= this.#lastRead) return;
    this.#lastRead = seen.message.seq;
    this.onread(this.#lastRead);
  }

  #updateUnread(count: number): void {
    this.#unread = count;
    this.#updateLatest();
  }

  #updateLatest(): void {
    this.#window.isAtEnd = this.#isFollowing;
    const isAway = this.#view.hasMoreAfter || (!this.#isFollowing && this.#distanceToEnd() > 200);
    this.#latest.hidden = !isAway;
    this.#count.hidden = !this.#unread;
    this.#count.textContent = this.#unread >= 100 ? "99+" : String(this.#unread);
    set(this.#latest, { "aria-description": this.#unread ? `${this.#unread} unread` : null });
  }
}

/** Where a message stands on the screen. The name above its bubble comes and goes with the message before. */
function topOfBubble(article: HTMLElement): number {
  return (article.querySelector(".line") ?? article).getBoundingClientRect().top;
}
