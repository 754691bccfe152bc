import type { ParleyClient } from "../core/client.ts";
import type { StoredPart } from "../core/copy/blobs.ts";
import { isPicture, kindOf } from "../core/media/kinds.ts";
import { decodeThumbHash } from "../core/media/thumbhash.ts";
import type { Attachment } from "../core/model.ts";
import { iconButton, iconOf, make, on, set } from "./dom.ts";
import { durationText, nameOf, sizeText } from "./words.ts";

/** Pixels that a picture or video takes at most when it stands alone, and at least. */
const [widest, highest, narrowest] = [320, 380, 120];
/** An address is good for five minutes. */
const addressLasts = 240_000;
/** An address that is refused, or a connection that broke off, is tried so often again. */
const mostFailures = 2;
/** Animations up to this size move where they stand. */
const smallAnimation = 4_000_000;

export interface FileActions {
  open(attachment: Attachment): void;
  save(attachment: Attachment): Promise<void>;
}

/** How one file looks. It loads what it shows when it comes near the screen, and lets go of it when it has left. */
export abstract class FileView {
  abstract readonly node: HTMLElement;
  protected attachment!: Attachment;
  protected isShown = false;
  private urls: string[] = [];

  constructor(protected client: ParleyClient, protected actions: FileActions) {}

  abstract update(attachment: Attachment, count: number): void;

  /** May be called again, for what could not be loaded before. */
  show(): void {
    this.isShown = true;
  }

  hide(): void {
    this.isShown = false;
    for (const url of this.urls.splice(0)) URL.revokeObjectURL(url);
  }

  /** Undefined where it could not be had, or is not needed any more. */
  protected async load(part: StoredPart): Promise<string | undefined> {
    const blob = await this.client.content(this.attachment, part).catch(() => undefined);
    if (!blob || !this.isShown) return undefined;
    const url = URL.createObjectURL(blob);
    this.urls.push(url);
    return url;
  }
}

/** A place in the dimensions of what will be in it. */
function keepPlace(node: HTMLElement, { width = 4, height = 3 }: Attachment): void {
  const ratio = Math.min(2.5, Math.max(0.5, width / height));
  const shown = Math.min(widest, highest * ratio, Math.max(width, narrowest));
  node.style.setProperty("--ratio", ratio.toFixed(4));
  node.style.setProperty("--width", `${Math.round(shown)}px`);
}

export class PhotoView extends FileView {
  readonly node = make("button.tile", { tabindex: "-1", onclick: () => this.actions.open(this.attachment) });
  private hash?: string;
  private image?: HTMLImageElement;
  private isLoading = false;
  private count = 1;

  update(attachment: Attachment, count: number): void {
    [this.attachment, this.count] = [attachment, count];
    set(this.node, { "aria-label": nameOf(attachment) });
    keepPlace(this.node, attachment);
    this.showHash(attachment.thumbhash);
  }

  private showHash(hash: string | undefined): void {
    if (hash === this.hash) return;
    this.hash = hash;
    const pixels = hash && decodeThumbHash(hash);
    this.node.querySelector("canvas")?.remove();
    if (!pixels) return;
    const canvas = make("canvas", { width: pixels.width, height: pixels.height, "aria-hidden": "true" });
    canvas.getContext("2d")!.putImageData(new ImageData(pixels.data, pixels.width, pixels.height), 0, 0);
    this.node.prepend(canvas);
  }

  override show(): void {
    super.show();
    if (!this.image && !this.isLoading) void this.loadImage();
  }

  private async loadImage(): Promise<void> {
    this.isLoading = true;
    const url = await this.load(this.part) ?? await this.load("content");
    const image = make("img", { alt: "", src: url ?? null });
    const isReady = url !== undefined && await image.decode().then(() => true, () => false);
    this.isLoading = false;
    if (!isReady || !this.isShown) return;
    this.image = image;
    this.node.append(image);
  }

  private get part(): StoredPart {
    if (this.attachment.type === "image/gif" && this.attachment.size <= smallAnimation) return "content";
    return this.count > 1 && devicePixelRatio <= 1.5 ? "small" : "large";
  }

  override hide(): void {
    super.hide();
    this.image?.remove();
    this.image = undefined;
  }
}

/** What plays, by an address that is renewed while it is on the screen. */
abstract class PlayedView extends FileView {
  protected abstract readonly player: HTMLMediaElement;
  private source?: string;
  private signedAt = -Infinity;
  private timer = 0;
  private isAsking = false;
  /** In a row: what is broken stays so. */
  private failures = 0;

  override show(): void {
    super.show();
    if (!this.source) void this.find();
  }

  override hide(): void {
    // What plays goes on, wherever one looks.
    if (!this.player.paused && this.player.isConnected) return;
    super.hide();
    clearTimeout(this.timer);
    if (!this.source) return;
    this.source = undefined;
    this.player.removeAttribute("src");
    this.player.load();
  }

  protected watch(): void {
    on(this.player, "error", () => {
      if (this.failures++ < mostFailures) void this.renew();
    });
    on(this.player, "loadedmetadata", () => this.failures = 0);
    on(this.player, "play", () => this.isExpired && void this.renew());
  }

  private get isExpired(): boolean {
    return performance.now() > this.signedAt + addressLasts;
  }

  private async find(): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    const isLocal = this.attachment.local !== undefined;
    const url = isLocal ? await this.load("content") : await this.sign();
    this.isAsking = false;
    if (!url || !this.isShown) return;
    this.source = url;
    this.player.src = url;
    clearTimeout(this.timer);
    if (!isLocal) this.timer = setTimeout(() => this.player.currentTime || this.renew(), addressLasts);
  }

  private async sign(): Promise<string | undefined> {
    const address = await this.client.address(this.attachment).catch(() => undefined);
    if (address) this.signedAt = performance.now();
    return address?.url;
  }

  private async renew(): Promise<void> {
    if (!this.isShown || !this.source?.startsWith("http")) return;
    const { currentTime, paused } = this.player;
    this.source = undefined;
    await this.find();
    this.player.currentTime = currentTime;
    if (!paused) void this.player.play().catch(() => {});
  }
}

export class VideoView extends PlayedView {
  protected readonly player = make("video", { controls: true, preload: "none", playsinline: true });
  readonly node = make("div.tile", this.player);
  private hasPoster = false;

  constructor(client: ParleyClient, actions: FileActions) {
    super(client, actions);
    this.watch();
  }

  update(attachment: Attachment): void {
    this.attachment = attachment;
    keepPlace(this.node, attachment);
    set(this.player, {
      "aria-label": nameOf(attachment),
      preload: attachment.local === undefined ? "none" : "metadata",
    });
  }

  override show(): void {
    super.show();
    if (this.attachment.local === undefined && !this.hasPoster) void this.loadPoster();
  }

  private async loadPoster(): Promise<void> {
    this.hasPoster = true;
    const url = await this.load("large");
    if (url) this.player.poster = url;
    else this.hasPoster = false;
  }

  override hide(): void {
    super.hide();
    if (this.isShown) return;
    this.hasPoster = false;
    this.player.removeAttribute("poster");
  }
}

export class AudioView extends PlayedView {
  protected readonly player = make("audio", { controls: true, preload: "none" });
  private wave = make("div.wave", { "aria-hidden": "true" });
  private length = make("span.length");
  readonly node = make("div.audio", make("div.shape", iconOf("microphone"), this.wave, this.length), this.player);
  private waveform?: number[];

  constructor(client: ParleyClient, actions: FileActions) {
    super(client, actions);
    this.watch();
  }

  update(attachment: Attachment): void {
    this.attachment = attachment;
    set(this.player, { "aria-label": nameOf(attachment) });
    this.length.textContent = attachment.duration === undefined ? "" : durationText(attachment.duration);
    if (!this.wave.firstChild || attachment.waveform !== this.waveform) this.draw(attachment.waveform);
  }

  /** Until it is known there is a quiet line. */
  private draw(waveform: number[] = []): void {
    this.waveform = waveform;
    const loudest = Math.max(64, ...waveform);
    const bars = Array.from({ length: 40 }, (_, index) => {
      const value = waveform[Math.floor(index * waveform.length / 40)] ?? 0;
      const bar = make("i");
      bar.style.setProperty("--part", (value / loudest).toFixed(2));
      return bar;
    });
    this.wave.replaceChildren(...bars);
  }
}

/** Any other file: what it is called, and where to get it. */
export class FileRow extends FileView {
  private name = make("bdi.name");
  private size = make("small");
  private button = iconButton("Download", "download", () => void this.save(), { tabindex: "-1" });
  readonly node = make("div.file", iconOf("file"), make("div.about", this.name, this.size), this.button);

  update(attachment: Attachment): void {
    this.attachment = attachment;
    this.name.textContent = attachment.name;
    this.size.textContent = sizeText(attachment.size);
    set(this.name, { title: attachment.name });
    set(this.button, { "aria-label": `Download ${attachment.name}`, hidden: attachment.local !== undefined });
  }

  private async save(): Promise<void> {
    await this.actions.save(this.attachment).then(
      () => this.size.textContent = sizeText(this.attachment.size),
      () => this.size.textContent = "It cannot be downloaded now.",
    );
  }
}

/** Has the browser save a file, under the name that its sender gave. */
export async function saveFile(client: ParleyClient, attachment: Attachment): Promise<void> {
  const save = (href: string) => make("a", { href, download: attachment.name, rel: "noopener" }).click();
  if (attachment.local === undefined) return save((await client.address(attachment)).url);
  const url = URL.createObjectURL(await client.content(attachment, "content"));
  save(url);
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Which part of a file is shown when it fills the screen. */
export function wholePart(attachment: Attachment): StoredPart {
  return kindOf(attachment) === "photo" && isPicture(attachment) ? "content" : "large";
}
