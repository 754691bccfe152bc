import type { ParleyClient, TimelineRow } from "../core/client.ts";
import { kindOf } from "../core/media/kinds.ts";
import type { Attachment } from "../core/model.ts";
import { AudioView, type FileActions, FileRow, type FileView, PhotoView, VideoView } from "./file-views.ts";
import { arrange, Endings, iconButton, make, set } from "./dom.ts";

/** Files this far from what is on the screen are loaded. */
const margin = "600px";

/** What a message can be asked about its files. */
export interface AttachmentActions extends FileActions {
  cancel(): void;
}

/**
 * The files of one message: pictures and videos side by side, the others below. It is kept when its message changes, so
 * that what is shown stays, and what plays goes on.
 */
export class Attachments extends HTMLElement {
  #client!: ParleyClient;
  #actions!: AttachmentActions;
  #isRequest = false;
  #attachments: Attachment[] = [];
  #views: FileView[] = [];
  #endings = new Endings();
  #isNear = false;
  #grid = make("div.grid");
  #percent = make("span", { "aria-hidden": "true" });
  #bar = make("div.bar", {
    role: "progressbar",
    "aria-label": "Uploading",
    "aria-valuemin": "0",
    "aria-valuemax": "100",
  });
  #cancel = iconButton("Cancel upload", "close", () => this.#actions.cancel());
  #upload = make("div.upload", { hidden: true }, this.#bar, this.#percent, this.#cancel);

  /** Nobody has to see what a stranger sends: in a request pictures are files like others, and open when they are asked to. */
  update(client: ParleyClient, row: TimelineRow, isRequest: boolean, actions: AttachmentActions): void {
    [this.#client, this.#isRequest, this.#actions] = [client, isRequest, actions];
    this.#attachments = row.message.attachments ?? [];
    this.#views = this.#attachments.map((attachment, index) => this.#view(attachment, index));
    const isVisual = (view: FileView) => view instanceof PhotoView || view instanceof VideoView;
    const visual = this.#views.filter(isVisual).map(({ node }) => node);
    set(this.#grid, { class: visual.length > 1 ? "grid many" : "grid", hidden: !visual.length });
    arrange(this.#grid, visual);
    const others = this.#views.filter((view) => !isVisual(view)).map(({ node }) => node);
    arrange(this, [this.#grid, ...others, this.#upload]);
    this.#showUpload(row.state === "sending");
  }

  /** That of the same place is kept: the files of a message never change places. */
  #view(attachment: Attachment, index: number): FileView {
    const kind = this.#isRequest ? "file" : kindOf(attachment);
    const Kind = { photo: PhotoView, video: VideoView, audio: AudioView, file: FileRow }[kind];
    const before = this.#views[index];
    const isSame = before instanceof Kind;
    if (!isSame) before?.hide();
    const view = isSame ? before : new Kind(this.#client, this.#actions);
    view.update(attachment, this.#attachments.length);
    if (!isSame && this.#isNear) view.show();
    return view;
  }

  connectedCallback(): void {
    const options = { rootMargin: margin, scrollMargin: margin } as IntersectionObserverInit;
    const observer = new IntersectionObserver((entries) => this.#moved(entries.at(-1)!.isIntersecting), options);
    observer.observe(this);
    this.#endings.add(
      () => observer.disconnect(),
      this.#client.uploads.subscribe(() => this.#showUpload(!this.#upload.hidden)),
      this.#client.connection.subscribe((state) => state === "online" && this.#isNear && this.#showViews()),
    );
  }

  disconnectedCallback(): void {
    this.#endings.end();
    this.#moved(false);
  }

  #moved(isNear: boolean): void {
    if (isNear === this.#isNear) return;
    this.#isNear = isNear;
    if (isNear) this.#showViews();
    else for (const view of this.#views) view.hide();
  }

  #showViews(): void {
    for (const view of this.#views) view.show();
  }

  /** How far the upload is, in all files together. */
  #showUpload(isSending: boolean): void {
    const isOnItsWay = (attachment: Attachment) => attachment.local !== undefined && attachment.id === attachment.local;
    const isUploading = isSending && this.#attachments.some(isOnItsWay);
    set(this.#upload, { hidden: !isUploading });
    if (!isUploading) return;
    const total = this.#attachments.reduce((sum, { size }) => sum + size, 0);
    const sent = this.#attachments.reduce((sum, attachment) => {
      if (!isOnItsWay(attachment)) return sum + attachment.size;
      return sum + (this.#client.uploads.value.get(attachment.local!)?.sent ?? 0);
    }, 0);
    const percent = total ? Math.floor(Math.min(1, sent / total) * 100) : 100;
    set(this.#bar, { "aria-valuenow": percent });
    this.#bar.style.setProperty("--part", String(percent / 100));
    this.#percent.textContent = `${percent} %`;
  }
}
