import type { ParleyClient } from "../core/client.ts";
import { kindOf } from "../core/media/kinds.ts";
import type { Attachment, Message } from "../core/model.ts";
import { iconButton, make, nodesOf, on, set } from "./dom.ts";
import { saveFile, wholePart } from "./file-views.ts";
import { isolated, nameOf, wholeTime } from "./words.ts";

/** A picture or video, and the message that carries it. */
export interface Viewed {
  message: Message;
  attachment: Attachment;
}

let latest = 0;

/** Pictures and videos of a conversation over the whole page, one at a time. */
export function openViewer(owner: Element, client: ParleyClient, all: Viewed[], first: number): void {
  new Viewer(client, all, first).open(owner);
}

class Viewer {
  private id = `viewer-${++latest}`;
  private title = make("h2", { id: this.id, dir: "auto" });
  private about = make("p", { role: "status" });
  private stage = make("div.stage");
  private previous = iconButton("Previous", "back", () => this.go(-1), { class: "icon previous" });
  private next = iconButton("Next", "forward", () => this.go(1), { class: "icon next" });
  private dialog = make("dialog.viewer", { "aria-labelledby": this.id });
  private urls: string[] = [];

  constructor(private client: ParleyClient, private all: Viewed[], private place: number) {}

  open(owner: Element): void {
    this.dialog.append(
      make(
        "header",
        make("div.names", this.title, this.about),
        iconButton("Download", "download", () => void this.save()),
        iconButton("Close", "close", () => this.dialog.close()),
      ),
      this.stage,
      this.previous,
      this.next,
    );
    on(this.dialog, "close", () => this.end());
    on(this.dialog, "keydown", (event) => this.pressed(event));
    on(this.stage, "click", (event) => event.target === this.stage && this.dialog.close());
    owner.append(this.dialog);
    this.dialog.showModal();
    this.show();
  }

  private end(): void {
    this.stage.replaceChildren();
    for (const url of this.urls.splice(0)) URL.revokeObjectURL(url);
    this.dialog.remove();
  }

  private go(step: number): void {
    const place = this.place + step;
    if (place < 0 || place >= this.all.length) return;
    this.place = place;
    // A button that goes with the end of the row would take the focus with it.
    const isLast = place === 0 || place === this.all.length - 1;
    if (isLast) this.dialog.querySelector<HTMLElement>("header button:last-child")!.focus();
    this.show();
  }

  private pressed(event: KeyboardEvent): void {
    event.stopPropagation();
    if (event.target instanceof HTMLMediaElement) return;
    const forwards = this.dialog.matches(":dir(rtl)") ? -1 : 1;
    const step = {
      ArrowLeft: -forwards,
      ArrowRight: forwards,
      Home: -this.place,
      End: this.all.length - 1 - this.place,
    };
    const by = step[event.key as keyof typeof step];
    if (!by) return;
    event.preventDefault();
    this.go(by);
  }

  private show(): void {
    const { attachment, message } = this.all[this.place]!;
    const count = this.all.length > 1 ? `${this.place + 1} of ${this.all.length}, ` : "";
    this.title.textContent = attachment.name;
    const sender = isolated(this.client.names, message.senderId);
    this.about.replaceChildren(...nodesOf(`${count}${sender}, ${wholeTime(message.createdAt)}`));
    set(this.previous, { hidden: this.place === 0 });
    set(this.next, { hidden: this.place === this.all.length - 1 });
    const old = this.urls.splice(0);
    const node = kindOf(attachment) === "video" ? this.video(attachment) : this.picture(attachment);
    this.stage.replaceChildren(node);
    for (const url of old) URL.revokeObjectURL(url);
  }

  /** The thumbnail, which is there already, until there is the whole. */
  private picture(attachment: Attachment): HTMLElement {
    const image = make("img", { alt: nameOf(attachment), width: attachment.width, height: attachment.height });
    const problem = make("p.problem", { role: "alert", hidden: true }, "This picture cannot be loaded now.");
    const isCurrent = () => image.isConnected;
    const put = (blob: Blob) => isCurrent() && (image.src = this.url(blob));
    let hasWhole = false;
    void this.client.content(attachment, "large").then((blob) => hasWhole || put(blob)).catch(() => {});
    void this.client.content(attachment, wholePart(attachment)).then(
      (blob) => (hasWhole = true, put(blob)),
      () => isCurrent() && !image.src && set(problem, { hidden: false }),
    );
    return make("figure", image, problem);
  }

  private video(attachment: Attachment): HTMLElement {
    const video = make("video", { controls: true, playsinline: true, "aria-label": nameOf(attachment) });
    const source = attachment.local === undefined
      ? this.client.address(attachment).then(({ url }) => url)
      : this.client.content(attachment, "content").then((blob) => this.url(blob));
    void source.then((url) => video.isConnected && (video.src = url)).catch(() => {});
    return make("figure", video);
  }

  private url(blob: Blob): string {
    const url = URL.createObjectURL(blob);
    this.urls.push(url);
    return url;
  }

  private async save(): Promise<void> {
    const { attachment } = this.all[this.place]!;
    await saveFile(this.client, attachment).catch(() => this.about.textContent = "It cannot be downloaded now.");
  }
}
