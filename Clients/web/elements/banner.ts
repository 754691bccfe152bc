import { type ConnectionState, isBetweenAttempts, type ParleyClient } from "../core/client.ts";
import { Endings, make } from "./dom.ts";
import { suspensionText } from "./words.ts";

/** A connection that comes back within this time is not worth a word. */
const patience = 1500;

const texts: Partial<Record<ConnectionState, string>> = {
  connecting: "Connecting…",
  waiting: "No connection. What you write is kept and sent later.",
  unwritable: "Nothing can be kept in this browser. Is its storage full?",
  suspended: suspensionText(),
  superseded: "Parley is open somewhere else.",
  unauthenticated: "You were signed out. A link from your application signs you in again; what you write is kept.",
  otherUser: "This link is of another user. Sign out first to use it.",
};

/** What is wrong with the connection, floating over the page so that nothing moves. */
export class Banner extends HTMLElement {
  #endings = new Endings();
  #timer = 0;
  #isOutdated = false;

  open(client: ParleyClient): void {
    this.setAttribute("aria-live", "polite");
    this.#endings.add(
      client.connection.subscribe((state) => this.#follow(client, state)),
      client.isOutdated.subscribe((isOutdated) => isOutdated && this.#offerReload()),
    );
  }

  disconnectedCallback(): void {
    clearTimeout(this.#timer);
    this.#endings.end();
  }

  #offerReload(): void {
    this.#isOutdated = true;
    clearTimeout(this.#timer);
    const button = make("button", { onclick: () => location.reload() }, "Reload");
    this.replaceChildren(make("div", make("span", "A new version of Parley is here."), button));
  }

  #follow(client: ParleyClient, state: ConnectionState): void {
    if (this.#isOutdated) return;
    clearTimeout(this.#timer);
    if (!texts[state]) return this.replaceChildren();
    if (this.firstChild) return this.#show(client, state);
    this.#timer = setTimeout(() => this.#show(client, state), patience);
  }

  #show(client: ParleyClient, state: ConnectionState): void {
    const isStuck = state === "superseded" || isBetweenAttempts(state);
    const action = state === "superseded" ? "Use here" : "Try now";
    const button = isStuck && make("button", { onclick: () => client.connect() }, action);
    const text = state === "suspended" ? suspensionText(client.suspendedUntil) : texts[state]!;
    this.replaceChildren(make("div", { class: state }, make("span", text), ...(button ? [button] : [])));
  }
}
