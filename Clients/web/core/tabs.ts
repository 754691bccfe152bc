import type { Touched } from "./copy/copy.ts";
import type { UploadProgress } from "./media/uploader.ts";
import type { ConversationId, FrameFromClient } from "./model.ts";
import type { SyncEvent, SyncNotice } from "./sync/events.ts";

/** What the tabs of a user tell each other. Everything that is kept goes through the database, which they share. */
export type TabMessage =
  /** A transaction changed the copy. */
  | { tell: "touched"; touched: Touched }
  // From the leader.
  | { tell: "notice"; notice: SyncNotice }
  | { tell: "progress"; progress: UploadProgress }
  // To the leader.
  /** A tab has come: it asks for what is not in the database. */
  | { tell: "hello" }
  | { tell: "pump" }
  /** The user goes on writing a draft, or turns away from it. */
  | { tell: "writing"; id: ConversationId; isWriting: boolean }
  | { tell: "resume" }
  | { tell: "suspend" }
  | { tell: "event"; event: SyncEvent }
  | { tell: "say"; frame: FrameFromClient }
  /** The user has signed out: every tab lets go of the copy. */
  | { tell: "signOut" };

/**
 * The tabs of one user: one of them leads, which holds the session, and the others follow it. The browser hands the lead
 * over as soon as a leader's tab is gone.
 */
export class Tabs {
  private channel: BroadcastChannel;
  private release?: () => void;
  private waiting = new AbortController();

  constructor(name: string, take: (message: TabMessage) => void) {
    this.channel = new BroadcastChannel(name);
    this.channel.onmessage = ({ data }) => take(data as TabMessage);
  }

  /** Calls once this tab leads: at once if it is the only one. */
  lead(name: string, begin: () => void): void {
    // Without a secure context there are no locks; then each tab has a session.
    if (!navigator.locks) return begin();
    navigator.locks.request(name, { signal: this.waiting.signal }, () => {
      begin();
      return new Promise<void>((resolve) => this.release = resolve);
    }).catch(() => {
      // This tab was closed before its turn.
    });
  }

  tell(message: TabMessage): void {
    if (!this.waiting.signal.aborted) this.channel.postMessage(message);
  }

  close(): void {
    this.waiting.abort();
    this.release?.();
    this.channel.close();
  }
}
