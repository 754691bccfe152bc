import type { ParleyClient, SearchResult } from "../core/client.ts";
import type { ConversationId, MessageId } from "../core/model.ts";
import { Endings, gathered, make, nodesOf, on } from "./dom.ts";
import { reasonOf } from "./dialog.ts";
import { briefTime, titleOf } from "./words.ts";

/** The field over the list of conversations, and what it found, which takes the list's place meanwhile. */
export class Search extends HTMLElement {
  onfound: (conversation: ConversationId, message: MessageId) => void = () => {};
  onopened: (isOpen: boolean) => void = () => {};
  #client!: ParleyClient;
  #current: ConversationId | null = null;
  #isInOne = false;
  #asked = 0;
  #endings = new Endings();

  readonly field = make("input", {
    type: "search",
    "aria-label": "Search",
    placeholder: "Search",
    autocomplete: "off",
    dir: "auto",
  });
  #all = make(
    "button",
    { "aria-pressed": "true", onclick: () => this.#narrow(false) },
    "All conversations",
  );
  #one = make(
    "button",
    { "aria-pressed": "false", onclick: () => this.#narrow(true) },
    "This conversation",
  );
  #scope = make("div.scope", { role: "group", "aria-label": "Search in", hidden: true }, this.#all, this.#one);
  #note = make("p.empty", { "aria-live": "polite" });
  #list = make("ul.results", { "aria-label": "Results", hidden: true });
  #soon = gathered(150, () => void this.#find());

  open(client: ParleyClient): void {
    this.#client = client;
    this.append(this.field, this.#scope, this.#note, this.#list);
    on(this.field, "input", () => this.#soon());
    on(this.field, "keydown", (event) => {
      if (event.key === "Escape" && this.field.value) {
        event.stopPropagation();
        this.clear();
      }
    });
    on(this.#list, "keydown", (event) => this.#pressed(event));
  }

  disconnectedCallback(): void {
    this.#endings.end();
  }

  /** The conversation that "This conversation" means. */
  show(conversation: ConversationId | null): void {
    this.#current = conversation;
    this.#scope.hidden = !conversation || !this.field.value.trim();
    if (!conversation && this.#isInOne) this.#narrow(false);
  }

  clear(): void {
    this.field.value = "";
    void this.#find();
  }

  #narrow(isInOne: boolean): void {
    this.#isInOne = isInOne;
    this.#all.setAttribute("aria-pressed", String(!isInOne));
    this.#one.setAttribute("aria-pressed", String(isInOne));
    void this.#find();
  }

  async #find(next?: string): Promise<void> {
    const words = this.field.value.trim();
    const asked = ++this.#asked;
    this.onopened(!!words);
    this.#list.hidden = !words;
    this.#scope.hidden = !words || !this.#current; // Without one that is open there is no choice.
    if (!next) this.#endings.end();
    if (!words) return this.#note.replaceChildren(), this.#list.replaceChildren();
    try {
      const found = await this.#client.search(words, {
        conversation: this.#isInOne ? this.#current ?? undefined : undefined,
        next,
      });
      if (asked !== this.#asked) return; // Something else was written meanwhile.
      if (!next) this.#list.replaceChildren();
      this.#list.append(...found.results.map((result) => this.#item(result)));
      if (found.next) this.#list.append(this.#moreItem(found.next));
      this.#note.textContent = this.#list.children.length
        ? found.isLocal ? "Without a connection, only what is on this device is found." : ""
        : "Nothing found.";
    } catch (error) {
      if (asked === this.#asked) this.#note.textContent = reasonOf(error);
    }
  }

  #item({ message, pieces }: SearchResult): HTMLElement {
    const { names } = this.#client;
    const title = make("b", { dir: "auto" });
    const sender = make("bdi");
    const conversation = this.#client.conversation(message.conversationId);
    const show = () => {
      const { value: row } = conversation;
      sender.textContent = names.of(message.senderId);
      title.replaceChildren(...row ? nodesOf(titleOf(row, names)) : [sender.cloneNode(true)]);
    };
    show();
    this.#endings.add(conversation.subscribe(show), names.subscribe(show));
    const button = make(
      "button",
      { onclick: () => this.onfound(message.conversationId, message.id) },
      make("span.top", title, make("time", briefTime(message.createdAt))),
      make(
        "span.snippet",
        { dir: "auto" },
        sender,
        ": ",
        ...pieces.map((piece, index) => index % 2 ? make("mark", piece) : piece),
      ),
    );
    return make("li", button);
  }

  #moreItem(next: string): HTMLElement {
    const item = make(
      "li",
      make("button.link", { onclick: () => (item.remove(), void this.#find(next)) }, "Show more"),
    );
    return item;
  }

  #pressed(event: KeyboardEvent): void {
    const buttons = [...this.#list.querySelectorAll("button")];
    const index = buttons.indexOf(event.target as HTMLButtonElement);
    const next = { ArrowUp: index - 1, ArrowDown: index + 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    if (next < 0) this.field.focus();
    else buttons[Math.min(next, buttons.length - 1)]!.focus();
  }
}
