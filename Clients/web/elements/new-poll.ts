import type { Limits } from "../core/model.ts";
import { openDialog } from "./dialog.ts";
import { make, on } from "./dom.ts";
import { notKept } from "./words.ts";

/** Asks for a question and its options. */
export function openNewPoll(
  owner: Element,
  { pollOptions, pollOptionCharacters }: Pick<Limits, "pollOptions" | "pollOptionCharacters">,
  send: (question: string, options: string[], multiple: boolean) => Promise<void>,
): void {
  const question = make("input", { type: "text", required: true, dir: "auto", "aria-label": "Question" });
  const options = make("textarea", { rows: "4", required: true, dir: "auto", "aria-label": "Options, a line each" });
  const several = make("input", { type: "checkbox" });
  const labelled = (text: string, field: HTMLElement) => make("label.stacked", text, field);
  const button = make("button", { type: "submit" }, "Send poll");
  const problem = make("p.problem", { role: "alert", hidden: true }, notKept);
  const form = make(
    "form.poll-form",
    labelled("Question", question),
    labelled("Options, a line each", options),
    make("label", several, " Several may be chosen"),
    problem,
    button,
  );
  const dialog = openDialog(owner, "New poll", form);
  const lines = () => options.value.split("\n").map((line) => line.trim()).filter((line) => line);
  on(options, "input", () => {
    const texts = lines();
    const isLong = texts.some((text) => [...text].length > pollOptionCharacters);
    const isGood = texts.length >= 2 && texts.length <= pollOptions && new Set(texts).size === texts.length && !isLong;
    const wanted = `2 to ${pollOptions} different options of at most ${pollOptionCharacters} characters, a line each`;
    options.setCustomValidity(isGood ? "" : wanted);
  });
  on(form, "submit", async (event) => {
    event.preventDefault();
    if (!question.value.trim()) return;
    button.disabled = true;
    problem.hidden = true;
    try {
      await send(question.value.trim(), lines(), several.checked);
      dialog.close();
    } catch (error) {
      console.warn("parley: the poll cannot be kept", error);
      problem.hidden = button.disabled = false;
    }
  });
}
