import type { UserId } from "../core/model.ts";
import { make, set } from "./dom.ts";

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
  #names: UserId[] = [];
  #chosen = 0;

  constructor(field: HTMLTextAreaElement, members: () => UserId[]) {
    this.#field = field;
    this.#members = members;
    set(field, { "aria-autocomplete": "list" });
    field.addEventListener("input", () => this.update());
    field.addEventListener("blur", () => this.#hide());
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
        this.#insert(this.#names[this.#chosen]!);
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
    this.#names = this.#members().filter((name) => name.toLowerCase().startsWith(written)).slice(0, shownAtMost);
    if (!this.#names.length) return this.#hide();
    this.list.replaceChildren(...this.#names.map((name, index) => this.#option(name, index)));
    this.list.hidden = false;
    set(this.#field, { "aria-controls": "mentions" });
    this.#choose(0);
  }

  #option(name: UserId, index: number): HTMLElement {
    const option = make("div", { role: "option", id: `mention-${index}`, dir: "auto" }, name);
    option.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // The field keeps the focus.
      this.#insert(name);
    });
    return option;
  }

  #choose(index: number): void {
    this.#chosen = (index + this.#names.length) % this.#names.length;
    [...this.list.children].forEach((option, place) =>
      set(option, { "aria-selected": String(place === this.#chosen) })
    );
    set(this.#field, { "aria-activedescendant": `mention-${this.#chosen}` });
  }

  #insert(name: UserId): void {
    const { selectionStart: end, value } = this.#field;
    const start = value.lastIndexOf("@", end - 1 - (this.#written()?.length ?? 0));
    this.#field.setRangeText(`@${name} `, start, end, "end");
    this.#hide();
    this.#field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  #hide(): void {
    this.list.hidden = true;
    set(this.#field, { "aria-activedescendant": null, "aria-controls": null });
  }
}
