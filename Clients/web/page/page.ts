import type { ConnectionState } from "../core/client.ts";
import { ParleyChat } from "../elements/chat.ts";
import { make } from "../elements/dom.ts";
import { askForToken, forget, type Secrets, takeSecrets } from "./sign-in.ts";
import { keepPage } from "./worker.ts";

/** The page that the server gives: a chat as large as the window, the title, signing in, and the worker that keeps it. */
export class ParleyPage extends HTMLElement {
  #secrets = takeSecrets();
  #chat: ParleyChat | null = null;

  connectedCallback(): void {
    this.#showChat();
    addEventListener("hashchange", () => this.#linkCame(takeSecrets()));
    keepPage();
  }

  #showChat(): void {
    const chat = this.#chat = new ParleyChat();
    chat.token = (isFresh, kept) => this.#giveToken(isFresh, kept);
    chat.addEventListener("parley-unread", (event) => this.#showTitle((event as CustomEvent<number>).detail));
    chat.addEventListener("parley-connection", (event) => {
      const { detail } = event as CustomEvent<ConnectionState>;
      if (detail === "online" || detail === "otherUser") forget("token");
    });
    chat.addEventListener("parley-signed-out", () => this.#showGoodbye());
    this.replaceChildren(chat);
    this.#offerInvitation();
  }

  #offerInvitation(): void {
    const { invite } = this.#secrets;
    if (invite === undefined) return;
    void this.#chat?.openInvitation(invite).then(() => {
      if (this.#secrets.invite === invite) this.#forget("invite");
    });
  }

  #forget(name: keyof Secrets): void {
    delete this.#secrets[name];
    forget(name);
  }

  /** The token of a link opened just now goes before the one that was kept. */
  async #giveToken(isFresh: boolean, kept?: string): Promise<string> {
    const given = this.#secrets.token;
    delete this.#secrets.token;
    if (given) return given;
    if (kept && !isFresh) return kept;
    const token = await askForToken();
    if (token) return token;
    if (!kept) this.#askForLink();
    throw new Error("no token is known");
  }

  #linkCame({ token, invite }: Secrets): void {
    const isOffered = invite === this.#secrets.invite;
    if (invite !== undefined) this.#secrets.invite = invite;
    if (token) {
      this.#secrets.token = token;
      this.#showChat();
    } else if (invite !== undefined && !isOffered) this.#offerInvitation();
  }

  #showTitle(unread: number): void {
    document.title = unread ? `(${unread}) Parley` : "Parley";
  }

  #askForLink(): void {
    const then = this.#secrets.invite === undefined ? "" : " Then open the invitation again.";
    this.#say("Parley", `Open this page by a link from your application. It signs you in.${then}`);
  }

  #showGoodbye(): void {
    this.#secrets = {};
    history.replaceState(null, "");
    this.#showTitle(0);
    this.#say("Signed out", "Nothing of your conversations is left on this device.");
  }

  #say(title: string, text: string): void {
    this.#chat = null;
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
