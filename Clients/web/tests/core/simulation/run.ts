import { mentions } from "../../../core/copy/messages.ts";
import { accountOf } from "../../../core/copy/copy.ts";
import { timeline } from "../../../core/copy/timeline.ts";
import { outboxOf } from "../../../core/copy/outbox-rows.ts";
import { digestOf } from "../../../core/copy/digest.ts";
import { isSame, shownDraft } from "../../../core/copy/drafts.ts";
import type { Account } from "../../../core/copy/database.ts";
import { isRequest } from "../../../core/copy/requests.ts";
import { requestRows } from "../../../core/lists.ts";
import { type Conversation, forEver, type Message, type Permission, type Window } from "../../../core/model.ts";
import type { Mark } from "../../../core/outbox/writes.ts";
import type { Place } from "../../../core/sync/events.ts";
import { SimulatedDevice } from "./device.ts";
import type { Flaw } from "./flaws.ts";
import { World } from "./world.ts";

const users = ["anna", "ben", "carla"];
const tapbacks = ["love", "like", "laugh", "🧗"];

/** One run: what users do by chance, the end of all faults, and whether every copy is then the server's. */
export class Run {
  readonly world: World;
  private conversations: string[] = [];
  /** What each device sent, in the order of writing. */
  private sent: { device: SimulatedDevice; id: string; message: string }[] = [];
  private wasRestored = false;
  /** Taken back, perhaps before they were sent, or refused and sent again, so not bound to their place any more. */
  private unordered = new Set<string>();
  /** What was written last on each device; undefined: it was sent or given up. */
  private written = new Map<string, string | undefined>();
  private lastDraft = 0;
  /** What users declined, whose drafts go with it. */
  private declined = new Set<string>();

  constructor(seed: number, flaw?: Flaw) {
    this.world = new World(seed);
    this.world.flaw = flaw;
  }

  async run(): Promise<void> {
    const { world } = this;
    await this.begin();
    const backupAt = world.happens(25) ? world.between(5, 39) : -1;
    let backup = "";
    for (let step = 0; step < 60; step++) {
      if (step === backupAt) backup = JSON.stringify(world.server.state);
      await this.act();
      await world.run(world.between(1, 900));
      if (step !== backupAt + 15 || !backup) continue;
      this.wasRestored = true;
      world.restore(backup);
    }
    world.hasFaults = false;
    await this.settle();
    await this.check();
  }

  private async begin(): Promise<void> {
    const { world } = this;
    for (let count = 0; count < 3; count++) {
      const id = world.uuid();
      this.conversations.push(id);
      world.server.createGroup(id, "anna", ["ben"]);
    }
    this.conversations.push(world.server.createDirect("anna", "ben"));
    world.server.announcements = [];
    world.server.asksAboutStrangers = true;
    for (const [index, user] of ["anna", "anna", "ben", "carla"].entries()) {
      const device = new SimulatedDevice(user, `${user} ${index}`, world);
      world.devices.push(device);
      await device.load();
      if (world.happens(80)) device.start();
    }
  }

  // What happens.

  private async act(): Promise<void> {
    const { world } = this;
    const device = world.pick(world.devices)!;
    const id = world.pick(this.conversations)!;
    const messages = world.server.state.rooms[id] ? world.server.messages(id, device.user) : [];
    const message = world.pick(messages);
    const dice = world.between(0, 99);
    if (world.happens(10)) device.post({ type: "show", users });
    if (world.happens(40)) await this.draft(device, id, message?.id);
    if (world.happens(20)) await device.lookAtRequests();
    if (world.happens(15)) await this.decide(device.user);
    if (world.happens(4)) await this.permit(device, id);
    if (world.happens(4)) await this.limitLifetime(device, id);
    if (dice < 35) {
      for (let count = world.between(1, 4); count > 0; count--) await this.send(device, id, message?.id);
      if (world.happens(25)) await this.edit(device, id);
    } else if (dice < 41) await this.edit(device, id);
    else if (dice < 46 && message) {
      await device.write({ kind: "tapback", tapback: world.pick(tapbacks)! }, id, message.id);
    } else if (dice < 47 && message) await device.write({ kind: "tapback", tapback: null }, id, message.id);
    else if (dice < 48 && message) await device.write({ kind: "pinMessage", pins: world.happens(60) }, id, message.id);
    else if (dice < 52) await this.deleteForEveryone(device, id);
    else if (dice < 57 && message) await device.write({ kind: "delete", scope: "me" }, id, message.id);
    else if (dice < 61 && message) await device.write({ kind: "read", seq: message.seq }, id);
    else if (dice < 64 && message) await device.write({ kind: "clear", through: message.seq }, id);
    else if (dice < 66) await device.write({ kind: "rename", title: `title ${world.between(0, 99)}` }, id);
    else if (dice < 71) await device.write({ kind: "member", user: world.pick(users)!, isRemoved: false }, id);
    else if (dice < 73) {
      await device.write({ kind: "member", user: world.pick(["ben", "carla"])!, isRemoved: true }, id);
    } else if (dice < 75) await this.removeFromList(device);
    else if (dice < 77) await this.create(device);
    else if (dice < 79) await device.write({ kind: "settings", settings: { readReceipts: world.happens(50) } });
    else if (dice < 82) device.kill();
    else if (dice < 85) device.post({ type: "stop" });
    else if (dice < 86) device.breakConnection();
    else if (dice < 88) device.post({ type: "catchUp" });
    else if (dice < 91) await this.mark(device.user, id);
    else if (dice < 96) {
      const places: Place[] = ["newest", { before: world.between(1, 30) }, { after: 0 }];
      device.post({ type: "look", conversation: id, place: world.pick(places)! });
    } else if (dice < 98) await this.block(device.user);
    else if (dice < 99) world.server.setName(device.user, `name ${world.between(0, 99)}`);
    else device.start();
  }

  /** Owners change who may do what, and who is an owner or an admin; others try. */
  private async permit(device: SimulatedDevice, id: string): Promise<void> {
    const { world } = this;
    if (world.happens(40)) {
      const role = world.pick(["member", "admin", "owner"])!;
      return await device.write({ kind: "member", user: world.pick(["ben", "carla"])!, isRemoved: false, role }, id);
    }
    for (let count = world.between(1, 2); count > 0; count--) {
      const permission = world.pick<Permission>(["write", "addMembers", "rename", "mentionAll"])!;
      const permitted = world.pick(["members", "admins", "owners"])!;
      await device.write({ kind: "permissions", permissions: { [permission]: permitted } }, id);
    }
  }

  /** Owners and admins of a group, and both of two, decide how long messages stay; or those that are there are over. */
  private async limitLifetime(device: SimulatedDevice, id: string): Promise<void> {
    const { world } = this;
    if (world.happens(50)) return world.server.state.rooms[id] && world.server.expire(id);
    const from = world.pick(["sending", "reading"])!;
    await device.write({ kind: "lifetime", seconds: world.pick([null, 3_600, 86_400])!, from }, id);
  }

  /** Writes a little, and mostly turns away then, or sends or gives up what there is. */
  private async draft(device: SimulatedDevice, id: string, parent?: string): Promise<void> {
    const { world } = this;
    for (let count = world.between(1, 3); count > 0; count--) {
      const isGone = world.happens(25);
      const text = `draft ${++this.lastDraft}`;
      this.written.set(`${device.name} ${id}`, isGone ? undefined : text);
      if (isGone && world.happens(50)) await this.send(device, id);
      const replyTo = world.happens(20) ? parent : undefined;
      await device.setDraft(isGone ? undefined : { text, replyTo }, id);
      await world.run(world.between(0, 4_000));
    }
    if (world.happens(60)) device.turnAway(id);
  }

  /** On one device or on all of the user's, one shortly after the other, while they may be asking for the list. */
  private async mark(user: string, id: string): Promise<void> {
    const { world } = this;
    const devices = world.devices.filter((device) => device.user === user);
    const of = world.between(0, 3);
    for (const device of devices) if (world.happens(30)) device.post({ type: "catchUp" });
    for (const device of world.happens(50) ? devices : devices.slice(-1)) {
      await device.write({ kind: "mark", mark: this.someMark(of, user, id), after: 0 }, id);
      await world.run(world.between(0, 200));
    }
  }

  /** The same. */
  private async block(user: string): Promise<void> {
    const { world } = this;
    const devices = world.devices.filter((device) => device.user === user);
    const other = world.pick(users.filter((each) => each !== user))!;
    for (const device of world.happens(50) ? devices : devices.slice(-1)) {
      await device.write({ kind: "block", user: other, isBlocked: world.happens(60), after: 0 });
      await world.run(world.between(0, 200));
    }
  }

  /** Reads a request, and accepts or declines it, on one device or on all; or takes back what they decided. */
  private async decide(user: string): Promise<void> {
    const { world } = this;
    const requests = world.server.requests(user).map(({ conversation }) => conversation.id);
    const conversation = world.pick(world.happens(20) ? this.conversations : requests);
    if (conversation === undefined) return;
    const devices = world.devices.filter((device) => device.user === user);
    for (const device of world.happens(50) ? devices : devices.slice(-1)) {
      device.post({ type: "lookAgain", conversation });
      device.post({ type: "look", conversation, place: "newest" });
      await world.run(world.between(0, 2_000));
      if (!world.happens(60)) continue;
      const kind = world.happens(50) ? "accept" : "decline";
      if (kind === "decline") this.declined.add(`${user} ${conversation}`);
      await device.write({ kind }, conversation);
    }
  }

  private someMark(of: number, user: string, id: string): Mark {
    const { world } = this;
    const isSet = world.happens(70);
    const lastSeq = world.server.state.rooms[id] ? world.server.lastSeq(user, id) : 0;
    const marks: Mark[] = [
      { of: "muted", until: isSet ? forEver : null },
      { of: "pinned", order: isSet ? world.between(-3, 3) : null },
      { of: "archived", through: isSet ? Math.max(1, lastSeq) : null },
      { of: "unread", isMarked: isSet },
    ];
    return marks[of]!;
  }

  private async send(device: SimulatedDevice, id: string, parent?: string): Promise<void> {
    const { world } = this;
    const message = world.uuid();
    this.sent.push({ device, id, message });
    const replyTo = world.between(0, 3) === 0 ? parent : undefined;
    const text = `text ${this.sent.length}`;
    const sentAt = new Date(0).toISOString();
    const mentions = world.happens(20) ? [world.pick(["anna", "ben", "carla"])!] : [];
    const mentionsAll = world.happens(10) || undefined;
    await device.write({ kind: "send", text, replyTo, mentions, mentionsAll, sentAt }, id, message);
  }

  /** Something this device has sent, pending or not. */
  private own(device: SimulatedDevice, id: string): string | undefined {
    const own = this.sent.filter((sent) => sent.device === device && sent.id === id);
    return this.world.pick(own.slice(-5))?.message;
  }

  private async edit(device: SimulatedDevice, id: string): Promise<void> {
    const message = this.own(device, id);
    if (message === undefined) return;
    const rows = await device.memory.read((rows) => outboxOf(rows, id));
    if (rows.some((row) => row.messageId === message && row.state === "failed")) this.unordered.add(message);
    await device.write({ kind: "edit", text: `edited ${this.world.between(0, 999)}` }, id, message);
  }

  private async deleteForEveryone(device: SimulatedDevice, id: string): Promise<void> {
    const message = this.own(device, id);
    if (message === undefined) return;
    this.unordered.add(message);
    await device.write({ kind: "delete", scope: "everyone" }, id, message);
  }

  private async create(device: SimulatedDevice): Promise<void> {
    const id = this.world.uuid();
    this.conversations.push(id);
    const members = users.filter((user) => user !== device.user);
    await device.write({ kind: "create", members, title: "new" }, id);
  }

  private async removeFromList(device: SimulatedDevice): Promise<void> {
    const { server } = this.world;
    const left = server.list(device.user).filter((id) => !server.isMember(device.user, id));
    const id = this.world.pick(left);
    if (id !== undefined) await device.write({ kind: "unlist" }, id);
  }

  // The end.

  private async settle(): Promise<void> {
    const { devices } = this.world;
    for (let round = 0; round < 6; round++) {
      for (const device of devices) {
        device.start();
        device.post({ type: "show", users });
        await device.lookAtRequests();
      }
      await this.world.run(200_000);
      if (round < 2) continue;
      for (const device of devices) await this.fill(device);
      // Who has left learns of a deletion for everyone by no change: comparing finds it.
      for (const device of devices) {
        for (const conversation of this.list(device)) device.post({ type: "compare", conversation });
        await this.world.run(30_000);
      }
    }
  }

  /** Everybody has the names of all, and those who see somebody hear of a new one at once. */
  private async checkNames(): Promise<void> {
    const { devices, server } = this.world;
    for (const device of devices) await this.checkNamesOf(device, users);
    server.setName("ben", "another one");
    this.world.announce();
    await this.world.run(10_000);
    for (const device of devices) {
      if (["ben", ...server.whoSee("ben")].includes(device.user)) await this.checkNamesOf(device, ["ben"]);
    }
  }

  private async checkNamesOf(device: SimulatedDevice, people: string[]): Promise<void> {
    for (const person of people) {
      const { version, displayName } = this.world.server.profile(person, device.user);
      const known = await device.memory.read((rows) => rows.get("profiles", person));
      const [one, other] = [`${known?.version ?? 0} ${known?.displayName}`, `${version} ${displayName}`];
      expect(one === other, `${device.name} has ${one} as the name of ${person}, the server ${other}`);
    }
  }

  private asked(device: SimulatedDevice): string[] {
    return this.world.server.requests(device.user).map(({ conversation }) => conversation.id);
  }

  private list(device: SimulatedDevice): string[] {
    return this.world.server.list(device.user);
  }

  /** Looks at everything that the copy lacks. */
  private async fill(device: SimulatedDevice): Promise<void> {
    const requests = this.asked(device);
    for (const conversation of requests) device.post({ type: "lookAgain", conversation });
    if (requests.length) await this.world.run(3_000);
    for (const conversation of [...this.list(device), ...requests]) {
      for (let count = 0; count < 40; count++) {
        const head = await device.memory.read((rows) => rows.get("conversations", conversation));
        const last = head?.ranges.at(-1);
        let place: Place | undefined;
        if (!last) place = "newest";
        else if (last[1] < this.world.server.lastSeq(device.user, conversation)) place = { after: last[1] };
        else if (last[0] > 1) place = { before: last[0] };
        if (!place) break;
        device.post({ type: "look", conversation, place });
        await this.world.run(3_000);
      }
    }
  }

  private async check(): Promise<void> {
    for (const device of this.world.devices) {
      const { name, user } = device;
      expect(device.isOnline, `${name} is not online`);
      expect(!device.differences, `${name} was repaired ${device.differences} times`);
      const heads = await device.memory.read((rows) => rows.all("conversations", { index: "activity" }));
      const account = await device.memory.read(accountOf);
      const listed = heads.filter(({ id }) => !isRequest(account, id));
      const [copied, told] = [listed.map(({ id }) => id).sort(), this.list(device).sort()];
      expect(`${copied}` === `${told}`, `${name} lists ${copied}, the server ${told}`);
      await this.checkRequests(device, account);
      const blocked = this.world.server.user(user).blocked;
      expect(`${account.blocked ?? []}` === `${blocked}`, `${name} blocks ${account.blocked}, the server ${blocked}`);
      for (const id of told) {
        await this.checkConversation(device, id, user);
        await this.checkDraft(device, id);
      }
      await this.checkOutbox(device);
    }
    await this.checkOrder();
    await this.checkNames();
  }

  private async checkRequests(device: SimulatedDevice, account: Account): Promise<void> {
    const rows = await device.memory.read(requestRows);
    const copied = rows.map(({ id, requester }) => `${id} by ${requester}`);
    const requests = this.world.server.requests(device.user);
    const told = requests.map(({ conversation, userId }) => `${conversation.id} by ${userId}`);
    expect(`${copied}` === `${told}`, `${device.name} is asked about ${copied}, by the server about ${told}`);
    expect(account.requests?.isWhole, `${device.name} does not know its requests`);
    for (const { id } of rows) await this.checkConversation(device, id, device.user);
  }

  private async checkConversation(device: SimulatedDevice, id: string, user: string): Promise<void> {
    const { server } = this.world;
    const who = `${device.name}, in ${id},`;
    const { lastMessage: _, deliveredSeq: __, draft: ___, ...truth } = server.conversation(id, user);
    const unread = await this.checkShown(device, truth);
    truth.unreadCount = truth.request ? 0 : Math.min(100, unread.length);
    const mentioning = truth.request ? 0 : unread.filter((message) => mentions(message, user)).length;
    truth.unreadMentions = Math.min(100, mentioning) || undefined;
    const copy = await device.memory.read((rows) => rows.get("conversations", id));
    expect(copy, `${who} knows nothing`);
    const ranges = JSON.stringify(copy!.ranges);
    expect(ranges === `[[1,${truth.lastSeq}]]`, `${who} has ${ranges} of ${truth.lastSeq}`);
    const messages = await device.memory.read((rows) => rows.all("messages", { from: [id, 1], to: [id, []] }));
    const isEqual = await digestOf(messages) === await server.digest(id, user);
    expect(
      isEqual,
      `${who} has other messages: ${JSON.stringify(messages)} not ${JSON.stringify(server.messages(id, user))}`,
    );
    const request = isRequest(await device.memory.read(accountOf), id) || undefined;
    const shown: Record<string, unknown> = { ...copy, ...copy!.marks, unreadCount: copy!.unread ?? 0, request };
    shown.unreadMentions = copy!.mentions;
    for (const [name, value] of Object.entries(truth)) {
      // A read that the server refused, because the user had left, stays on the device.
      const stays = ["readSeq", "unreadCount", "unreadMentions", "markedUnread"].includes(name) &&
        (truth.windows.length > 1 || truth.windows[0]!.to);
      const [one, other] = [JSON.stringify(shown[name]), JSON.stringify(value)];
      expect(stays || one === other, `${who} has ${name} ${one}, the server ${other}`);
    }
  }

  /**
   * All devices show the server's draft, except one on which a text was written that the server refused, or has a newer one
   * than. No text that was written last on a device is lost before it was with the server.
   */
  private async checkDraft({ name, user, memory }: SimulatedDevice, id: string): Promise<void> {
    const { server } = this.world;
    const truth = server.user(user).drafts[id];
    const { shown, own } = await memory.read(async (rows) => {
      const own = (await outboxOf(rows, id)).filter(({ write }) => write.kind === "draft");
      return { shown: shownDraft(await rows.get("conversations", id), own), own };
    });
    const isHeld = own.length === 1 && own[0]!.state === "held" && (own[0]!.problem || !own[0]!.wasTried);
    const written = this.written.get(`${name} ${id}`);
    expect(
      isSame(shown, truth) || isHeld && shown?.text === written,
      `${name} shows ${shown?.text} in ${id}, the server has ${truth?.text}: ${JSON.stringify(own)}`,
    );
    // Whoever has left, or blocked the other, has no drafts.
    const [{ to }, ...others] = server.conversation(id, user).windows as [Window, ...Window[]];
    const wasDeclined = this.declined.has(`${user} ${id}`);
    if (written === undefined || this.wasRestored || wasDeclined || to !== undefined || others.length) return;
    const wasPut = server.everDrafted.has(`${user} ${written}`);
    expect(wasPut || shown?.text === written, `${written} of ${name} in ${id} was lost`);
  }

  /**
   * What is shown is what the user has not blocked, with their own tapbacks and those of others whom they have not blocked.
   * Returns those that are unread.
   */
  private async checkShown(device: SimulatedDevice, truth: Omit<Conversation, "deliveredSeq">): Promise<Message[]> {
    const { server } = this.world;
    const { id, kind, readSeq, clearedSeq } = truth;
    const blocked = kind === "direct" ? [] : server.user(device.user).blocked;
    const all = server.messages(id, device.user);
    const isShown = ({ kind, senderId }: Message) => kind === "system" || !blocked.includes(senderId);
    const shown = all.filter((message) => !message.expired && isShown(message));
    const page = await device.memory.read((rows) => timeline(rows, id, { at: "end", before: 1_000, after: 0 }));
    const text = (messages: Message[], isTruth: boolean) =>
      messages.map(({ seq, tapbacks, tapbackCounts, pinned }) => {
        const left = tapbacks.filter(({ userId }) => !isTruth || !blocked.includes(userId));
        const count = isTruth ? left.length : Object.values(tapbackCounts).reduce((sum, each) => sum + each, 0);
        return `${seq}: ${left.map(({ userId, kind }) => `${userId} ${kind}`).sort()} ${count} ${pinned?.seq}`;
      }).join("; ");
    const stored = page.rows.filter(({ message }) => message.seq > 0 && message.seq <= truth.lastSeq);
    const [one, other] = [text(stored.map(({ message }) => message), false), text(shown, true)];
    expect(one === other, `${device.name} shows ${one} of ${id} instead of ${other}`);
    const answers = page.rows.some(({ parent }) => parent?.senderId !== undefined && blocked.includes(parent.senderId));
    expect(!answers, `${device.name} shows that somebody blocked is answered in ${id}`);
    return shown.filter(({ senderId, kind, deletedForEveryone, seq }) =>
      senderId !== device.user && kind !== "system" && !deletedForEveryone && seq > Math.max(readSeq, clearedSeq)
    );
  }

  private async checkOutbox(device: SimulatedDevice): Promise<void> {
    const rows = await device.memory.read((rows) => rows.all("outbox"));
    const isBehind = (row: typeof rows[number]) =>
      rows.some(({ state, conversationId, key }) =>
        state === "failed" && conversationId === row.conversationId && key < row.key
      );
    // What is written in a request stays on the device.
    const asked = this.asked(device);
    const stays = (row: typeof rows[number]) => row.write.kind === "draft" && asked.includes(row.conversationId);
    const waiting = rows.filter((row) => row.state === "waiting" && !isBehind(row) && !stays(row));
    expect(!waiting.length, `${device.name} did not send ${JSON.stringify(waiting)}`);
  }

  private async checkOrder(): Promise<void> {
    const last = new Map<string, number>();
    for (const { device, id, message } of this.sent) {
      if (this.unordered.has(message)) continue;
      const { server } = this.world;
      const rows = await device.memory.read((rows) => outboxOf(rows, id));
      const isPending = rows.some((row) => row.messageId === message && row.write.kind === "send");
      const seq = server.seqOf(message, id);
      const who = `${message} of ${device.name} in ${id}`;
      if (seq === undefined) {
        const isKept = isPending || this.wasRestored || !server.lastSeq(device.user, id);
        expect(isKept, `${who} was lost`);
        continue;
      }
      expect(!isPending, `${who} is sent and in the outbox`);
      const key = `${device.name} ${id}`;
      expect(this.wasRestored || seq > (last.get(key) ?? 0), `${who} was overtaken`);
      last.set(key, seq);
    }
  }
}

function expect(condition: unknown, what: string): void {
  if (!condition) throw new Error(what);
}
