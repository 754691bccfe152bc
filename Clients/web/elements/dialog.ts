import { ClientProblem } from "../core/client.ts";
import { type Child, iconButton, make, nodesOf, on } from "./dom.ts";
import { refusalText } from "./words.ts";

let latest = 0;

/** A modal dialog with a title and a button that closes it. It removes itself when closed, and the focus goes back. */
export function openDialog(owner: Element, title: string, ...content: Child[]): HTMLDialogElement {
  const id = `dialog-${++latest}`;
  const dialog = make("dialog", { "aria-labelledby": id });
  dialog.append(
    make(
      "header",
      make("h2", { id, dir: "auto" }, ...nodesOf(title)),
      iconButton("Close", "close", () => dialog.close()),
    ),
    make("div.content", ...content),
  );
  on(dialog, "close", () => dialog.remove());
  // A click beside it, which hits the dialog itself and nothing in it.
  on(dialog, "click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  on(dialog, "keydown", (event) => event.stopPropagation());
  owner.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Asks before something that cannot be undone. */
export function confirm(owner: Element, title: string, text: string, action: string): Promise<boolean> {
  return new Promise((resolve) => {
    let answer = false;
    const dialog = openDialog(
      owner,
      title,
      make("p", text),
      make(
        "div.buttons",
        make("button", { onclick: () => dialog.close() }, "Cancel"),
        make("button.danger.filled", {
          onclick: () => {
            answer = true;
            dialog.close();
          },
        }, action),
      ),
    );
    on(dialog, "close", () => resolve(answer));
  });
}

/** What a person reads of an error. */
export function reasonOf(error: unknown): string {
  if (error instanceof ClientProblem) return refusalText(error.problem);
  return navigator.onLine ? "The server could not be reached." : "There is no connection.";
}

/**
 * Has something done that needs the server, and a line that says why it was not.
 *
 * @param refusals what to say of codes that mean something of their own here.
 */
export function attempts(refusals: Record<string, string> = {}) {
  const problem = make("p.problem", { role: "alert", hidden: true });
  async function attempt(work: () => Promise<void>, button?: HTMLButtonElement): Promise<void> {
    if (button) button.disabled = true;
    const reason = await work().then(
      () => "",
      (error) => error instanceof ClientProblem && refusals[error.problem.code] || reasonOf(error),
    );
    problem.hidden = !reason;
    problem.textContent = reason;
    if (button) button.disabled = false;
  }
  return { problem, attempt };
}

/** A labelled switch. */
export function toggle(label: string, isOn: boolean, onchange: (isOn: boolean) => void): HTMLElement {
  const input = make("input", { type: "checkbox", role: "switch" });
  input.checked = isOn;
  on(input, "change", () => onchange(input.checked));
  return make("label.toggle", make("span", label), input);
}
