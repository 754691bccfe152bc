import * as kit from "./client.ts";
import { storeAlone } from "./copy/apply.ts";
import type { StoredPart } from "./copy/blobs.ts";
import { accountOf, type Touched } from "./copy/copy.ts";
import type { ProfileRecord, Reading } from "./copy/database.ts";
import { eraseIndexedDB } from "./copy/indexeddb.ts";
import { lastReceipts, membersOf } from "./copy/receipts.ts";
import { isRequest } from "./copy/requests.ts";
import { conversationPath, get, messagePath } from "./http.ts";
import { Hub } from "./hub.ts";
import { groupOf, invitationRequest, isNoMember, notGood } from "./invitations.ts";
import { conversationList, isNews, oneRow, requestRows, unreadTotal } from "./lists.ts";
import { type LiveOptions, LiveQuery } from "./live.ts";
import type * as model from "./model.ts";
import { openCopy } from "./opening.ts";
import { reportRequest } from "./reports.ts";
import { resultsOf, searchCopy, shownResults } from "./search.ts";
import type { SyncEvent } from "./sync/events.ts";
import { betweenReadings, LiveTimeline } from "./timeline-window.ts";
import { newId } from "./uuid.ts";
import { Emitter } from "./watched.ts";
import { Writing } from "./writing.ts";

type Id = model.ConversationId;

/** Opens the copy of this page's user, and keeps it equal to the server's until `close`. */
export async function openParley(options: kit.ParleyOptions): Promise<kit.ParleyClient> {
  const origin = options.server ?? location.origin;
  const name = `parley ${origin}`;
  const isOutdated = new Emitter(false);
  let hub: Hub | undefined = undefined as Hub | undefined;
  // Without a sign-out only a newer version of the page takes the copy away. It leads from now on.
  const whenTaken = () =>
    setTimeout(() => {
      if (hub?.isSignedOut.value) return;
      hub?.close();
      isOutdated.set(true);
    }, 500);
  const { database, saved } = await openCopy(name, whenTaken);
  hub = new Hub(options, origin, name, database);
  return new Parley(hub, name, new Emitter(saved === null ? null : { saved }), isOutdated);
}

class Parley extends Writing implements kit.ParleyClient {
  readonly connection = this.hub.connection;

  get suspendedUntil(): model.Time | undefined {
    return this.hub.suspendedUntil;
  }

  readonly limits = this.hub.limits;
  readonly uploads = this.hub.uploads;
  readonly fileLimits = this.watch<kit.FileLimits | null>(
    null,
    isAccount,
    async (rows) => (await accountOf(rows)).fileLimits ?? null,
  );
  readonly isSignedOut = this.hub.isSignedOut;
  readonly userId = this.watch<model.UserId | null>(
    null,
    isAccount,
    async (rows) => (await accountOf(rows)).userId ?? null,
  );
  readonly blockedUsers = this.watch<model.UserId[]>(
    [],
    isAccount,
    async (rows) => (await accountOf(rows)).blocked ?? [],
  );
  readonly requests = this.watch<kit.ConversationRow[]>(
    [],
    (to) => to.account || to.outbox || this.areShown([...to.conversations, ...to.members]),
    async (rows) => {
      if (!(await accountOf(rows)).requests?.isWhole) this.lookAtRequests();
      return await requestRows(rows);
    },
  );
  readonly names = this.hub.names;
  readonly settings = this.watch<model.Settings | null>(null, (to) => to.account || to.outbox, settingsOf);
  readonly unreadTotal = this.watch(
    0,
    (to) => to.conversations.length > 0,
    (rows) => unreadTotal(rows, this.hub.queries),
  );
  readonly problems = this.watch<kit.RefusedWrite[]>([], (to) => to.outbox, problemsOf);
  private compared = new Set<Id>();
  private listening = new AbortController();

  constructor(
    hub: Hub,
    private name: string,
    readonly replaced: kit.Watched<{ saved: number } | null>,
    readonly isOutdated: kit.Watched<boolean>,
  ) {
    super(hub);
    const profiles = this.watch<ProfileRecord[]>([], (to) => to.profiles, (rows) => rows.all("profiles"));
    profiles.subscribe((rows) => hub.names.set(rows));
    const { signal } = this.listening;
    this.blockedUsers.subscribe((users) => hub.moment.hide(users));
    globalThis.addEventListener("online", () => this.comeBack(), { signal });
    globalThis.addEventListener("offline", () => hub.tell({ tell: "suspend" }), { signal });
    document.addEventListener("visibilitychange", () => document.hidden || this.comeBack(), { signal });
  }

  // Watching.

  private watch<Value>(
    initial: Value,
    isTouched: (touched: Touched) => boolean,
    query: (rows: Reading) => Promise<Value>,
    options?: LiveOptions,
  ): LiveQuery<Value> {
    return new LiveQuery(this.hub.queries, initial, (to) => to.everything || isTouched(to), query, options);
  }

  conversations(limit = 50, folder: kit.Folder = "inbox"): kit.ConversationList {
    return conversationList(this.hub.queries, limit, (event) => this.post(event), folder);
  }

  private post(event: SyncEvent): void {
    this.hub.tell({ tell: "event", event });
  }

  private lookAtMembers(conversation: Id): void {
    this.post({ type: "lookAtMembers", conversation });
  }

  private lookAtRequests(): void {
    this.post({ type: "lookAtRequests" });
  }

  showRequests(): () => void {
    this.lookAtRequests();
    const timer = setInterval(() => document.hidden || this.lookAtRequests(), betweenReadings);
    return () => clearInterval(timer);
  }

  private areShown(ids: Id[]): boolean {
    return this.requests.value.some(({ id }) => ids.includes(id));
  }

  private async readAgain(conversation: Id): Promise<void> {
    if (document.hidden) return;
    const account = await this.hub.database.read(accountOf);
    if (isRequest(account, conversation)) this.post({ type: "lookAgain", conversation });
  }

  conversation(id: Id): kit.Watched<kit.ConversationRow | null> {
    const isTouched = (to: Touched) => [...to.conversations, ...to.members].includes(id);
    return this.watch<kit.ConversationRow | null>(null, isTouched, (rows) => oneRow(rows, id), { isIdleAlone: true });
  }

  timeline(id: Id, anchor: kit.TimelineAnchor = "newest"): kit.TimelineWindow {
    const { hub } = this;
    const timeline = new LiveTimeline(id, {
      queries: hub.queries,
      look: (place) => this.post({ type: "look", conversation: id, place }),
      readAgain: () => void this.readAgain(id),
      find: (message) => this.find(id, message),
      whenConnected: hub.whenConnected,
    }, anchor);
    this.compare(id);
    return timeline;
  }

  /**
   * Who has left, or has come back, learns by no change of deletions in between: once for each such conversation that is
   * looked at, the copy is compared with the server's.
   */
  private async compare(id: Id): Promise<void> {
    const head = await this.hub.database.read((rows) => rows.get("conversations", id));
    const wasAway = head && (head.windows.length > 1 || head.windows.at(-1)?.to !== undefined);
    if (!wasAway || this.compared.has(id)) return;
    this.compared.add(id);
    this.post({ type: "compare", conversation: id });
  }

  private async find(id: Id, message: model.MessageId): Promise<number | undefined> {
    const found = await this.hub.ask<model.Message>(get(messagePath(id, message))).catch(() => undefined);
    if (found) await this.hub.write((copy) => storeAlone(copy, found));
    return found?.seq;
  }

  receipts(id: Id): kit.Watched<kit.ReceiptsView | null> {
    const isTouched = (to: Touched) => [...to.receipts, ...to.conversations].includes(id);
    const options = { isIdleAlone: true, pause: 100 };
    return this.watch<kit.ReceiptsView | null>(null, isTouched, (rows) => lastReceipts(rows, id), options);
  }

  members(id: Id): kit.Watched<kit.MembersView> {
    this.lookAtMembers(id);
    const none: kit.MembersView = { members: [], isComplete: false };
    return this.watch(none, (to) => to.members.includes(id), async (rows) => {
      const members = await membersOf(rows, id);
      const head = await rows.get("conversations", id);
      return { members, isComplete: members.length >= (head?.memberCount ?? Infinity) };
    }, { isIdleAlone: true });
  }

  conversationSettings(id: Id): kit.Watched<model.ConversationSettings | null> {
    this.loadSettings(id);
    return this.watch<model.ConversationSettings | null>(null, (to) => to.conversations.includes(id), async (rows) => {
      return (await rows.get("conversations", id))?.settings ?? null;
    }, { isIdleAlone: true });
  }

  /** The private stream tells of changes; how the settings were before it is asked for when somebody looks. */
  private async loadSettings(id: Id): Promise<void> {
    const path = `${conversationPath(id)}/settings`;
    const settings = await this.hub.ask<model.ConversationSettings>(get(path)).catch(() => undefined);
    if (!settings) return;
    await this.hub.write(async (copy) => {
      if (await copy.head(id)) copy.setHead(id, { settings });
    });
  }

  typing(id: Id): kit.Watched<model.UserId[]> {
    return this.hub.moment.typing(id);
  }

  presence(user: model.UserId): kit.Watched<kit.Presence> {
    return this.hub.moment.presence(user);
  }

  onArrival(listener: (message: model.Message) => void): () => void {
    this.hub.whenArrived.add(listener);
    return () => void this.hub.whenArrived.delete(listener);
  }

  isNews(message: model.Message): Promise<boolean> {
    return this.hub.database.read((rows) => isNews(rows, message));
  }

  // Files.

  content(attachment: model.Attachment, part: StoredPart): Promise<Blob> {
    const { files } = this.hub;
    return attachment.local === undefined ? files.load(attachment, part) : files.local(attachment.local);
  }

  address(attachment: model.Attachment): Promise<model.SignedAddress> {
    return this.hub.files.address(attachment);
  }

  // Asking.

  async search(words: string, { conversation, next }: { conversation?: Id; next?: string } = {}) {
    const query = { q: words, conversationId: conversation, limit: 50, cursor: next };
    try {
      const page = await this.hub.ask<model.SearchPage>(get("/v1/search", query));
      const results = await this.hub.database.read((rows) => shownResults(rows, resultsOf(page)));
      return { results, next: page.nextCursor, isLocal: false };
    } catch {
      const results = await this.hub.database.read((rows) => searchCopy(rows, words, conversation));
      return { results, isLocal: true };
    }
  }

  async revisions(id: Id, message: model.MessageId): Promise<model.Revision[]> {
    try {
      const path = `${messagePath(id, message)}/revisions`;
      const { revisions } = await this.hub.ask<{ revisions: model.Revision[] }>(get(path));
      await this.hub.write((copy) => copy.rows.put("revisions", { conversationId: id, messageId: message, revisions }));
      return revisions;
    } catch (problem) {
      const kept = await this.hub.database.read((rows) => rows.get("revisions", [id, message]));
      if (kept) return kept.revisions;
      throw problem;
    }
  }

  bans(id: Id): Promise<model.BanPage> {
    return this.hub.ask(get(`${conversationPath(id)}/bans`, { limit: 200 }));
  }

  messageReceipts(id: Id, message: model.MessageId, after?: model.UserId): Promise<model.ReceiptPage> {
    return this.hub.ask(get(`${messagePath(id, message)}/receipts`, { after }));
  }

  async nextMention(id: Id): Promise<model.Message | undefined> {
    let after = (await this.hub.database.read((rows) => rows.get("conversations", id)))?.readSeq;
    do {
      const page = await this.hub.ask<model.MentionPage>(get(`${conversationPath(id)}/mentions`, { limit: 1, after }));
      if (page.messages[0]) return page.messages[0];
      after = page.through;
    } while (after);
    return undefined;
  }

  schedule(id: Id, message: model.NewScheduledMessage, messageId: model.MessageId = newId()): Promise<void> {
    return this.hub.ask({ method: "PUT", path: `${conversationPath(id)}/scheduled/${messageId}`, body: message });
  }

  cancelScheduled(id: Id, message: model.MessageId): Promise<void> {
    return this.hub.ask({ method: "DELETE", path: `${conversationPath(id)}/scheduled/${message}` });
  }

  async scheduledMessages(id: Id): Promise<model.ScheduledMessage[]> {
    const list = get("/v1/scheduled", { conversationId: id, limit: 100 });
    const { scheduled } = await this.hub.ask<{ scheduled: model.ScheduledMessage[] }>(list);
    return scheduled.toSorted((one, other) => one.at < other.at ? -1 : 1);
  }

  pinnedMessages(id: Id, before?: number): Promise<model.PinnedMessages> {
    return this.hub.ask(get(`${conversationPath(id)}/pinned`, { limit: 100, before }));
  }

  votes(id: Id, message: model.MessageId, after?: model.UserId): Promise<model.VotePage> {
    return this.hub.ask(get(`${messagePath(id, message)}/votes`, { after }));
  }

  tapbacks(id: Id, message: model.MessageId, after?: model.UserId): Promise<model.TapbackPage> {
    return this.hub.ask(get(`${messagePath(id, message)}/tapbacks`, { after }));
  }

  async invitations(id: Id): Promise<model.Invitation[]> {
    const list = get(`${conversationPath(id)}/invitations`);
    return (await this.hub.ask<{ invitations: model.Invitation[] }>(list)).invitations;
  }

  invite(id: Id, invitation: model.NewInvitation): Promise<model.Invitation> {
    return this.hub.ask({ method: "POST", path: `${conversationPath(id)}/invitations`, body: invitation });
  }

  revokeInvitation(id: Id, invitation: string): Promise<void> {
    return this.hub.ask({ method: "DELETE", path: `${conversationPath(id)}/invitations/${invitation}` });
  }

  async lookUpInvitation(code: string): Promise<Id | model.InvitationPreview> {
    const id = groupOf(code);
    if (!id) throw new kit.ClientProblem(notGood);
    const known = await this.hub.ask<model.Conversation>(get(conversationPath(id))).catch((error) => {
      if (!isNoMember(error)) throw error;
    });
    if (!known || known.request || known.windows.at(-1)?.to !== undefined) {
      return await this.hub.ask<model.InvitationPreview>(invitationRequest("GET", code));
    }
    this.post({ type: "created", conversation: id }); // A new copy may not have it yet.
    return id;
  }

  async join(code: string): Promise<Id | undefined> {
    const { id } = await this.hub.ask<Partial<model.Conversation>>(invitationRequest("POST", code));
    if (id) this.post({ type: "created", conversation: id });
    return id;
  }

  joinRequests(id: Id): Promise<model.JoinRequestPage> {
    return this.hub.ask(get(`${conversationPath(id)}/join-requests`, { limit: 200 }));
  }

  declineJoinRequest(id: Id, user: model.UserId): Promise<void> {
    return this.hub.ask({
      method: "DELETE",
      path: `${conversationPath(id)}/join-requests/${encodeURIComponent(user)}`,
    });
  }

  async report(report: model.NewReport): Promise<void> {
    await this.hub.ask(reportRequest(report));
  }

  async devices(): Promise<model.Device[]> {
    return (await this.hub.ask<{ devices: model.Device[] }>(get("/v1/devices"))).devices;
  }

  endDevice(device: string): Promise<void> {
    return this.hub.ask({ method: "DELETE", path: `/v1/devices/${encodeURIComponent(device)}` });
  }

  endOtherDevices(): Promise<void> {
    return this.hub.ask({ method: "DELETE", path: "/v1/devices" });
  }

  // The session.

  connect(): void {
    this.hub.tell({ tell: "resume" });
  }

  /** A session that another device has taken is left to it until the user asks for it. */
  private comeBack(): void {
    if (kit.isBetweenAttempts(this.connection.value)) this.connect();
  }

  async signOut(): Promise<void> {
    this.listening.abort();
    await this.hub.signOut();
    await eraseIndexedDB(this.name);
  }

  close(): void {
    this.listening.abort();
    this.hub.close();
  }
}

function isAccount(touched: Touched): boolean {
  return touched.account;
}

/** The settings in force, with what waits in the outbox. */
async function settingsOf(rows: Reading): Promise<model.Settings | null> {
  const { settings } = await accountOf(rows);
  const pending = (await rows.all("outbox")).map(({ write, state }) => {
    return state === "waiting" && write.kind === "settings" ? write.settings : {};
  });
  if (!settings) return null;
  const chosen = { ...settings, ...Object.assign({}, ...pending) } as model.NewSettings;
  return { readReceipts: chosen.readReceipts ?? true, presence: chosen.presence ?? true };
}

async function problemsOf(rows: Reading): Promise<kit.RefusedWrite[]> {
  const refused = (await rows.all("outbox")).filter(({ state, problem }) => state === "refused" && problem);
  return refused.map(({ key, write, conversationId, messageId, problem }) => {
    return { key, kind: write.kind, conversationId: conversationId || undefined, messageId, problem: problem! };
  });
}
