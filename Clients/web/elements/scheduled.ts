import type { ParleyClient } from "../core/client.ts";
import type { ConversationId, ScheduledMessage, Time } from "../core/model.ts";
import { attempts, openDialog, reasonOf } from "./dialog.ts";
import { make, on } from "./dom.ts";
import { wholeTime } from "./words.ts";

const reasons: Record<string, string> = {
  suspended: "an administrator had suspended you",
  notReplyable: "what it answers is gone",
  conflict: "another message has taken its place",
};

/**
 * What the user has scheduled in a conversation, asked of the server.
 *
 * @param send has what is written sent at a time. Absent: nothing is written that could be.
 */
export function openScheduled(
  owner: Element,
  client: ParleyClient,
  id: ConversationId,
  send?: (at: Time) => Promise<void>,
): void {
  const { problem, attempt } = attempts({ conflict: "It was sent already, or there is no room for another one." });
  const list = make("ul.people.scheduled", { "aria-label": "Scheduled messages" }, make("li.quiet", "Loading…"));
  const dialog = openDialog(owner, "Scheduled messages", send && chooser(send), problem, list);
  let shown: number | undefined | null = null;
  const end = client.conversation(id).subscribe((row) => {
    if (row && row.scheduled !== shown) void load();
    shown = row?.scheduled;
  });
  on(dialog, "close", end);

  async function load(): Promise<void> {
    const items = await client.scheduledMessages(id).then(
      (messages) => messages.length ? messages.map(item) : [make("li.quiet", "Nothing waits.")],
      (error) => [make("li.quiet", reasonOf(error))],
    );
    list.replaceChildren(...items);
  }

  function chooser(send: (at: Time) => Promise<void>): HTMLElement {
    const field = make("input", { type: "datetime-local", required: true, "aria-label": "Send it at" });
    const hour = 3_600_000;
    field.value = local((Math.floor(Date.now() / hour) + 1) * hour);
    field.min = local(Date.now());
    const button = make("button", { type: "submit" }, "Schedule");
    const form = make("form.inline", field, button);
    on(form, "submit", (event) => {
      event.preventDefault();
      void attempt(async () => {
        await send(new Date(field.value).toISOString());
        form.remove();
      }, button);
    });
    return form;
  }

  function item(message: ScheduledMessage): HTMLElement {
    const { at, text, replyTo, mentions, mentionsAll, extra, failure } = message;
    const action = (name: string, run: () => Promise<void>) =>
      make("button.link", { "aria-label": `${name}: ${text.slice(0, 80)}`, onclick: () => void attempt(run) }, name);
    const now = { at: null, text, replyTo, mentions, mentionsAll, extra };
    return make(
      "li",
      make("span.wrapped", { dir: "auto" }, text.slice(0, 500)),
      make("time", failure ? `Not sent: ${reasons[failure.code] ?? "you might not write here then"}` : wholeTime(at)),
      action("Send now", () => client.schedule(id, now, message.id)),
      action("Cancel", () => client.cancelScheduled(id, message.id)),
    );
  }
}

/** As such a field has it. */
function local(moment: number): string {
  const date = new Date(moment);
  return new Date(moment - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
