import type { ParleyClient } from "../core/client.ts";
import type { ConversationId, Message } from "../core/model.ts";
import { Endings, make, on } from "./dom.ts";
import { isolated, previewOf } from "./words.ts";

const inFront = "parley in front";

/**
 * Tells of new messages: screen readers by a hidden region, of a page that is in front; the user by a notification, of a
 * page that is not, where they have allowed it. Each message once. What is muted, or was read elsewhere, is told of only where
 * it is shown in front.
 */
export class Announcer extends HTMLElement {
  #endings = new Endings();
  #region = make("div.hidden", {
    "aria-live": "polite",
    "aria-atomic": "false",
    "aria-relevant": "additions",
  });

  /** `opened` is the conversation that is shown. */
  open(client: ParleyClient, opened: () => ConversationId | null, onopen: (id: ConversationId) => void): void {
    this.append(this.#region);
    this.#endings.add(client.onArrival(async (message) => {
      const isSeen = isPageInFront() && opened() === message.conversationId;
      if (!isSeen && !await client.isNews(message).catch(() => false)) return;
      const { names, userId } = client;
      const text = `${isolated(names, message.senderId)}: ${previewOf(message, userId.value, names)}`;
      if (isPageInFront()) this.say(text);
      else void notify(message, text, onopen);
    }));
    sayInFront(this.#endings);
  }

  disconnectedCallback(): void {
    this.#endings.end();
  }

  say(text: string): void {
    const line = make("p", text.slice(0, 300));
    this.#region.append(line);
    while (this.#region.children.length > 5) this.#region.firstChild!.remove();
    setTimeout(() => line.remove(), 10_000);
  }
}

async function notify(message: Message, body: string, onopen: (id: ConversationId) => void): Promise<void> {
  if (!("Notification" in globalThis) || Notification.permission !== "granted" || await isInFront()) return;
  // Several tabs give the same message the same tag, so the browser shows it once.
  const options = { body: body.slice(0, 300), tag: message.id, icon: "/icon.svg" };
  try {
    const notification = new Notification("Parley", options);
    on(notification, "click", () => {
      globalThis.focus();
      onopen(message.conversationId);
      notification.close();
    });
  } catch {
    // Chromium on Android has notifications by a service worker alone.
    await (await navigator.serviceWorker.getRegistration())?.showNotification("Parley", options);
  }
}

/** Whether another tab is in front: it holds this lock. */
async function isInFront(): Promise<boolean> {
  const { held } = await navigator.locks?.query() ?? {};
  return !!held?.some(({ name }) => name === inFront);
}

/** Holds the lock while this page is in front, which is when nobody has to be called to it. */
function sayInFront(endings: Endings): void {
  let release: (() => void) | undefined;
  const change = () => {
    release?.();
    release = undefined;
    if (!isPageInFront()) return;
    const isOver = new Promise<void>((resolve) => release = resolve);
    void navigator.locks?.request(inFront, { mode: "shared" }, () => isOver);
  };
  for (const type of ["focus", "blur"]) endings.listen(globalThis, type, change);
  endings.listen(document, "visibilitychange", change);
  endings.add(() => release?.());
  change();
}

function isPageInFront(): boolean {
  return document.visibilityState === "visible" && document.hasFocus();
}
