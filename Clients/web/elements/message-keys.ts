import type { TimelineRow } from "../core/client.ts";
import type { MessageId } from "../core/model.ts";
import type { Endings } from "./dom.ts";

/** How long a finger rests on a message until its menu opens, in milliseconds, and how far it may stray, in pixels. */
const rest = 500;
const stray = 8;

/**
 * The keyboard, the second button of the mouse and the finger among the messages. One of them is a tab stop; arrows go
 * from there, and Enter opens what can be done with it.
 */
export class MessageKeys {
  /** The message that has, or last had, the focus. */
  active: MessageId | null = null;
  #list: HTMLElement;
  #rowOf: (id: MessageId) => TimelineRow | undefined;
  #openMenu: (row: TimelineRow, at: { x: number; y: number } | null) => void;

  constructor(
    list: HTMLElement,
    rowOf: (id: MessageId) => TimelineRow | undefined,
    openMenu: (row: TimelineRow, at: { x: number; y: number } | null) => void,
  ) {
    [this.#list, this.#rowOf, this.#openMenu] = [list, rowOf, openMenu];
  }

  articles(): HTMLElement[] {
    return [...this.#list.children].filter((node): node is HTMLElement => node.localName === "article");
  }

  /** Without a message that had the focus, the tab stop is the last one. */
  keepOneTabStop(): void {
    const articles = this.articles();
    const stop = articles.find((article) => article.dataset.id === this.active) ?? articles.at(-1);
    for (const article of articles) {
      const index = article === stop ? 0 : -1;
      if (article.tabIndex !== index) article.tabIndex = index;
    }
  }

  activate(article: HTMLElement): void {
    this.active = article.dataset.id ?? null;
    this.keepOneTabStop();
  }

  watch(endings: Endings): void {
    endings.listen(this.#list, "focusin", (event) => {
      const article = (event.target as HTMLElement).closest("article");
      if (article) this.activate(article);
    });
    endings.listen(this.#list, "keydown", (event) => this.#pressed(event as KeyboardEvent));
    endings.listen(this.#list, "contextmenu", (event) => {
      const { target, clientX: x, clientY: y } = event as MouseEvent;
      const row = this.#rowAt(target);
      if (!row || (target as Element).closest("a")) return;
      event.preventDefault();
      this.#openMenu(row, { x, y });
    });
    this.#watchLongPress(endings);
  }

  #pressed(event: KeyboardEvent): void {
    const article = event.target as HTMLElement;
    if (article.localName !== "article") return;
    const row = this.#rowAt(article);
    if ((event.key === "Enter" || event.key === "ContextMenu") && row) {
      event.preventDefault();
      return this.#openMenu(row, null);
    }
    const articles = this.articles();
    const index = articles.indexOf(article);
    const next = { ArrowUp: index - 1, ArrowDown: index + 1, Home: 0, End: articles.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    articles[Math.min(Math.max(next, 0), articles.length - 1)]!.focus();
  }

  /** For browsers that have no `contextmenu` by touch. */
  #watchLongPress(endings: Endings): void {
    let timer = 0;
    let begun = { x: 0, y: 0 };
    endings.listen(this.#list, "pointerdown", (event) => {
      const { pointerType, target, clientX: x, clientY: y } = event as PointerEvent;
      const row = this.#rowAt(target);
      if (pointerType === "mouse" || !row) return;
      begun = { x, y };
      timer = setTimeout(() => this.#openMenu(row, begun), rest);
    });
    endings.listen(this.#list, "pointermove", (event) => {
      const { clientX, clientY } = event as PointerEvent;
      if (Math.hypot(clientX - begun.x, clientY - begun.y) > stray) clearTimeout(timer);
    });
    for (const type of ["pointerup", "pointercancel"]) {
      endings.listen(this.#list, type, () => clearTimeout(timer));
    }
  }

  #rowAt(target: EventTarget | null): TimelineRow | undefined {
    const article = (target as Element | null)?.closest<HTMLElement>("article");
    const row = this.#rowOf(article?.dataset.id ?? "");
    return row?.message.kind === "system" ? undefined : row;
  }
}
