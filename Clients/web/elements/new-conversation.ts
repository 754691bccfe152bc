import type { ParleyClient } from "../core/client.ts";
import { limitsOf } from "../core/limits.ts";
import { type ConversationId, type UserId, userIdPattern } from "../core/model.ts";
import { openDialog, reasonOf } from "./dialog.ts";
import { Endings, iconOf, make, on, set } from "./dom.ts";

/** Asks whom to talk to: one person begins, or finds, a direct conversation; several a group. */
export function newConversation(owner: Element, client: ParleyClient, onopen: (id: ConversationId) => void): void {
  const known = client.conversations(50);
  const people = new People(client);
  const title = make("input", {
    type: "text",
    maxlength: limitsOf(client).titleCharacters,
    "aria-label": "Group name",
    placeholder: "Group name (optional)",
    hidden: true,
  });
  const problem = make("p.problem", { role: "alert", hidden: true });
  const start = make("button.filled", { type: "submit", disabled: true }, "Start");
  const form = make("form.stacked", people.field, people.suggestions, title, problem, make("div.buttons", start));
  const dialog = openDialog(owner, "New conversation", form);
  people.onchange = () => {
    start.disabled = !people.chosen.length;
    title.hidden = people.chosen.length < 2;
  };
  const endings = new Endings();
  endings.add(
    () => known.close(),
    known.subscribe((view) => people.know(view.rows.flatMap((row) => row.others))),
    client.names.subscribe(() => people.showNames()),
  );
  on(dialog, "close", () => endings.end());
  on(form, "submit", (event) => {
    event.preventDefault();
    void begin();
  });

  async function begin(): Promise<void> {
    if (!people.take() || !people.chosen.length) return;
    start.disabled = true;
    try {
      const [first, ...others] = people.chosen;
      const id = others.length
        ? await client.createGroup(people.chosen, title.value.trim() || undefined)
        : await client.openDirect(first!);
      dialog.close();
      onopen(id);
    } catch (error) {
      problem.hidden = false;
      problem.textContent = reasonOf(error);
      start.disabled = false;
    }
  }
  people.input.focus();
}

/** A field of names: each becomes a chip; the people one knows are suggested. */
class People {
  onchange: () => void = () => {};
  chosen: UserId[] = [];
  readonly input = make("input", {
    type: "text",
    "aria-label": "People",
    placeholder: "Name",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
  });
  readonly field = make("div.chips", make("span", { "aria-hidden": "true" }, "To:"), this.input);
  readonly suggestions = make("div.suggestions", { role: "group", "aria-label": "Suggestions" });

  #client: ParleyClient;
  #known: UserId[] = [];

  constructor(client: ParleyClient) {
    this.#client = client;
    on(this.input, "input", () => {
      if (/[\s,;]$/.test(this.input.value)) this.take();
      this.#suggest();
      this.#onchangeWith();
    });
    on(this.input, "keydown", (event) => {
      if (event.key === "Enter" && this.input.value.trim() && !event.isComposing) {
        event.preventDefault();
        this.take();
      } else if (event.key === "Backspace" && !this.input.value && this.chosen.length) {
        this.#remove(this.chosen.at(-1)!);
      }
    });
  }

  /** Suggests these. */
  know(users: UserId[]): void {
    this.#known = [...new Set(users)];
    this.showNames();
  }

  showNames(): void {
    this.#suggest();
    if (this.chosen.length) this.#show();
  }

  /** Of somebody with whom there is no conversation yet, the server tells no name. */
  #nameOf(user: UserId): string {
    return this.#known.includes(user) ? this.#client.names.of(user) : user;
  }

  /** Whether what is written was a name, or nothing. */
  take(): boolean {
    const name = this.input.value.replace(/[\s,;]+$/, "").trim();
    const isName = !name || (userIdPattern.test(name) && name !== this.#client.userId.value);
    this.input.setCustomValidity(isName ? "" : "A name has up to 64 letters, digits and . _ - @ : +");
    if (!isName) return this.input.reportValidity(), false;
    if (name) this.#add(name);
    return true;
  }

  #add(name: UserId): void {
    this.input.value = "";
    if (!this.chosen.includes(name)) this.chosen.push(name);
    this.#show();
  }

  #remove(name: UserId): void {
    this.chosen = this.chosen.filter((chosen) => chosen !== name);
    this.#show();
    this.input.focus();
  }

  #show(): void {
    for (const chip of this.field.querySelectorAll(".chip")) chip.remove();
    this.input.before(
      ...this.chosen.map((name) =>
        make(
          "button.chip",
          {
            "aria-label": `Remove ${this.#nameOf(name)}`,
            onclick: () => this.#remove(name),
          },
          make("bdi", this.#nameOf(name)),
          iconOf("close"),
        )
      ),
    );
    set(this.input, { placeholder: this.chosen.length ? "" : "Name" });
    this.#suggest();
    this.#onchangeWith();
  }

  /** What is still being written counts, too: nobody has to press Enter for a single name. */
  #onchangeWith(): void {
    const written = this.input.value.trim();
    this.onchange();
    if (written && userIdPattern.test(written)) {
      const all = this.chosen;
      this.chosen = [...all, written];
      this.onchange();
      this.chosen = all;
    }
  }

  #suggest(): void {
    const written = this.input.value.trim().toLowerCase();
    const { names } = this.#client;
    const fits = (text: string) => text.toLowerCase().startsWith(written);
    const users = this.#known.filter((user) =>
      !this.chosen.includes(user) && (fits(user) || fits(names.known(user) ?? ""))
    )
      .slice(0, 8);
    this.suggestions.replaceChildren(
      ...users.map((user) =>
        make(
          "button.suggestion",
          { title: user, onclick: () => (this.#add(user), this.input.focus()) },
          make("bdi", names.of(user)),
        )
      ),
    );
  }
}
