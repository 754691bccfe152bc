import type { ConnectionState } from "../core/client.ts";
import { ParleyChat } from "../elements/chat.ts";
import { make } from "../elements/dom.ts";
import { askForToken, forgetToken, takeToken } from "./sign-in.ts";
import { keepPage } from "./worker.ts";

/** The page that the server gives: a chat as large as the window, the title, signing in, and the worker that keeps it. */
export class ParleyPage extends HTMLElement {
  #token = takeToken();

  connectedCallback(): void {
    this.#showChat();
    addEventListener("hashchange", () => this.#tokenCame(takeToken()));
    keepPage();
  }

  #showChat(): void {
    const chat = new ParleyChat();
    chat.token = (isFresh, kept) => this.#giveToken(isFresh, kept);
    chat.addEventListener("parley-unread", (event) => this.#showTitle((event as CustomEvent<number>).detail));
    chat.addEventListener("parley-connection", (event) => {
      const { detail } = event as CustomEvent<ConnectionState>;
      if (detail === "online" || detail === "otherUser") forgetToken();
    });
    chat.addEventListener("parley-signed-out", () => this.#showGoodbye());
    this.replaceChildren(chat);
  }

  /** The token of a link opened just now goes before the one that was kept. */
  async #giveToken(isFresh: boolean, kept?: string): Promise<string> {
    const given = this.#token;
    this.#token = null;
    if (given) return given;
    if (kept && !isFresh) return kept;
    const token = await askForToken();
    if (token) return token;
    if (!kept) this.#showInvitation();
    throw new Error("no token is known");
  }

  #tokenCame(token: string | null): void {
    if (!token) return;
    this.#token = token;
    this.#showChat();
  }

  #showTitle(unread: number): void {
    document.title = unread ? `(${unread}) Parley` : "Parley";
  }

  #showInvitation(): void {
    this.#say("Parley", "Open this page by a link from your application. It signs you in.");
  }

  #showGoodbye(): void {
    forgetToken();
    this.#showTitle(0);
    this.#say("Signed out", "Nothing of your conversations is left on this device.");
  }

  #say(title: string, text: string): void {
    this.replaceChildren(
      make(
        "main.card",
        make("img", { src: "/icon.svg", alt: "", width: "72", height: "72" }),
        make("h1", title),
        make("p", text),
      ),
    );
  }
}
