import { Backoff, type Random } from "../backoff.ts";
import { blobKey, unsentPrefix } from "../copy/blobs.ts";
import { CopyWriter, type Touched } from "../copy/copy.ts";
import type { Database, OutboxRow } from "../copy/database.ts";
import { refuse, sendable, setFile } from "../copy/outbox-rows.ts";
import type { Attachment, MediaFacts, Problem } from "../model.ts";
import type { PendingFile } from "../outbox/writes.ts";
import { type CallFailure, isTemporary } from "../sync/events.ts";
import { timeOfId } from "../uuid.ts";
import { isPicture, kindOf } from "./kinds.ts";
import type { Outcome, UploadCalls } from "./tus.ts";

/** How far a file is, by what it is kept under; `total` when the server looks into it. */
export interface UploadProgress {
  key: string;
  sent: number;
  total: number;
}

export interface UploaderOutside {
  now(): number;
  after(milliseconds: number, body: () => void): () => void;
  random: Random;
  touched(touched: Touched): void;
  progress(progress: UploadProgress): void;
  /** A message may have all its files now. */
  pump(): void;
}

const atOnce = 2;
const firstPart = 256 * 1_024;
const largestPart = 8 * 1_024 * 1_024;
/** A part should take about this long. */
const partTime = 1_000;
/** While the server looks into a file, it is asked this often, and later half as often. */
const betweenLooks = 400;
/** Another tab may be keeping large files right now. */
const sweptAfter = 3_600_000;
/** A server that asks to wait longer than this has a limit that the user should know of. */
const longestWait = 600_000;

/** What a file has to do with its upload. */
interface Work {
  row: OutboxRow;
  file: PendingFile;
  abort: AbortController;
}

class Failed {
  constructor(readonly failure: CallFailure) {}
}

/**
 * Uploads the files of messages that wait, in the order of writing, a few at a time, and ends what was discarded. It
 * belongs to the tab that leads. All that it must remember is in the outbox: it may end at any time.
 */
export class Uploader {
  private working = new Map<string, Work>();
  private backoff: Backoff;
  private pausedUntil = -Infinity;
  private cancelWake?: () => void;
  private isClosed = false;
  private isLooking = false;
  private shallLook = false;
  private hasSwept = false;

  constructor(private database: Database, private calls: UploadCalls, private outside: UploaderOutside) {
    this.backoff = new Backoff(1_000, 60_000, outside.random);
  }

  /** Something in the outbox may be different. */
  pump(): void {
    this.shallLook = true;
    if (this.isLooking || this.isClosed) return;
    this.isLooking = true;
    this.look().catch(() => this.pause()).finally(() => {
      this.isLooking = false;
      if (this.shallLook) this.pump();
    });
  }

  /** The network is back. */
  resume(): void {
    this.backoff.succeeded();
    this.pausedUntil = -Infinity;
    this.pump();
  }

  close(): void {
    this.isClosed = true;
    this.cancelWake?.();
    for (const { abort } of this.working.values()) abort.abort();
  }

  private async look(): Promise<void> {
    this.shallLook = false;
    const rows = await this.database.read(sendable);
    const files = rows.flatMap((row) => filesOf(row).map((file) => ({ row, file })));
    const wanted = new Set(files.map(({ file }) => file.key));
    if (!this.hasSwept) await this.sweep();
    for (const [key, { abort }] of this.working) if (!wanted.has(key)) abort.abort();
    await this.release();
    if (this.isPaused) return;
    for (const { row, file } of files) {
      if (this.isClosed || this.working.size >= atOnce) break;
      if (!file.attachment && !this.working.has(file.key)) this.begin({ row, file, abort: new AbortController() });
    }
  }

  private begin(work: Work): void {
    const { key } = work.file;
    this.working.set(key, work);
    this.upload(work).then(() => this.backoff.succeeded(), (error) => this.fail(work, error)).catch(() => this.pause())
      .finally(() => {
        this.working.delete(key);
        this.pump();
      });
  }

  private get isPaused(): boolean {
    return this.outside.now() < this.pausedUntil;
  }

  private pause(asked?: number): void {
    const wait = this.backoff.pause(asked);
    this.pausedUntil = this.outside.now() + wait;
    this.cancelWake?.();
    if (!this.isClosed) this.cancelWake = this.outside.after(wait, () => this.pump());
  }

  // One file.

  private async upload(work: Work): Promise<void> {
    const { file, abort: { signal } } = work;
    const blob = await this.database.blobs.get(blobKey(file.key));
    if (!blob) throw new Failed({ problem: missing(file) });
    this.outside.progress({ key: file.key, sent: 0, total: file.size });
    const id = file.upload ?? await this.create(work);
    let sent = file.upload ? value(await this.calls.offset(id, signal)) : 0;
    for (let part = firstPart; sent < blob.size;) {
      this.outside.progress({ key: file.key, sent, total: blob.size });
      const begun = this.outside.now();
      sent = value(await this.calls.append(id, sent, blob.slice(sent, sent + part), signal));
      part = nextPart(part, this.outside.now() - begun);
    }
    this.outside.progress({ key: file.key, sent: blob.size, total: blob.size });
    await this.complete(work, id, blob, await this.facts(id, signal));
  }

  private async create(work: Work): Promise<string> {
    const { file, abort } = work;
    const upload = value(await this.calls.create(file.size, file.name, abort.signal));
    // Before anything is sent, so that another page goes on with it.
    if (await this.set(work, { ...file, upload })) return upload;
    await this.write((copy) => copy.release({ id: upload, isUpload: true }));
    abort.abort();
    throw abort.signal.reason;
  }

  private async facts(id: string, signal: AbortSignal): Promise<MediaFacts> {
    for (let wait = betweenLooks;; wait = Math.min(wait * 1.5, 10_000)) {
      const facts = value(await this.calls.facts(id, signal));
      if (facts.state === "ready" || facts.state === "refused") return facts;
      // Something took the upload back.
      if (facts.state === "uploading") throw new Failed({});
      await new Promise<void>((resolve) => this.outside.after(wait, resolve));
      signal.throwIfAborted();
    }
  }

  private async complete(work: Work, id: string, blob: Blob, facts: MediaFacts): Promise<void> {
    if (facts.state === "refused") throw new Failed({ problem: refused(work.file, facts.reason) });
    const attachment = attachmentOf(facts);
    // What is on this device need not be loaded again to be shown.
    if (kindOf(attachment) === "photo" && isPicture({ ...attachment, type: blob.type })) {
      await this.database.blobs.put(blobKey(id, "large"), blob, true).catch(() => {});
    }
    await this.set(work, { ...work.file, upload: id, attachment });
    this.outside.pump();
  }

  private async set({ row }: Work, file: PendingFile): Promise<boolean> {
    let isThere = false;
    await this.write(async (copy) => {
      isThere = await setFile(copy, row.key, file);
    });
    return isThere;
  }

  private async write(body: (copy: CopyWriter) => Promise<void>): Promise<void> {
    this.outside.touched(await CopyWriter.run(this.database, body));
  }

  private async fail({ row, file, abort }: Work, error: unknown): Promise<void> {
    if (abort.signal.aborted || this.isClosed) return;
    if (!(error instanceof Failed)) return this.pause();
    const { problem, retryAfter } = error.failure;
    const isGone = problem?.status === 404 && file.upload !== undefined;
    // It has ended on the server: it begins again.
    if (isGone) await this.set({ row, file, abort }, { ...file, upload: undefined });
    const isPatient = (retryAfter ?? 0) <= longestWait || problem?.code === "suspended";
    const isWaiting = isTemporary(error.failure) && isPatient;
    if (!problem || isGone || isWaiting || [401, 404, 409, 423, 460].includes(problem.status)) {
      return this.pause(retryAfter);
    }
    await this.write((copy) => refuse(copy, row, problem));
    this.outside.pump();
  }

  // What nobody needs any more.

  /** Content that was kept for a message which then was not, because the page ended in between. */
  private async sweep(): Promise<void> {
    const rows = await this.database.read((rows) => rows.all("outbox"));
    const used = new Set(rows.flatMap(filesOf).map(({ key }) => blobKey(key)));
    for (const key of await this.database.blobs.keys()) {
      if (!key.startsWith(unsentPrefix) || used.has(key)) continue;
      const id = key.slice(0, key.indexOf("/"));
      const isOld = Date.now() > timeOfId(id.slice(unsentPrefix.length)) + sweptAfter;
      if (isOld) await this.database.blobs.removeAll(id);
    }
    this.hasSwept = true;
  }

  private async release(): Promise<void> {
    const releases = await this.database.read((rows) => rows.all("releases"));
    for (const { id, isUpload } of releases) {
      await this.database.blobs.removeAll(id);
      if (isUpload && !await this.end(id)) continue;
      await this.database.write((rows) => rows.remove("releases", id));
    }
  }

  /** Whether it has ended on the server. */
  private async end(upload: string): Promise<boolean> {
    if (this.isPaused) return false;
    const isOver = isDone(await this.calls.remove(upload));
    if (!isOver) this.pause();
    return isOver;
  }
}

function filesOf({ write }: OutboxRow): PendingFile[] {
  return write.kind === "send" ? write.files ?? [] : [];
}

function value<Value>(outcome: Outcome<Value>): Value {
  if ("failure" in outcome) throw new Failed(outcome.failure);
  return outcome.value;
}

/** Removed, or not there, or a message carries it after all. */
function isDone(outcome: Outcome<null>): boolean {
  return "value" in outcome || [403, 404, 409, 410].includes(outcome.failure.problem?.status ?? 0);
}

/** As much as is sent in about a second, at most twice as much as before. */
export function nextPart(bytes: number, milliseconds: number): number {
  const fitting = bytes * partTime / Math.max(1, milliseconds);
  return Math.round(Math.max(firstPart / 4, Math.min(largestPart, bytes * 2, fitting)));
}

function attachmentOf({ id, name, type, size, width, height, duration, thumbhash, waveform }: MediaFacts): Attachment {
  return { id, name, type, size, width, height, duration, thumbhash, waveform };
}

function missing({ name }: PendingFile): Problem {
  const detail = `“${name}” is not kept in this browser any more.`;
  return { status: 0, code: "fileMissing", title: "File missing", detail };
}

function refused({ name }: PendingFile, reason = ""): Problem {
  const reasons: Record<string, string> = {
    unreadable: "is damaged, or of a kind that cannot be read",
    tooLarge: "has more pixels than are allowed",
    tooSlow: "takes too long to be looked into",
  };
  const detail = `“${name}” ${reasons[reason] ?? "was refused by the server"}.`;
  return { status: 422, code: "mediaRefused", title: "File refused", detail };
}
