import { iconButton, make, on, set } from "./dom.ts";
import { durationText } from "./words.ts";

/** What browsers record into, the first that this one knows; the server takes both. */
const types = ["audio/webm;codecs=opus", "audio/ogg;codecs=opus", "audio/mp4"];
const longest = 3_600_000;

export function canRecord(): boolean {
  return "MediaRecorder" in globalThis && !!navigator.mediaDevices?.getUserMedia && typeOf() !== undefined;
}

function typeOf(): string | undefined {
  return types.find((type) => MediaRecorder.isTypeSupported(type));
}

/** A recording being made, in the place of the field. The microphone is asked for when it begins, and let go of at its end. */
export class VoiceRecorder {
  readonly node = make("div.recording", { role: "group", "aria-label": "Voice recording", hidden: true });
  private time = make("span.clock", { role: "timer" });
  private recorder?: MediaRecorder;
  private parts: Blob[] = [];
  private begunAt = 0;
  private timer = 0;
  private isKept = false;

  /** `done` gets the recording, or null if it was cancelled. */
  constructor(private done: (recording: File | null) => void) {
    this.node.append(
      make("span.lamp", { "aria-hidden": "true" }),
      this.time,
      make("span.grow", "Recording…"),
      iconButton("Cancel recording", "close", () => this.end(false)),
      iconButton("Stop recording", "stop", () => this.end(true), { class: "icon stop" }),
    );
    on(this.node, "keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.end(false);
    });
  }

  get isRunning(): boolean {
    return this.recorder !== undefined;
  }

  /** Rejects where the user, or the browser, does not allow it. */
  async begin(): Promise<void> {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    const recorder = new MediaRecorder(stream, { mimeType: typeOf(), audioBitsPerSecond: 32_000 });
    [this.recorder, this.parts, this.begunAt, this.isKept] = [recorder, [], Date.now(), false];
    recorder.ondataavailable = ({ data }) => this.parts.push(data);
    recorder.onstop = () => this.stopped(stream);
    recorder.start(1_000);
    this.timer = setInterval(() => this.showTime(), 250);
    this.showTime();
    set(this.node, { hidden: false });
    this.node.querySelector<HTMLElement>(".stop")!.focus();
  }

  end(isKept: boolean): void {
    this.isKept = isKept;
    if (this.recorder?.state !== "inactive") this.recorder?.stop();
  }

  private showTime(): void {
    const elapsed = Date.now() - this.begunAt;
    this.time.textContent = durationText(elapsed / 1_000);
    if (elapsed > longest) this.end(true);
  }

  private stopped(stream: MediaStream): void {
    for (const track of stream.getTracks()) track.stop();
    clearInterval(this.timer);
    set(this.node, { hidden: true });
    const type = (this.recorder?.mimeType || "audio/webm").split(";")[0]!;
    this.recorder = undefined;
    const ending = type.split("/")[1] === "mp4" ? "m4a" : type.split("/")[1];
    const name = `Voice message ${new Date(this.begunAt).toISOString().slice(0, 10)}.${ending}`;
    const isSomething = this.isKept && this.parts.some(({ size }) => size > 0);
    this.done(isSomething ? new File(this.parts, name, { type }) : null);
    this.parts = [];
  }
}
