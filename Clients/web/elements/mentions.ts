import type { UserNames } from "../core/client.ts";
import type { UserId } from "../core/model.ts";
import { make, on, set } from "./dom.ts";
import { everybody } from "./text.ts";

const shownAtMost = 8;

/** Offers members while a name is being written after `@`. */
export class Mentions {
  readonly list = make("div.mentions", {
    role: "listbox",
    id: "mentions",
    "aria-label": "Members",
    hidden: true,
  });
  #field: HTMLTextAreaElement;
  #members: () => UserId[];
  #names: UserNames;
  #offered: UserId[] = [];
  #chosen = 0;

  constructor(field: HTMLTextAreaElement, members: () => UserId[], names: UserNames) {
    this.#field = field;
    this.#names = names;
    this.#members = members;
    set(field, { "aria-autocomplete": "list" });
    on(field, "input", () => this.update());
    on(field, "blur", () => this.#hide());
  }

  /** Whether the key was meant for the list. */
  take(event: KeyboardEvent): boolean {
    if (this.list.hidden) return false;
    switch (event.key) {
      case "ArrowDown":
        this.#choose(this.#chosen + 1);
        break;
      case "ArrowUp":
        this.#choose(this.#chosen - 1);
        break;
      case "Enter":
      case "Tab":
        this.#insert(this.#offered[this.#chosen]!);
        break;
      case "Escape":
        this.#hide();
        break;
      default:
        return false;
    }
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  #written(): string | undefined {
    const before = this.#field.value.slice(0, this.#field.selectionStart);
    return /(?:^|\s)@([\w.@:+-]*)$/.exec(before)?.[1]?.toLowerCase();
  }

  /** Offers what fits to what stands before the cursor. */
  update(): void {
    if (!this.#field.matches(":focus")) return this.#hide();
    const written = this.#written();
    if (written === undefined) return this.#hide();
    const fits = (text: string) => text.toLowerCase().startsWith(written);
    const known = (user: UserId) => user === everybody ? "Everyone" : this.#names.known(user) ?? "";
    // Of all members only those who are offered are shown: nobody is asked for the names of the others.
    this.#offered = this.#members().filter((user) => fits(user) || fits(known(user))).slice(
      0,
      shownAtMost,
    );
    if (!this.#offered.length) return this.#hide();
    this.list.replaceChildren(...this.#offered.map((user, index) => this.#option(user, index)));
    this.list.hidden = false;
    set(this.#field, { "aria-controls": "mentions" });
    this.#choose(0);
  }

  #option(user: UserId, index: number): HTMLElement {
    const name = user === everybody ? "Everyone" : this.#names.of(user);
    const id = name !== user && make("span.id", user);
    const option = make("div", { role: "option", id: `mention-${index}` }, make("bdi", name), id);
    on(option, "pointerdown", (event) => {
      event.preventDefault(); // The field keeps the focus.
      this.#insert(user);
    });
    return option;
  }

  #choose(index: number): void {
    this.#chosen = (index + this.#offered.length) % this.#offered.length;
    [...this.list.children].forEach((option, place) =>
      set(option, { "aria-selected": String(place === this.#chosen) })
    );
    set(this.#field, { "aria-activedescendant": `mention-${this.#chosen}` });
  }

  #insert(user: UserId): void {
    const { selectionStart: end, value } = this.#field;
    const start = value.lastIndexOf("@", end - 1 - (this.#written()?.length ?? 0));
    this.#field.setRangeText(`@${user} `, start, end, "end");
    this.#hide();
    this.#field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  #hide(): void {
    this.list.hidden = true;
    set(this.#field, { "aria-activedescendant": null, "aria-controls": null });
  }
}
