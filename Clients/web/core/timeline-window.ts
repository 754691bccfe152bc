import type { TimelineAnchor, TimelineView, TimelineWindow } from "./client.ts";
import type { Reading } from "./copy/database.ts";
import { hiddenIn, isShown } from "./copy/blocks.ts";
import { accountOf } from "./copy/copy.ts";
import { shownAfter } from "./copy/messages.ts";
import { firstUnread, seqOf, timeline, type TimelinePage, type TimelinePart } from "./copy/timeline.ts";
import { LiveQueries, LiveQuery } from "./live.ts";
import type { ConversationId, MessageId } from "./model.ts";
import type { Place } from "./sync/events.ts";
import { Emitter } from "./watched.ts";

/** Rows at first, and rows more with each extension. */
const step = 50;
/** More rows than this a window does not hold: those on the other side are let go. */
const most = 400;
/** What nothing tells of is read again after this time while it is shown. */
export const betweenReadings = 10_000;
/** A page that did not close its gap is asked for again after this time. */
const betweenLooks = 5_000;

export interface TimelineSource {
  queries: LiveQueries;
  /** Has a part of the history loaded that the copy lacks. */
  look(place: Place): void;
  /** Has a message loaded that somebody wants to see, and tells where it is. */
  find(message: MessageId): Promise<number | undefined>;
  /** Has a request read again, as nothing tells what happens in it. */
  readAgain(): void;
  /** Those who want to know when there is a session to ask. */
  whenConnected: Set<() => void>;
}

type PageRead = TimelinePage & { generation: number };

/** A window of a timeline that follows what happens, and moves. */
export class LiveTimeline extends Emitter<TimelineView> implements TimelineWindow {
  isAtEnd = true;
  private part: TimelinePart = { at: "end", before: step, after: 0 };
  /** How often it was moved or extended: what was read for an earlier part is passed over. */
  private generation = 0;
  private query: LiveQuery<PageRead | null>;
  /** Of the first row, while the window follows the end. */
  private firstSeq?: number;
  private looked = { text: "", at: -Infinity };
  private firstUnread?: MessageId;
  /** The user had read up to here when the window was opened. */
  private seen?: number;
  private hasUnread = false;
  /** An extension is being read: another one waits for it. */
  private isMoving = false;
  private isClosed = false;
  private timer = setInterval(() => this.source.readAgain(), betweenReadings);

  constructor(private id: ConversationId, private source: TimelineSource, anchor: TimelineAnchor) {
    super({ rows: [], isLoaded: false, hasMoreBefore: false, hasMoreAfter: false, isLoading: false }, false);
    const { queries } = source;
    this.query = new LiveQuery<PageRead | null>(
      queries,
      null,
      (touched) => touched.everything || touched.conversations.includes(id),
      (rows) => this.read(rows, anchor),
    );
    this.query.subscribe((page) => page && this.show(page));
    source.whenConnected.add(this.lookAgain);
    source.readAgain();
    if (typeof anchor === "object") this.jump(anchor);
  }

  private async read(rows: Reading, anchor: TimelineAnchor): Promise<PageRead> {
    const { generation } = this;
    if (this.seen === undefined) await this.begin(rows, anchor === "unread");
    if (this.hasUnread && !this.firstUnread && this.seen !== undefined) {
      this.firstUnread = (await firstUnread(rows, this.id, this.seen))?.id;
    }
    if (this.part.at === "end" && this.firstSeq) await this.hold(rows, this.firstSeq);
    return { ...await timeline(rows, this.id, this.part), generation };
  }

  /**
   * What arrives pushes no row out of a window that follows the end. A full one lets go: at the end, of what is oldest; while
   * the user reads above it, of what arrives.
   */
  private async hold(rows: Reading, firstSeq: number): Promise<void> {
    const { generation } = this;
    const isHidden = hiddenIn(await accountOf(rows), await rows.get("conversations", this.id) ?? { kind: "" });
    const shown = await shownAfter(rows, this.id, firstSeq, Infinity, most + 1, (row) => isShown(row, isHidden));
    const count = shown.length;
    if (generation !== this.generation) return;
    if (count <= most || this.isAtEnd) {
      this.part = { ...this.part, before: Math.min(most, Math.max(this.part.before, count)) };
    } else {
      const middle = this.value.rows[Math.trunc(this.value.rows.length / 2)]!.message.seq;
      this.part = { at: middle, before: most / 2, after: most / 2 };
    }
  }

  /** What is unread stays where it was when the window was opened. */
  private async begin(rows: Reading, isPlace: boolean): Promise<void> {
    const head = await rows.get("conversations", this.id);
    if (!head?.headSeq) return;
    this.seen = Math.max(head.readSeq, head.clearedSeq);
    this.hasUnread = head.unread !== undefined;
    if (isPlace && this.hasUnread) this.part = { at: this.seen + 1, before: step / 2, after: step };
  }

  private show(page: PageRead): void {
    if (page.generation !== this.generation) return;
    const { gap, rows, hasMoreBefore, hasMoreAfter } = page;
    this.isMoving = false;
    if (gap !== undefined) this.look(gap);
    // The same gap may come again, as when a request is accepted: that is another one.
    else this.looked.text = "";
    // The window has reached the end: from now on it shows what arrives.
    const isAround = this.part.at !== "end";
    if (isAround && !hasMoreAfter && rows.length) {
      this.part = { at: "end", before: Math.max(step, rows.length), after: 0 };
    }
    this.firstSeq = this.part.at === "end" ? rows[0]?.message.seq : undefined;
    const { firstUnread } = this;
    this.set({ rows, isLoaded: true, hasMoreBefore, hasMoreAfter, isLoading: gap !== undefined, firstUnread });
  }

  private look(gap: Place): void {
    const text = JSON.stringify(gap);
    const now = performance.now();
    if (text === this.looked.text && now < this.looked.at + betweenLooks) return;
    this.looked = { text, at: now };
    this.source.look(gap);
  }

  /** There is another session to ask. */
  private lookAgain = () => {
    this.looked.text = "";
    this.query.refresh();
  };

  // Moving.

  extendBefore(): void {
    if (!this.value.hasMoreBefore || this.isMoving) return;
    const first = this.value.rows[0]?.message.seq;
    const { at, before, after } = this.part;
    if (first && before + step + after > most) this.extend({ at: first, before: 2 * step, after: most - 2 * step });
    else this.extend({ at, before: before + step, after });
  }

  extendAfter(): void {
    if (!this.value.hasMoreAfter || this.isMoving) return;
    const last = this.value.rows.at(-1)?.message.seq;
    const { at, before, after } = this.part;
    if (last && before + after + step > most) this.extend({ at: last, before: most - 2 * step, after: 2 * step });
    else this.extend({ at, before, after: after + step });
  }

  private extend(part: TimelinePart): void {
    // What is missing has to come first.
    if (this.query.value?.gap !== undefined) return this.query.refresh();
    this.part = part;
    this.generation += 1;
    this.isMoving = true;
    this.query.refresh();
  }

  jump(to: TimelineAnchor): void {
    if (to === "newest") this.move({ at: "end", before: step, after: 0 });
    else if (to === "unread") this.jumpToUnread();
    else if ("seq" in to) this.move({ at: to.seq, before: step, after: step });
    else this.jumpTo(to.around);
  }

  private async jumpTo(message: MessageId): Promise<void> {
    const stored = await this.source.queries.database.read((rows) => seqOf(rows, this.id, message));
    const seq = stored ?? await this.source.find(message);
    if (seq !== undefined) this.move({ at: seq, before: step, after: step });
  }

  private async jumpToUnread(): Promise<void> {
    const head = await this.source.queries.database.read((rows) => rows.get("conversations", this.id));
    if (!head?.unread) return this.jump("newest");
    [this.seen, this.hasUnread] = [Math.max(head.readSeq, head.clearedSeq), true];
    this.firstUnread = undefined;
    this.move({ at: this.seen + 1, before: step / 2, after: step });
  }

  private move(part: TimelinePart): void {
    if (this.isClosed) return;
    this.part = part;
    this.generation += 1;
    this.isMoving = false;
    this.firstSeq = undefined;
    this.lookAgain();
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.timer);
    this.source.whenConnected.delete(this.lookAgain);
    this.query.close();
  }
}
