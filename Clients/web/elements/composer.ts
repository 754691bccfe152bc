import type { Draft, NewFile, ParleyClient, TimelineRow } from "../core/client.ts";
import type { ConversationId, MessageId, UserId } from "../core/model.ts";
import { isSame } from "../core/copy/drafts.ts";
import { limitsOf } from "../core/limits.ts";
import { ChosenFiles } from "./chosen-files.ts";
import { Endings, gathered, iconButton, iconOf, make, on, set } from "./dom.ts";
import { Mentions } from "./mentions.ts";
import { canRecord, VoiceRecorder } from "./recorder.ts";
import { openNewPoll } from "./new-poll.ts";
import { openScheduled } from "./scheduled.ts";
import { everybody, mentionsIn } from "./text.ts";
import { notKept, previewOf } from "./words.ts";

/** What the composer needs of the conversation it stands in. */
export interface ComposerHost {
  /** The last of one's own messages that may be edited. */
  lastOwn(): TimelineRow | undefined;
  members(): UserId[];
  mayMentionAll(): boolean;
  sent(): void;
  /** A message, if it is among those shown once they are. */
  rowOf(id: MessageId): Promise<TimelineRow | undefined>;
  /** The keyboard leaves it upwards. */
  leaveUpwards(): void;
}

/** Files that were chosen and not sent, of conversations that are not open: they are there again when one comes back. */
const leftFiles = new WeakMap<ParleyClient, Map<ConversationId, NewFile[]>>();

/** Where a message is written, a reply to another, or the new text of one that was sent. */
export class Composer extends HTMLElement {
  #client!: ParleyClient;
  #id!: ConversationId;
  #host!: ComposerHost;
  #endings = new Endings();
  #replyTo: MessageId | null = null;
  #editing: { row: TimelineRow; draft: string } | null = null;
  #mentions?: Mentions;

  #field = make("textarea", {
    "aria-label": "Message",
    placeholder: "Message",
    rows: "1",
    dir: "auto",
    autocomplete: "off",
    enterkeyhint: "send",
  });
  #button = iconButton("Send", "send", () => void this.#submit(), { class: "icon send", disabled: true });
  #attach = iconButton("Attach", "attach", () => this.#picker.click(), { class: "icon attach", hidden: true });
  #picker = make("input", { type: "file", multiple: true, hidden: true, "aria-hidden": "true", tabindex: "-1" });
  #record = iconButton("Record voice message", "microphone", () => void this.#beginRecording(), {
    class: "icon record",
    hidden: true,
  });
  #poll = iconButton("New poll", "poll", () => this.#ask(), { class: "icon record ask" });
  #later = iconButton("Scheduled messages", "clock", () => this.#schedule(), { class: "icon attach" });
  #files = new ChosenFiles(() => this.#changed());
  #recorder = new VoiceRecorder((recording) => this.#recorded(recording));
  /** Files are being looked at: what is sent waits for them. */
  #adding: Promise<void> = Promise.resolve();
  #line = make("div.row");
  #bar = make("div.bar", { hidden: true });
  #notice = make("div.notice", { hidden: true, "aria-live": "polite" });
  #keepDraft = gathered(300, () => void this.#saveDraft());
  /** What the copy has, or is to have, as a draft. While the user writes, the field differs from it. */
  #kept?: Draft;
  /** As the copy showed it last. */
  #shown?: Draft;
  /** How many drafts the copy does not show yet: what it shows is older. */
  #keeping = 0;

  open(client: ParleyClient, id: ConversationId, host: ComposerHost): void {
    [this.#client, this.#id, this.#host] = [client, id, host];
    this.#mentions = new Mentions(
      this.#field,
      () => [
        ...this.#mayMentionAll() ? [everybody] : [],
        ...host.members().filter((member) => member !== client.userId.value),
      ],
      client.names,
    );
    this.append(
      this.#bar,
      this.#notice,
      this.#mentions.list,
      this.#files.node,
      this.#recorder.node,
      this.#line,
    );
    this.#line.append(
      this.#attach,
      this.#picker,
      make("div.field", this.#field, this.#poll, this.#record, this.#button),
      this.#later,
    );
    on(this.#field, "input", () => this.#typed());
    on(this.#field, "keydown", (event) => this.#pressed(event));
    const turnAway = () => this.#turnAway();
    this.#endings.listen(globalThis, "pagehide", turnAway);
    this.#endings.listen(document, "visibilitychange", turnAway);
    this.#endings.add(client.fileLimits.subscribe((limits) => {
      set(this.#attach, { hidden: !limits });
      this.#changed();
    }));
    this.#takeFiles();
    const left = leftFiles.get(client)?.get(id);
    if (left) this.#files.restore(left);
    leftFiles.get(client)?.delete(id);
  }

  disconnectedCallback(): void {
    this.#turnAway();
    this.#endings.end();
    this.#recorder.end(false);
    if (this.#files.isEmpty) return;
    const left = leftFiles.get(this.#client) ?? new Map<ConversationId, NewFile[]>();
    leftFiles.set(this.#client, left.set(this.#id, this.#files.files));
    this.#files.clear();
  }

  /** Not where a member has that name: then they are meant. */
  #mayMentionAll(): boolean {
    return this.#host.mayMentionAll() && !this.#host.members().includes(everybody);
  }

  /** More of them are known: one may be being written. */
  membersChanged(): void {
    this.#mentions?.update();
  }

  focusField(): void {
    this.#field.focus();
  }

  // What it is for.

  reply(row: TimelineRow): void {
    this.#stopEditing();
    this.#replyTo = row.id;
    const { names } = this.#client;
    const text = previewOf(row.message, null, names);
    this.#showBar("reply", names.of(row.message.senderId), text, "Cancel reply", () => this.#cancelReply());
    this.#keepDraft();
    this.focusField();
  }

  edit(row: TimelineRow): void {
    if (this.#editing) this.#stopEditing();
    this.#editing = { row, draft: this.#field.value };
    this.#showBar("edit", "Editing", row.message.text ?? "", "Cancel edit", () => this.#stopEditing());
    this.#write(row.message.text ?? "");
    this.focusField();
  }

  #write(text: string): void {
    this.#field.value = text;
    this.#changed();
    this.#field.setSelectionRange(text.length, text.length);
  }

  #cancelReply(): void {
    this.#replyTo = null;
    this.#bar.hidden = true;
    this.#keepDraft();
    this.focusField();
  }

  #stopEditing(): void {
    if (!this.#editing) return;
    const { draft } = this.#editing;
    this.#editing = null;
    this.#bar.hidden = true;
    this.#write(draft);
    if (this.#replyTo) void this.#resumeReply(this.#replyTo);
    this.focusField();
  }

  #showBar(icon: "reply" | "edit", who: string, what: string, cancel: string, oncancel: () => void): void {
    this.#bar.replaceChildren(
      iconOf(icon),
      make("div", make("b", { dir: "auto" }, who), make("span", { dir: "auto" }, what.slice(0, 200))),
      iconButton(cancel, "close", oncancel),
    );
    this.#bar.hidden = false;
  }

  // Writing.

  #typed(): void {
    this.#changed();
    if (this.#editing) return;
    this.#keepDraft();
    this.#client.sayTyping(this.#id, this.#field.value.trim() !== "");
  }

  #changed(): void {
    const text = this.#field.value;
    const limit = limitsOf(this.#client).textBytes;
    // A character is at most three bytes of UTF-8: most texts need no counting.
    const excess = text.length * 3 <= limit ? 0 : new TextEncoder().encode(text).length - limit;
    this.#tell(excess > 0 ? `This message is ${excess} bytes too long.` : "");
    const hasFiles = !this.#files.isEmpty && !this.#editing;
    this.#button.disabled = !text.trim() && !hasFiles || excess > 0;
    const canRecordHere = !!this.#client?.fileLimits.value && canRecord();
    set(this.#record, { hidden: !canRecordHere || !this.#button.disabled || !!this.#editing });
    set(this.#poll, { hidden: !!text.trim() || hasFiles || !!this.#editing });
    this.#grow();
  }

  #tell(problem: string): void {
    this.#notice.textContent = problem;
    this.#notice.hidden = !problem;
  }

  /** Browsers without `field-sizing` are told the height. */
  #grow(): void {
    if (CSS.supports("field-sizing", "content")) return;
    this.#field.style.height = "auto";
    this.#field.style.height = `${this.#field.scrollHeight}px`;
  }

  #pressed(event: KeyboardEvent): void {
    if (event.isComposing || this.#mentions!.take(event)) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      void this.#submit();
    } else if (event.key === "Escape") {
      if (this.#editing) this.#stopEditing();
      else if (this.#replyTo) this.#cancelReply();
      else return;
      event.preventDefault();
      event.stopPropagation();
    } else if (event.key === "ArrowUp" && !this.#field.value) {
      event.preventDefault();
      const row = this.#host.lastOwn();
      if (row) this.edit(row);
      else this.#host.leaveUpwards();
    }
  }

  async #submit(): Promise<void> {
    await this.#adding;
    const text = this.#field.value.trim();
    if (this.#button.disabled) return;
    if (this.#editing) return await this.#sendEdit(this.#editing.row, text);
    const files = this.#files.files;
    const options = { ...this.#options(text), files };
    this.#empty();
    try {
      await this.#client.send(this.#id, text, options);
    } catch (error) {
      this.#write(text);
      this.#files.restore(files);
      if (options.replyTo) await this.#resumeReply(options.replyTo);
      return this.#tellNotKept(error);
    }
    this.#keepDraft();
    this.#keepDraft.flush();
    this.#host.sent();
  }

  async #sendEdit(row: TimelineRow, text: string): Promise<void> {
    this.#stopEditing();
    try {
      await this.#client.edit(this.#id, row.id, text);
      if (row.state === "failed") await this.#client.retry(this.#id, row.id);
    } catch (error) {
      this.edit(row);
      this.#write(text);
      this.#tellNotKept(error);
    }
  }

  /** It could not be kept on this device, so it stays where it was written. */
  #tellNotKept(error: unknown): void {
    console.warn("parley: the message cannot be kept", error);
    this.#tell(notKept);
  }

  #options(text: string) {
    return {
      replyTo: this.#replyTo ?? undefined,
      mentions: mentionsIn(text, this.#host.members()),
      mentionsAll: this.#mayMentionAll() && mentionsIn(text, [everybody]).length > 0,
    };
  }

  #empty(): void {
    this.#replyTo = null;
    this.#files.clear();
    this.#bar.hidden = true;
    this.#field.value = "";
    this.#changed();
    this.#client.sayTyping(this.#id, false);
  }

  /** Shows what waits for its time, and chooses one for what is written. Files are sent at once only. */
  #ask(): void {
    openNewPoll(this.parentElement!, limitsOf(this.#client), async (question, options, multiple) => {
      await this.#client.send(this.#id, question, { poll: { options, multiple } });
      this.#host.sent();
    });
  }

  #schedule(): void {
    const text = this.#field.value.trim();
    const isSendable = text && !this.#button.disabled && !this.#editing && this.#files.isEmpty;
    const send = async (at: string) => {
      await this.#client.schedule(this.#id, { at, text, ...this.#options(text) });
      this.#empty();
      this.#keepDraft();
      this.#keepDraft.flush();
    };
    openScheduled(this.parentElement!, this.#client, this.#id, isSendable ? send : undefined);
  }

  // Drafts.

  get #draft(): Draft | undefined {
    const text = this.#editing ? this.#editing.draft : this.#field.value;
    return text || this.#replyTo ? { text, replyTo: this.#replyTo ?? undefined } : undefined;
  }

  async #saveDraft(): Promise<void> {
    if (isSame(this.#draft, this.#kept)) return;
    this.#kept = this.#draft;
    this.#keeping++;
    await this.#client.setDraft(this.#id, this.#kept).catch((error) => {
      console.warn("parley: the draft is not kept", error);
      this.#kept = this.#shown; // It stays in its field.
    });
    this.#keeping--;
    this.takeDraft(this.#shown);
  }

  #turnAway(): void {
    this.#keepDraft.flush();
    this.#client.putDraft(this.#id);
  }

  /** Takes over what was written elsewhere, or that it was sent, unless the user is writing here. */
  takeDraft(draft?: Draft): void {
    this.#shown = draft;
    if (this.#keeping || isSame(draft, this.#kept) || !isSame(this.#draft, this.#kept)) return;
    this.#kept = draft;
    this.#replyTo = draft?.replyTo ?? null;
    const text = draft?.text ?? "";
    if (this.#editing) return void (this.#editing.draft = text);
    this.#write(text);
    this.#bar.hidden = true;
    if (this.#replyTo) void this.#resumeReply(this.#replyTo);
  }

  async #resumeReply(parent: MessageId): Promise<void> {
    this.#replyTo = parent;
    const row = await this.#host.rowOf(parent);
    if (this.#replyTo !== parent) return;
    this.#showBar(
      "reply",
      row ? this.#client.names.of(row.message.senderId) : "Reply",
      row ? previewOf(row.message, null, this.#client.names) : "",
      "Cancel reply",
      () => this.#cancelReply(),
    );
  }

  // Files: chosen, pasted, dropped or recorded.

  #takeFiles(): void {
    on(this.#picker, "change", () => {
      this.addFiles([...this.#picker.files ?? []]);
      this.#picker.value = "";
    });
    on(this.#field, "paste", (event) => {
      const { files, types } = event.clipboardData ?? {};
      // A cell of a table comes as its text and as a picture of it: the text is meant.
      if (!files?.length || types?.includes("text/plain") || this.#attach.hidden) return;
      event.preventDefault();
      this.addFiles([...files]);
    });
  }

  /** Whether files can be sent. */
  get takesFiles(): boolean {
    return !this.#attach.hidden && !this.hidden;
  }

  addFiles(files: File[]): void {
    const limits = this.#client.fileLimits.value;
    if (!files.length || !limits) return;
    if (this.#editing) this.#stopEditing();
    this.#adding = this.#adding.then(() => this.#files.add(files, limits)).then((problem) => {
      this.#tell(problem);
      this.focusField();
    });
  }

  async #beginRecording(): Promise<void> {
    if (this.#recorder.isRunning) return;
    try {
      await this.#recorder.begin();
      this.#line.hidden = true;
    } catch (error) {
      console.warn("parley: nothing can be recorded", error);
      this.#tell("The microphone cannot be used. Is it allowed for this page?");
    }
  }

  #recorded(recording: File | null): void {
    this.#line.hidden = false;
    if (recording) this.addFiles([recording]);
    this.focusField();
  }
}
