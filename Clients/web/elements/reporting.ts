import type { ParleyClient } from "../core/client.ts";
import type { NewReport, ReportReason, UserId } from "../core/model.ts";
import { limitsOf } from "../core/limits.ts";
import { newId } from "../core/uuid.ts";
import { attempts, openDialog } from "./dialog.ts";
import { make, nodesOf, on } from "./dom.ts";
import { isolated, reportReasons } from "./words.ts";

/** What only reports are refused for. */
const refusals = {
  conflict: "You have reported as much here as is possible at a time.",
  notFound: "It is not there any more.",
};

/**
 * Reports a person in a conversation, or a message of theirs, to those who run the service, and blocks the person if that is
 * wanted. `owner` stays when the conversation goes with the block.
 */
export function openReport(
  owner: Element,
  client: ParleyClient,
  user: UserId,
  about: Pick<NewReport, "conversationId" | "messageId">,
): void {
  const who = isolated(client.names, user);
  const text = make("textarea", {
    rows: "3",
    dir: "auto",
    maxlength: limitsOf(client).reportCharacters,
  });
  const blocks = make("input", { type: "checkbox" });
  const send = make("button.danger.filled", { type: "submit" }, "Report");
  const { problem, attempt } = attempts(refusals);
  const form = make(
    "form.stacked",
    make(
      "p",
      `Those who run the service see ${about.messageId ? "the message" : "who it is"}. Nobody else learns of it.`,
    ),
    make("fieldset.choices", make("legend", "Why?"), ...Object.entries(reportReasons).map(choice)),
    make("label.stacked", make("span.quiet", "Anything that helps (optional)"), make("div.chips", text)),
    !client.blockedUsers.value.includes(user) &&
      make("label.choice", blocks, make("span", ...nodesOf(`Block ${who}, too`))),
    problem,
    make("div.buttons", make("button", { onclick: () => dialog.close() }, "Cancel"), send),
  );
  const done = make("div.stacked", { role: "status" });
  const dialog = openDialog(owner, about.messageId ? "Report message" : `Report ${who}`, form, done);
  /** What was sent and not answered: repeated, it is the same report. */
  let wanted: NewReport | undefined;
  on(form, "input", ({ target }) => target === blocks || (wanted = undefined));
  on(form, "submit", (event) => {
    event.preventDefault();
    void attempt(report, send);
  });

  async function report(): Promise<void> {
    const reason = new FormData(form).get("reason") as ReportReason;
    wanted ??= { id: newId(), ...about, ...about.messageId ? {} : { userId: user }, reason, text: text.value };
    await client.report(wanted);
    const isBlocked = blocks.checked;
    const close = make("button.filled", { onclick: () => dialog.close() }, "OK");
    const told = "Thank you. It was sent to those who run the service.";
    form.remove();
    done.append(make("p", ...nodesOf(isBlocked ? `${told} ${who} is blocked.` : told)), make("div.buttons", close));
    close.focus();
    // A request goes with it, and what was reported has to be seen.
    if (isBlocked) await client.block(user, true);
  }
}

function choice([reason, name]: [string, string]): HTMLElement {
  return make("label.choice", make("input", { type: "radio", name: "reason", value: reason, required: true }), name);
}
