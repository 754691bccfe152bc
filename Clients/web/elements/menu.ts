import { tapbackKinds } from "../core/model.ts";
import { make, on } from "./dom.ts";
import { signOf } from "./words.ts";

export interface MenuItem {
  name: string;
  isDangerous?: boolean;
  run(): void;
}

export interface MenuContent {
  items: MenuItem[];
  /** The kind one has given, if any; absent where no tapback can be given. */
  tapback?: { mine: string | null; choose(kind: string | null): void };
  /** The name of the menu. */
  label?: string;
}

/**
 * What can be done with a message, or a conversation: a menu, over it a row of tapbacks if any can be given. In the browser's
 * top layer, so nothing cuts it off. It closes by Escape, a choice, or a click anywhere else, and gives the focus back.
 */
export class ActionMenu extends HTMLElement {
  #origin: HTMLElement | null = null;

  open(content: MenuContent, origin: HTMLElement, at: { x: number; y: number } | null): void {
    this.#origin = origin;
    this.popover = "auto";
    // The tapbacks are buttons, which a menu may not have in it: they stand above it.
    this.replaceChildren(
      make("div.menu", content.tapback && this.#tapbacks(content.tapback), this.#menu(content)),
    );
    this.showPopover();
    this.#place(at ?? below(origin));
    this.#controls()[content.tapback ? tapbackKinds.length : 0]?.focus();
  }

  connectedCallback(): void {
    on(this, "keydown", (event) => this.#pressed(event));
    on(this, "toggle", (event) => {
      if ((event as ToggleEvent).newState === "closed") this.replaceChildren();
    });
  }

  #menu({ items, label = "Message actions" }: MenuContent): HTMLElement {
    return make(
      "div.items",
      { role: "menu", "aria-label": label },
      ...items.map((item) => this.#item(item)),
    );
  }

  #tapbacks({ mine, choose }: NonNullable<MenuContent["tapback"]>): HTMLElement {
    const buttons = tapbackKinds.map((kind) =>
      make("button.tapback", {
        "aria-label": kind,
        "aria-pressed": String(kind === mine),
        title: kind,
        tabindex: "-1",
        onclick: () => this.#close(() => choose(kind === mine ? null : kind)),
      }, signOf(kind))
    );
    return make("div", { role: "group", "aria-label": "Tapback" }, ...buttons);
  }

  #item({ name, isDangerous, run }: MenuItem): HTMLElement {
    return make("button", {
      role: "menuitem",
      class: isDangerous ? "danger" : null,
      tabindex: "-1",
      onclick: () => this.#close(run),
    }, name);
  }

  #close(then: () => void): void {
    this.hidePopover();
    this.#origin?.focus({ preventScroll: true });
    then();
  }

  #controls(): HTMLElement[] {
    return [...this.querySelectorAll("button")];
  }

  #pressed(event: KeyboardEvent): void {
    const controls = this.#controls();
    const index = controls.indexOf(event.target as HTMLButtonElement);
    const tapbacks = this.querySelectorAll(".tapback").length;
    const next = this.#next(event.key, index, tapbacks, controls.length);
    if (event.key === "Escape" || event.key === "Tab") {
      event.preventDefault();
      event.stopPropagation();
      return this.#close(() => {});
    }
    if (next === undefined) return;
    event.preventDefault();
    controls[(next + controls.length) % controls.length]!.focus();
  }

  /** Up and down go through the items, left and right along the tapbacks, which are the row above the first item. */
  #next(key: string, index: number, tapbacks: number, count: number): number | undefined {
    const isTapback = index < tapbacks;
    switch (key) {
      case "ArrowDown":
        return isTapback ? tapbacks : index + 1 === count ? 0 : index + 1;
      case "ArrowUp":
        return isTapback ? count - 1 : index > tapbacks ? index - 1 : tapbacks ? 0 : count - 1;
      case "ArrowRight":
        return isTapback ? (index + 1) % tapbacks : undefined;
      case "ArrowLeft":
        return isTapback ? (index - 1 + tapbacks) % tapbacks : undefined;
      case "Home":
        return 0;
      case "End":
        return count - 1;
      default:
        return undefined;
    }
  }

  #place({ x, y }: { x: number; y: number }): void {
    const [width, height] = [this.offsetWidth, this.offsetHeight]; // Not its box, which grows while it appears.
    const margin = 8;
    this.style.left = `${Math.max(margin, Math.min(x, innerWidth - width - margin))}px`;
    this.style.top = `${Math.max(margin, Math.min(y, innerHeight - height - margin))}px`;
  }
}

function below(origin: HTMLElement): { x: number; y: number } {
  const bubble = origin.querySelector(".bubble") ?? origin;
  const box = bubble.getBoundingClientRect();
  return { x: box.left, y: Math.min(box.bottom + 4, innerHeight - 100) };
}
