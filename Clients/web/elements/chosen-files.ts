import type { FileLimits, NewFile } from "../core/client.ts";
import { iconButton, iconOf, make } from "./dom.ts";
import { sizeText } from "./words.ts";

/** A file that is to be sent with the next message, and where it can be seen meanwhile. */
interface Chosen {
  file: NewFile;
  url: string;
}

const measuring = 5_000;

/** The files that were chosen for a message, above the field: each can be taken out again. */
export class ChosenFiles {
  readonly node = make("ul.chosen", { "aria-label": "Attachments", hidden: true });
  private chosen: Chosen[] = [];

  constructor(private changed: () => void) {}

  get isEmpty(): boolean {
    return !this.chosen.length;
  }

  get files(): NewFile[] {
    return this.chosen.map(({ file }) => file);
  }

  /** Adds what may be sent. Returns what is to be said about the rest. */
  async add(files: File[], limits: FileLimits): Promise<string> {
    const problems = new Set<string>();
    for (const file of files) {
      if (this.chosen.length >= limits.files) {
        problems.add(`A message carries at most ${limits.files} files.`);
        break;
      }
      const problem = problemOf(file, limits);
      if (problem) problems.add(problem);
      else this.chosen.push(await chosenOf(file, limits));
      this.show();
    }
    return [...problems].join(" ");
  }

  /** Takes them over, from where they were before. */
  restore(files: NewFile[]): void {
    this.chosen.push(...files.map((file) => ({ file, url: URL.createObjectURL(file.blob) })));
    this.show();
  }

  clear(): void {
    for (const { url } of this.chosen) URL.revokeObjectURL(url);
    this.chosen = [];
    this.show();
  }

  private remove(chosen: Chosen): void {
    URL.revokeObjectURL(chosen.url);
    const place = this.chosen.indexOf(chosen);
    this.chosen.splice(place, 1);
    this.show();
    const buttons = this.node.querySelectorAll("button");
    buttons[Math.min(place, buttons.length - 1)]?.focus();
  }

  private show(): void {
    this.node.hidden = this.isEmpty;
    this.node.replaceChildren(...this.chosen.map((chosen) => this.item(chosen)));
    this.changed();
  }

  private item(chosen: Chosen): HTMLElement {
    const { name, type, blob } = chosen.file;
    const remove = iconButton(`Remove ${name}`, "close", () => this.remove(chosen), { class: "icon remove" });
    return make(
      "li",
      { class: type.startsWith("audio/") ? "wide" : null, title: name },
      previewOf(chosen) ?? make("div.about", iconOf("file"), make("bdi", name), make("small", sizeText(blob.size))),
      remove,
    );
  }
}

function previewOf({ file: { name, type, width }, url }: Chosen): HTMLElement | null {
  if (type.startsWith("image/") && width) return make("img", { src: url, alt: name });
  if (type.startsWith("video/") && width) return make("video", { src: url, muted: true, "aria-label": name });
  return type.startsWith("audio/") ? make("audio", { src: url, controls: true, "aria-label": name }) : null;
}

function problemOf({ name, size }: File, { bytes }: FileLimits): string {
  if (size > bytes) return `“${name}” is larger than ${sizeText(bytes)}.`;
  return "";
}

async function chosenOf(file: File, limits: FileLimits): Promise<Chosen> {
  const url = URL.createObjectURL(file);
  const about = { blob: file, name: shortName(file.name || "file", limits.nameBytes), type: file.type };
  return { file: { ...about, ...await measured(file.type, url).catch(() => ({})) }, url };
}

/** What of a name fits into so many bytes, with its ending. */
export function shortName(name: string, limit: number): string {
  const bytes = (text: string) => new TextEncoder().encode(text).length;
  if (bytes(name) <= limit) return name;
  const ending = /\.[a-z0-9]{1,8}$/i.exec(name)?.[0] ?? "";
  const characters = [...name.slice(0, name.length - ending.length)];
  while (characters.length && bytes(characters.join("") + ending) > limit) characters.pop();
  return characters.join("") + ending;
}

type Measured = Pick<NewFile, "width" | "height" | "duration">;

/** As it is shown here. What this browser cannot show has no dimensions before the server has told them. */
async function measured(type: string, url: string): Promise<Measured> {
  if (type.startsWith("image/")) {
    const image = make("img", { src: url });
    await inTime(image.decode());
    return { width: image.naturalWidth || undefined, height: image.naturalHeight || undefined };
  }
  if (!type.startsWith("video/") && !type.startsWith("audio/")) return {};
  const media = document.createElement(type.startsWith("video/") ? "video" : "audio");
  const isKnown = new Promise<void>((resolve, reject) => {
    media.onloadedmetadata = () => resolve();
    media.onerror = () => reject(media.error);
  });
  media.preload = "metadata";
  media.src = url;
  await inTime(isKnown);
  const duration = isFinite(media.duration) ? media.duration : undefined;
  if (!(media instanceof HTMLVideoElement)) return { duration };
  return { width: media.videoWidth || undefined, height: media.videoHeight || undefined, duration };
}

function inTime(work: Promise<void>): Promise<void> {
  return Promise.race([work, new Promise<void>((_, reject) => setTimeout(reject, measuring))]);
}
