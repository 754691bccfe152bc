// Making elements. Text enters the page here, as text nodes; nothing in this client parses HTML.

export type Child = Node | string | null | undefined | false;

/** Attributes by name; a function under `on…` listens to that event. `null` and `false` are left out. */
export type Attributes = Record<string, unknown>;

/** Makes "tag" or "tag.class": `make("div.row", { dir: "auto" }, child)`. Without attributes the children follow at once. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  selector: Tag | `${Tag}.${string}`,
  ...content: (Attributes | Child)[]
): HTMLElementTagNameMap[Tag] {
  const [tag, ...classes] = selector.split(".");
  const element = document.createElement(tag as Tag);
  if (tag === "button") element.setAttribute("type", "button");
  element.classList.add(...classes);
  if (isAttributes(content[0])) set(element, content.shift() as Attributes);
  element.append(...present(content as Child[]));
  return element;
}

function isAttributes(value: Attributes | Child): value is Attributes {
  return !!value && typeof value === "object" && !(value instanceof Node);
}

export function set(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") on(element, name.slice(2), value as EventListener);
    else if (value === null || value === undefined || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Listens to an event. */
export function on<Type extends keyof HTMLElementEventMap>(
  target: EventTarget,
  type: Type,
  listener: (event: HTMLElementEventMap[Type]) => void,
  options?: AddEventListenerOptions,
): void;
export function on(target: EventTarget, type: string, listener: EventListener): void;
export function on(
  target: EventTarget,
  type: string,
  listener: EventListener,
  options?: AddEventListenerOptions,
): void {
  target.addEventListener(type, listener, options);
}

export function present(children: Child[]): (Node | string)[] {
  return children.filter((child): child is Node | string => typeof child === "string" || child instanceof Node);
}

/** Makes `parent` have exactly these children, moving only those that are out of place, so that focus and scrolling stay. */
export function arrange(parent: Element, children: Node[]): void {
  const wanted = new Set(children);
  for (const child of [...parent.childNodes]) if (!wanted.has(child)) child.remove();
  let place = parent.firstChild;
  for (const child of children) {
    if (child === place) place = place.nextSibling;
    else parent.insertBefore(child, place);
  }
}

/** A text in which names are isolated, with an element for each of them. */
export function nodesOf(text: string): Node[] {
  return text.split(/\u2068(.*?)\u2069/s).map((part, index) =>
    index % 2 ? make("bdi", part) : document.createTextNode(part)
  );
}

/** A button that shows an icon and is called `name`. */
export function iconButton(name: string, icon: IconName, onclick: () => void, attributes: Attributes = {}) {
  return make(
    "button",
    { class: "icon", "aria-label": name, title: name, onclick, ...attributes },
    iconOf(icon),
  );
}

const paths = {
  compose: "M4 20h16M14.5 4.5l4 4L9 18l-5 1 1-5z",
  send: "M12 19V5m-6.5 6.5L12 5l6.5 6.5",
  back: "M15 4l-8 8 8 8",
  close: "M6 6l12 12M18 6L6 18",
  details: "M12 11v6m0-9.5v.1M12 21a9 9 0 100-18 9 9 0 000 18z",
  down: "M12 5v14m-6.5-6.5L12 19l6.5-6.5",
  person: "M12 12a4 4 0 100-8 4 4 0 000 8zm-7.5 8.5c0-4 3.4-6 7.5-6s7.5 2 7.5 6",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  attach: "M12 5v14M5 12h14",
  alert: "M12 7v6m0 3.5v.1M12 21a9 9 0 100-18 9 9 0 000 18z",
  reply: "M10 6L4 12l6 6m-6-6h9c4 0 7 2 7 6",
  edit: "M14.5 4.5l5 5L9 20H4v-5z",
  file: "M13 3H7a2 2 0 00-2 2v14a2 2 0 002 2h10a2 2 0 002-2V9zm0 0v6h6",
  download: "M12 4v11m-5-5l5 5 5-5M5 20h14",
  microphone: "M12 15a3 3 0 003-3V6a3 3 0 00-6 0v6a3 3 0 003 3zm-6-3a6 6 0 0012 0M12 18v3",
  stop: "M7 7h10v10H7z",
  forward: "M9 4l8 8-8 8",
  play: "M8 5l11 7-11 7z",
  clock: "M12 4a8 8 0 100 16 8 8 0 000-16zm0 4v4l3 2",
  poll: "M6 20v-8m6 8V4m6 16v-5",
  pin: "M9 4h6l-1 6 3 3v2H7v-2l3-3zm3 11v6",
  search: "M11 18a7 7 0 100-14 7 7 0 000 14zm9 2l-4-4",
};
export type IconName = keyof typeof paths;

export function iconOf(name: IconName): SVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  set(svg, { viewBox: "0 0 24 24", "aria-hidden": "true", class: `i-${name}` });
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", paths[name]);
  svg.append(path);
  return svg;
}

/** Collects what ends with an element: subscriptions, timers, listeners of others. */
export class Endings {
  #endings: (() => void)[] = [];

  add(...endings: (() => void)[]): void {
    this.#endings.push(...endings);
  }

  listen(target: EventTarget, type: string, listener: (event: Event) => void): void {
    on(target, type, listener);
    this.add(() => target.removeEventListener(type, listener));
  }

  end(): void {
    for (const end of this.#endings.splice(0)) end();
  }
}

/** Calls `work` once, `milliseconds` after the first of many calls. */
export function gathered(milliseconds: number, work: () => void): (() => void) & { flush(): void } {
  let timer = 0;
  const run = () => {
    clearTimeout(timer);
    timer = 0;
    work();
  };
  const call = () => {
    timer ||= setTimeout(run, milliseconds);
  };
  return Object.assign(call, { flush: () => void (timer && run()) });
}
