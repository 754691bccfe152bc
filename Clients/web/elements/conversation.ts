import type {
  ConversationRow,
  ParleyClient,
  Presence,
  ReceiptsView,
  TimelineAnchor,
  TimelineRow,
} from "../core/client.ts";
import type { Attachment, ConversationId, Message, MessageId, ReceiptPage, Time, UserId } from "../core/model.ts";
import { limitsOf } from "../core/limits.ts";
import { kindOf } from "../core/media/kinds.ts";
import { may } from "../core/permissions.ts";
import { avatar } from "./avatar.ts";
import { blockButton } from "./blocking.ts";
import { type BubbleActions, failureText } from "./bubble.ts";
import { Composer } from "./composer.ts";
import { openDetails } from "./details.ts";
import { confirm } from "./dialog.ts";
import { Endings, iconButton, make, nodesOf, on, set } from "./dom.ts";
import { ActionMenu, type MenuItem } from "./menu.ts";
import { openForward, showPinned, showReceipts, showRevisions, showTapbacks, showVotes } from "./message-dialogs.ts";
import { saveFile } from "./file-views.ts";
import { Timeline } from "./timeline.ts";
import { openViewer } from "./viewer.ts";
import { isolated, lifetimeSentence, list, plain, spokenText, titleOf, wholeTime, writingRefusal } from "./words.ts";

const nobody: Pick<ReceiptPage, "read" | "delivered"> = { read: [], delivered: [] };

/** One conversation: its name, its messages, who is typing, and where one writes. */
export class ConversationView extends HTMLElement {
  onback: () => void = () => {};
  onleft: () => void = () => {};
  /** Something has happened that only eyes would notice. */
  onsay: (text: string) => void = () => {};
  /** Somebody in it, or a message of theirs. */
  onreport: (user: UserId, message?: MessageId) => void = () => {};
  #client!: ParleyClient;
  #id!: ConversationId;
  #endings = new Endings();
  #presence = new Endings();
  #row: ConversationRow | null = null;
  #memberIds: UserId[] = [];
  #shownWith = "";

  #heading = make("h2", { dir: "auto" });
  #status = make("p.presence");
  /** How long messages stay. */
  #lifetime = make("p.lifetime", { hidden: true });
  #face = make("span");
  #typing = make("div.typing", { role: "status" });
  extraOf: (message: Message) => Node | null = () => null;
  #timeline = new Timeline();
  #composer = new Composer();
  #menu = new ActionMenu();
  #drop = make("div.drop", { "aria-hidden": "true", hidden: true }, make("span", "Drop files to attach them"));
  #former = make("p.former", { hidden: true });

  open(client: ParleyClient, id: ConversationId, anchor: TimelineAnchor): void {
    [this.#client, this.#id] = [client, id];
    this.append(this.#header(), this.#timeline, this.#typing, this.#composer, this.#former, this.#menu, this.#drop);
    this.#watchDrops();
    this.#timeline.onread = (seq) => void client.read(id, seq);
    this.#timeline.onfailed = (row) => this.onsay(`${failureText(row)} ${spokenText(row.message)}`);
    let isOpen = false;
    this.#composer.open(client, id, {
      lastOwn: () => this.#editable(this.#timeline.lastOwn()),
      members: () => this.#memberIds,
      mayMentionAll: () =>
        this.#row?.conversation.kind === "group" && may(this.#row, "write") && may(this.#row, "mentionAll"),
      sent: () => this.#timeline.jumpToLatest(),
      rowOf: (message) => this.#timeline.loaded.then(() => this.#timeline.row(message)),
      leaveUpwards: () => this.#timeline.focusMessage(),
    });
    this.#endings.add(
      client.conversation(id).subscribe((row) => {
        // A request that was declined, here or elsewhere, or taken back.
        if (!row && this.#row?.request) this.onleft();
        this.#row = row;
        if (!row) return;
        this.#showHeading(row);
        this.#composer.takeDraft(row.draft);
        if (isOpen) return;
        isOpen = true;
        this.#timeline.open(client, id, row.conversation.kind !== "direct", this.#actions, anchor);
      }),
      client.members(id).subscribe(({ members }) => {
        this.#memberIds = members.map(({ userId }) => userId);
        this.#composer.membersChanged();
      }),
      client.typing(id).subscribe((users) => this.#showTyping(users)),
      client.names.subscribe(() => {
        if (this.#row) this.#showHeading(this.#row);
        this.#showTyping(client.typing(id).value);
      }),
    );
  }

  /** What is dropped anywhere on the conversation goes with the next message. */
  #watchDrops(): void {
    let timer = 0;
    const hide = () => this.#drop.hidden = true;
    on(this, "dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      // Otherwise the browser would leave the page and show the file.
      event.preventDefault();
      event.dataTransfer.dropEffect = this.#composer.takesFiles ? "copy" : "none";
      this.#drop.hidden = !this.#composer.takesFiles;
      clearTimeout(timer);
      timer = setTimeout(hide, 400);
    });
    on(this, "drop", (event) => {
      const files = [...event.dataTransfer?.files ?? []];
      hide();
      if (!files.length) return;
      event.preventDefault();
      if (this.#composer.takesFiles) this.#composer.addFiles(files);
    });
  }

  disconnectedCallback(): void {
    this.#endings.end();
    this.#presence.end();
  }

  focusField(): void {
    if (!this.#composer.hidden) this.#composer.focusField();
  }

  jump(message: MessageId): void {
    this.#timeline.jump(message);
  }

  // The heading.

  #header(): HTMLElement {
    const details = () => openDetails(this, this.#client, this.#id, () => this.onleft(), (user) => this.onreport(user));
    return make(
      "header",
      iconButton("Back", "back", () => this.onback(), { class: "icon back" }),
      make("button.name", { "aria-label": "Details", onclick: details }, this.#face),
      make("div.names", this.#heading, this.#status, this.#lifetime),
      iconButton("Pinned messages", "pin", () => showPinned(this, this.#client, this.#id, this.#actions.jump)),
      iconButton("Details of this conversation", "details", details),
    );
  }

  #showHeading(row: ConversationRow): void {
    const { names } = this.#client;
    const title = titleOf(row, names);
    const isDirect = row.conversation.kind === "direct";
    const { memberCount, messageLifetime } = row.conversation;
    const lifetime = lifetimeSentence(messageLifetime);
    const key = `${title} ${row.others} ${memberCount} ${row.isMember} ${row.isBlocked} ${row.request} ${
      writingRefusal(row)
    } ${lifetime}`;
    if (key === this.#shownWith) return;
    this.#shownWith = key;
    this.#heading.replaceChildren(...nodesOf(title));
    // Names are chosen by those who bear them, ids are not.
    set(this.#heading, { title: isDirect ? row.others[0] : null });
    this.#face.replaceChildren(
      !isDirect && row.conversation.title
        ? avatar([title], 36)
        : avatar(isDirect ? row.others.slice(0, 1) : row.others, 36, names),
    );
    this.#showWhetherOver(row);
    this.#lifetime.hidden = !lifetime;
    this.#lifetime.textContent = lifetime;
    this.#presence.end();
    if (row.isBlocked) this.#status.textContent = "";
    else if (isDirect && row.others[0]) {
      this.#presence.add(this.#client.presence(row.others[0]).subscribe((value) => this.#showPresence(value)));
    } else this.#status.textContent = `${memberCount} people`;
  }

  /** Whether one can write, and why not. */
  #showWhetherOver(row: ConversationRow): void {
    const { isMember, isBlocked, request, others: [other] } = row;
    const refusal = writingRefusal(row);
    const isReading = isBlocked || !isMember || !!refusal;
    // What was written stays in it.
    this.#composer.hidden = isReading;
    this.#former.hidden = !isReading;
    this.classList.toggle("reading", isReading);
    this.#former.replaceChildren(
      ...request ? this.#choices(row) : isBlocked
        ? [
          ...nodesOf(`You have blocked ${isolated(this.#client.names, other!)}. `),
          blockButton(this, this.#client, other!),
        ]
        : [refusal || "You are no longer in this conversation."],
    );
  }

  /** In the place of the composer: who asks, and what to do. */
  #choices({ requester, conversation }: ConversationRow): (string | Node)[] {
    const client = this.#client;
    const who = requester ? isolated(client.names, requester) : "Somebody";
    const deed = conversation.kind === "direct" ? "wants to write with you" : "has added you to this group";
    const decline = async () => {
      const text = "They are not told, and cannot ask you again about this.";
      if (await confirm(this, "Decline the request?", text, "Decline")) await client.decline(this.#id);
    };
    return [
      ...nodesOf(`${who} ${deed}, and does not see what you have read.`),
      make(
        "div.buttons",
        requester && blockButton(this, client, requester),
        make("button", { onclick: () => void decline() }, "Decline"),
        make("button.filled", { onclick: () => void client.accept(this.#id) }, "Accept"),
      ),
    ];
  }

  #showPresence({ online, lastSeen }: Presence): void {
    this.#status.textContent = online ? "Online" : lastSeen ? `Last seen ${wholeTime(lastSeen)}` : "";
    this.#status.classList.toggle("online", online);
  }

  #showTyping(users: UserId[]): void {
    const verb = users.length === 1 ? "is" : "are";
    const names = users.slice(0, 3).map((user) => isolated(this.#client.names, user));
    const text = users.length ? `${list(names, users.length)} ${verb} typing…` : "";
    if (this.#typing.textContent === plain(text)) return;
    this.#typing.replaceChildren(
      ...(text
        ? [
          make("span.dots", { "aria-hidden": "true" }, make("i"), make("i"), make("i")),
          make("span", ...nodesOf(text)),
        ]
        : []),
    );
  }

  // What one does with a message.

  #actions: BubbleActions = {
    openMenu: (row, at) => this.#openMenu(row, at),
    jump: (message) => this.#timeline.jump(message),
    extraOf: (message) => this.extraOf(message),
    retry: (row) => void this.#client.retry(this.#id, row.id),
    rewrite: (row) => this.#composer.edit(row),
    discard: (row) => void this.#client.discard(this.#id, row.id),
    showRevisions: (row) => showRevisions(this, this.#client, row),
    showTapbacks: (row) => showTapbacks(this, this.#client, row),
    vote: (row, option) => {
      const { multiple, vote } = row.message.poll!;
      const chosen = vote?.options ?? [];
      const others = multiple ? chosen.filter((other) => other !== option) : [];
      const options = chosen.includes(option) ? others : [...others, option].sort((one, other) => one - other);
      void this.#client.vote(this.#id, row.id, options);
    },
    timeOf: (row, receipts) => this.#timeOf(row, receipts),
    showReceipts: (row) => showReceipts(this, this.#client, row),
    view: (row, attachment) => this.#view(row, attachment),
    save: (attachment) => saveFile(this.#client, attachment),
  };

  #openMenu(row: TimelineRow, at: { x: number; y: number } | null): void {
    const origin = this.querySelector<HTMLElement>(`article[data-id="${CSS.escape(row.id)}"]`);
    if (!origin) return;
    const items = this.#itemsFor(row);
    const { message } = row;
    const canTap = this.#isMember && !message.deletedForEveryone && row.state !== "failed";
    const mine = message.tapbacks.find((tapback) => tapback.userId === this.#client.userId.value)?.kind ?? null;
    const choose = (kind: string | null) => void this.#client.react(this.#id, row.id, kind);
    this.#menu.open({ items, tapback: canTap ? { mine, choose } : undefined }, origin, at);
  }

  #view({ id }: TimelineRow, attachment: Attachment): void {
    const all = this.#timeline.pictures();
    const place = all.findIndex((each) => each.message.id === id && each.attachment.id === attachment.id);
    if (place >= 0) openViewer(this, this.#client, all, place);
  }

  async #timeOf(row: TimelineRow, { status, dateRead, dateDelivered }: ReceiptsView): Promise<Time | undefined> {
    if (status === "sent") return row.message.createdAt;
    const known = status === "read" ? dateRead : dateDelivered;
    if (known) return known;
    const { read, delivered } = await this.#client.messageReceipts(this.#id, row.id).catch(() => nobody);
    return (status === "read" ? read : delivered).at(-1)?.at;
  }

  get #isMember(): boolean {
    return !!this.#row?.isMember;
  }

  get #mayWrite(): boolean {
    return !!this.#row && may(this.#row, "write");
  }

  #itemsFor(row: TimelineRow): MenuItem[] {
    const { message } = row;
    const items: MenuItem[] = [];
    const item = (name: string, run: () => void, isDangerous = false) => items.push({ name, run, isDangerous });
    const isAlive = !message.deletedForEveryone;
    const isSealed = message.kind === "sealed";
    const { parent } = row;
    // The button of the quote is for the mouse: the messages are one tab stop.
    const jump = () => parent && item("Jump to original", () => this.#actions.jump(parent.id));
    if (row.state === "failed") {
      item("Retry", () => this.#actions.retry(row));
      if (this.#mayWrite && !isSealed && !message.poll) item("Edit", () => this.#actions.rewrite(row));
      if (message.text) item("Copy", () => this.#copy(message.text!));
      jump();
      item("Discard", () => this.#actions.discard(row), true);
      return items;
    }
    const files = isAlive ? message.attachments ?? [] : [];
    const picture = files.find((file) => ["photo", "video"].includes(kindOf(file)));
    if (picture) item("Open", () => this.#view(row, picture));
    if (files.length && row.state === "stored") item("Download", () => void this.#saveAll(files));
    const canReply = !files.length || !!this.#client.fileLimits.value?.canReply;
    if (isAlive && this.#mayWrite && canReply && !isSealed) item("Reply", () => this.#composer.reply(row));
    if (this.#editable(row)) item("Edit", () => this.#composer.edit(row));
    jump();
    if (isAlive && ["text", "reply"].includes(message.kind) && row.state === "stored") {
      item("Forward…", () => openForward(this, this.#client, message));
    }
    if (isAlive && message.text) item("Copy", () => this.#copy(message.text!));
    if (isAlive && this.#mayWrite && row.state === "stored") {
      const pins = !message.pinned;
      item(pins ? "Pin" : "Unpin", () => void this.#client.setPinned(this.#id, row.id, pins));
    }
    if (message.editedAt && isAlive) item("Show edits", () => this.#actions.showRevisions(row));
    if (row.isOwn && isAlive && row.state === "stored") item("Read by…", () => this.#actions.showReceipts(row));
    if (message.poll && row.state === "stored" && this.#row) {
      if (message.poll.voters) item("Show votes", () => showVotes(this, this.#client, row));
      const { kind, role } = this.#row.conversation;
      const leads = kind === "group" && role !== "member";
      if (!message.poll.closedAt && this.#isMember && (row.isOwn || leads)) {
        item("Close poll", () => void this.#client.closePoll(this.#id, row.id));
      }
    }
    if (this.#hasTapbacks(row)) item("Show tapbacks", () => this.#actions.showTapbacks(row));
    if (!row.isOwn && isAlive) item("Report…", () => this.onreport(message.senderId, row.id), true);
    if (!this.#row?.request) item("Delete for me", () => void this.#client.deleteForMe(this.#id, row.id), true);
    if (row.isOwn && isAlive && this.#isMember) {
      item("Delete for everyone", () => void this.#client.deleteForEveryone(this.#id, row.id), true);
    }
    return items;
  }

  #copy(text: string): void {
    void navigator.clipboard.writeText(text);
  }

  async #saveAll(files: Attachment[]): Promise<void> {
    for (const file of files) await saveFile(this.#client, file).catch((error) => console.warn("parley:", error));
  }

  #hasTapbacks(row: TimelineRow): boolean {
    return !row.message.deletedForEveryone && Object.keys(row.message.tapbackCounts).length > 0;
  }

  /** The row, if its text may still be changed. */
  #editable(row: TimelineRow | undefined): TimelineRow | undefined {
    if (!row?.isOwn || row.message.deletedForEveryone || !this.#mayWrite || row.state === "failed") return undefined;
    if (["sealed", "poll"].includes(row.message.kind) || row.message.forwarded) return undefined;
    // By the server's clock or by this device's, which may be wrong: the server decides.
    const writtenAt = Math.max(Date.parse(row.message.createdAt), Date.parse(row.message.sentAt));
    const isOpen = Date.now() - writtenAt < limitsOf(this.#client).editWindowSeconds * 1000;
    return isOpen || row.state === "sending" ? row : undefined;
  }
}
