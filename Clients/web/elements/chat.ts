import {
  type ConversationRow,
  isBetweenAttempts,
  type ParleyClient,
  type RefusedWrite,
  type SendOptions,
} from "../core/client.ts";
import type { ConversationId, Message, MessageId } from "../core/model.ts";
import { UnreadableCopy } from "../core/opening.ts";
import { openParley } from "../core/parley.ts";
import { Announcer } from "./announcer.ts";
import { Banner } from "./banner.ts";
import { ConversationView } from "./conversation.ts";
import { Conversations } from "./conversation-list.ts";
import { Endings, iconButton, make } from "./dom.ts";
import { openInvitation } from "./invitations.ts";
import { newConversation } from "./new-conversation.ts";
import { openReport } from "./reporting.ts";
import { Search } from "./search.ts";
import { openSettings } from "./settings.ts";
import { refusalText } from "./words.ts";

/** The styles of everything here, put in by the build. */
declare const PARLEY_STYLE: string;

/** Where a token comes from: `kept` is the last one, to be given back where nothing newer is known. */
export type TokenSource = (isFresh: boolean, kept?: string) => Promise<string>;

/** What a page shows of the `extra` of a message, below its text, or of a sealed one in place of a text; null: nothing. */
export type ExtraView = (message: Message) => Node | null;

/**
 * `<parley-chat server="https://chat.example">`: everything, in one element. Its `token`, and `showExtra` where messages have
 * fields of the application's own, are set by the page around it.
 * Dispatches `parley-connection` with the state of the connection, `parley-unread` with the number of unread messages, and
 * `parley-signed-out`.
 */
export class ParleyChat extends HTMLElement {
  #token: TokenSource | null = null;
  #showExtra: ExtraView | null = null;
  #client: ParleyClient | null = null;
  #endings = new Endings();
  #opened: ConversationId | null = null;
  #view: ConversationView | null = null;
  #invitation: { code: string; decided: () => void } | null = null;
  #conversations = new Conversations();
  #search = new Search();
  #announcer = new Announcer();
  #main = make("main", { "aria-label": "Conversation" });
  #layout = make("div.layout");
  #problems = make("div.problems", { "aria-live": "polite" });

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    const style = new CSSStyleSheet();
    style.replaceSync(PARLEY_STYLE);
    root.adoptedStyleSheets = [style];
  }

  /** Asked for a token of the user; the session begins when it is set and the element is in the page. */
  get token(): TokenSource | null {
    return this.#token;
  }

  set token(token: TokenSource | null) {
    this.#token = token;
    if (this.isConnected) void this.#start();
  }

  /** Asked for each message that has an `extra` or is sealed, again whenever it has changed; but not in requests. */
  get showExtra(): ExtraView | null {
    return this.#showExtra;
  }

  set showExtra(view: ExtraView | null) {
    this.#showExtra = view;
  }

  connectedCallback(): void {
    this.#token = this.#early("token") ?? this.#token;
    this.#showExtra = this.#early("showExtra") ?? this.#showExtra;
    void this.#start();
  }

  /** What was set before the script had come: a property of this element alone, which hides the accessor. */
  #early<Name extends "token" | "showExtra">(name: Name): this[Name] | undefined {
    const early = Object.getOwnPropertyDescriptor(this, name);
    return early && Reflect.deleteProperty(this, name) ? early.value : undefined;
  }

  disconnectedCallback(): void {
    this.#endings.end();
    this.#client?.close();
    this.#client = null;
    this.shadowRoot!.replaceChildren();
  }

  /** Shows a conversation, and in it a message. */
  open(id: ConversationId, message?: MessageId): void {
    const client = this.#client;
    if (!client) return;
    void client.unmarkUnread(id);
    if (id === this.#opened && this.#view) {
      if (message) this.#view.jump(message);
      else this.#view.focusField();
      return;
    }
    this.#opened = id;
    const view = this.#view = new ConversationView();
    view.extraOf = (message) => this.#extraOf(message);
    view.onback = () => this.#back();
    view.onleft = () => this.#back();
    view.onsay = (text) => this.#announcer.say(text);
    view.onreport = (user, messageId) => openReport(this.#layout, client, user, { conversationId: id, messageId });
    this.#main.replaceChildren(view);
    this.#layout.classList.add("opened");
    this.#conversations.select(id);
    this.#search.show(id);
    view.open(client, id, message ? { around: message } : "unread");
    if (!message) view.focusField();
  }

  /** Sends a message with fields of the application's own; resolves to its id when it is kept on this device. */
  send(id: ConversationId, text: string, extra?: Record<string, unknown>): Promise<MessageId> {
    return this.#send(id, text, { extra });
  }

  /** Sends what the application has encrypted, in base64 with padding. */
  sendSealed(id: ConversationId, sealed: string, extra?: Record<string, unknown>): Promise<MessageId> {
    return this.#send(id, "", { sealed, extra });
  }

  #send(id: ConversationId, text: string, options: SendOptions): Promise<MessageId> {
    return this.#client?.send(id, text, options) ?? Promise.reject(new Error("parley: there is no session"));
  }

  /** A mistake of the page's is none of the conversation. */
  #extraOf(message: Message): Node | null {
    try {
      return this.#showExtra?.(message) ?? null;
    } catch (error) {
      console.warn("parley: showExtra failed", error);
      return null;
    }
  }

  /**
   * Shows what an invitation opens, and offers to join; a member gets the conversation. It waits until there is a
   * connection, and resolves when the user has decided.
   */
  openInvitation(code: string): Promise<void> {
    return new Promise((decided) => {
      this.#invitation = { code, decided };
      this.#offerInvitation();
    });
  }

  #offerInvitation(): void {
    const client = this.#client;
    // Before a session begins, a token may not be kept yet.
    if (!this.#invitation || client?.connection.value !== "online") return;
    const { code, decided } = this.#invitation;
    this.#invitation = null;
    void openInvitation(this.#layout, client, code, (id) => this.open(id)).then(() => this.isConnected && decided());
  }

  #back(): void {
    this.#opened = null;
    this.#view = null;
    this.#main.replaceChildren(this.#placeholder());
    this.#layout.classList.remove("opened");
    this.#conversations.select(null);
    this.#search.show(null);
    this.#conversations.focusSelected();
  }

  async #start(): Promise<void> {
    if (!this.#token || this.#client) return;
    // The one that is set when a token is needed: it may have been replaced since.
    const token: TokenSource = (isFresh, kept) => this.#token!(isFresh, kept);
    try {
      const client = await openParley({ server: this.getAttribute("server") ?? undefined, token });
      // It may have left the page meanwhile, and perhaps come back.
      if (!this.isConnected || this.#client) return client.close();
      this.#client = client;
      this.#show(client);
    } catch (error) {
      console.warn("parley: the copy cannot be opened", error);
      this.#showFailure(error);
    }
  }

  /** Without a copy there is nothing to show. */
  #showFailure(error: unknown): void {
    const isNewer = error instanceof DOMException && error.name === "VersionError";
    const reason = isNewer
      ? "A newer version of Parley has been used in this browser. This one cannot read what that one keeps."
      : "What Parley keeps in this browser cannot be opened. Is its storage full, or switched off?";
    const reload = () => location.reload();
    const erase = error instanceof UnreadableCopy && [
      make("p", "It can be loaded anew. What was not sent yet cannot be read, and is lost then."),
      make("button", { onclick: () => void error.erase().finally(reload) }, "Erase and load anew"),
    ];
    const button = make("button", { onclick: reload }, "Try again");
    this.shadowRoot!.replaceChildren(
      make("div.failed-opening", { role: "alert" }, make("p", reason), button, ...erase || []),
    );
  }

  #show(client: ParleyClient): void {
    const banner = new Banner();
    this.#main.replaceChildren(this.#placeholder());
    this.#layout.replaceChildren(this.#sidebar(client), this.#main);
    this.shadowRoot!.replaceChildren(this.#layout, banner, this.#problems, this.#announcer);
    banner.open(client);
    this.#announcer.open(client, () => this.#opened, (id) => this.open(id));
    this.#conversations.open(client);
    this.#search.open(client);
    this.#conversations.onopen = (id) => this.open(id);
    this.#search.onfound = (id, message) => this.open(id, message);
    this.#search.onopened = (isOpen) => this.#conversations.hidden = isOpen;
    this.#endings.add(
      client.connection.subscribe((state) => this.#tell("parley-connection", state)),
      client.connection.subscribe(() => this.#offerInvitation()),
      client.unreadTotal.subscribe((count) => this.#tell("parley-unread", count)),
      client.problems.subscribe((problems) => this.#showProblems(problems)),
      client.isSignedOut.subscribe((isOut) => isOut && this.#tell("parley-signed-out", null)),
    );
    this.#endings.listen(this.shadowRoot!, "keydown", (event) => this.#pressed(event as KeyboardEvent));
    // A page that is in front again does not wait for its next attempt.
    for (const type of ["online", "focus"]) this.#endings.listen(globalThis, type, () => this.#reconnect());
    this.#openFirst(client);
  }

  /** On a wide screen the latest conversation is open from the start. A mark as unread is left for the user to end. */
  #openFirst(client: ParleyClient): void {
    if (this.clientWidth < 720) return;
    const list = client.conversations(1);
    let hasBegun = false;
    const end = list.subscribe((view) => {
      if (hasBegun || !view.isLoaded || !view.rows.length) return;
      hasBegun = true;
      const [{ id, conversation }] = view.rows as [ConversationRow];
      if (!this.#opened && !conversation.markedUnread) this.open(id);
      queueMicrotask(() => (end(), list.close()));
    });
    this.#endings.add(() => (end(), list.close()));
  }

  #reconnect(): void {
    if (this.#client && isBetweenAttempts(this.#client.connection.value)) this.#client.connect();
  }

  #sidebar(client: ParleyClient): HTMLElement {
    return make(
      "div.sidebar",
      make(
        "header",
        iconButton("Settings", "person", () => openSettings(this.#layout, client)),
        make("h1", "Messages"),
        iconButton("New conversation", "compose", () => newConversation(this.#layout, client, (id) => this.open(id))),
      ),
      this.#search,
      make("nav", { "aria-label": "Conversations" }, this.#conversations),
    );
  }

  #placeholder(): HTMLElement {
    return make("p.placeholder", "Choose a conversation, or start a new one.");
  }

  #showProblems(problems: RefusedWrite[]): void {
    const dismiss = (problem: RefusedWrite) => void this.#client?.dismiss(problem.key);
    this.#problems.replaceChildren(
      ...problems.map((problem) =>
        make(
          "div.problem-note",
          make("span", `${capital(problem.kind)} was refused: ${refusalText(problem.problem)}`),
          iconButton("Dismiss", "close", () => dismiss(problem)),
        )
      ),
    );
  }

  #tell(name: string, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true }));
  }

  #pressed(event: KeyboardEvent): void {
    const isCommand = event.metaKey || event.ctrlKey;
    if (isCommand && event.key.toLowerCase() === "k") {
      event.preventDefault();
      this.#search.field.focus();
      this.#search.field.select();
    } else if (event.key === "Escape" && this.#opened && this.#layout.classList.contains("opened")) {
      this.#conversations.focusSelected();
    }
  }
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
