/// <reference lib="deno.ns" />
import type { HTTPRequest } from "../../core/http.ts";
import type { FrameFromClient, FrameFromServer } from "../../core/model.ts";
import { type Outside, Session } from "../../core/session.ts";
import type { SyncNotice } from "../../core/sync/events.ts";
import { userOf } from "../../core/token.ts";
import { conversation, Copy, created, expectEqual, history, send } from "./copy.ts";

const tokenOf = (user: string) => `x.${btoa(JSON.stringify({ sub: user }))}.x`;

/** A world that does what a test says. */
class World implements Outside {
  requests: HTTPRequest[] = [];
  frames: FrameFromClient[] = [];
  notices: SyncNotice[] = [];
  tokens: boolean[] = [];
  socket?: { opened(): void; frame(frame: FrameFromServer): void; closed(): void };
  response?: (body: unknown) => void;

  constructor(private user: string) {}

  now = () => 0;
  random = () => 0.5;
  after: Outside["after"] = () => () => {};
  warn = () => {};
  touched = () => {};

  notice(notice: SyncNotice): void {
    this.notices.push(notice);
  }

  token(isFresh: boolean, done: (token?: string) => void): void {
    this.tokens.push(isFresh);
    done(tokenOf(this.user));
  }

  request(request: HTTPRequest, _token: string, done: (response: { body: unknown }) => void): void {
    this.requests.push(request);
    this.response = (body) => done({ body });
  }

  open(socket: NonNullable<World["socket"]>) {
    this.socket = socket;
    return { send: (frame: FrameFromClient) => void this.frames.push(frame), close: () => {} };
  }
}

Deno.test("what a user has written is never sent with the token of another one", async () => {
  const copy = await Copy.begin(5);
  await copy.write(send("anna's secret"), "m");
  const world = new World("mallory");
  const session = await Session.begin(copy.database, world, world);
  session.resume();
  await session.settled();
  world.socket!.opened();
  await session.settled();
  const welcome = {
    type: "welcome",
    userId: "mallory",
    serverTime: "",
    logId: "log",
    useq: 0,
    conversations: [],
    more: false,
  };
  world.socket!.frame(welcome as FrameFromServer);
  await session.settled();
  expectEqual([world.requests, world.notices.at(-1)], [[], { notice: "connection", state: "otherUser" }]);
  expectEqual((await copy.rows()).length, 1);
});

Deno.test("several frames that come together are stored in one transaction, before anything is sent about them", async () => {
  const copy = await Copy.begin(5);
  await copy.apply(history(1, 5, 5));
  const world = new World("anna");
  const session = await Session.begin(copy.database, world, world);
  session.resume();
  await session.settled();
  world.socket!.opened();
  const welcome = {
    type: "welcome",
    userId: "anna",
    serverTime: "",
    logId: "log",
    useq: 0,
    conversations: [conversation(5)],
    more: false,
  };
  world.socket!.frame(welcome as FrameFromServer);
  let transactions = 0;
  const { write } = copy.database;
  copy.database.write = (body) => (transactions += 1, write.call(copy.database, body) as never);
  for (let seq = 6; seq <= 25; seq++) {
    const change = created(seq) as Extract<ReturnType<typeof created>, { write: "change" }>;
    world.socket!.frame({ type: "change", change: change.change });
  }
  await session.settled();
  expectEqual([(await copy.texts()).length, transactions <= 2], [25, true]);
  expectEqual((await copy.head()).cursor, 25);
});

Deno.test("what is taken back while it is chosen is not sent, or its deletion follows it", async () => {
  const copy = await Copy.begin(5);
  await copy.write(send("one"), "m");
  const world = new World("anna");
  const session = await Session.begin(copy.database, world, world);
  // The user is faster than whatever comes after the first transaction.
  const { read, write } = copy.database;
  const isFirst = async <Result>(result: Promise<Result>) => {
    await result;
    [copy.database.read, copy.database.write] = [read, write];
    await copy.write({ kind: "delete", scope: "everyone" }, "m");
    return result;
  };
  copy.database.read = (body) => isFirst(read.call(copy.database, body)) as never;
  copy.database.write = (body) => isFirst(write.call(copy.database, body)) as never;
  session.pump();
  await session.settled();
  const kinds = (await copy.rows()).map(({ write }) => write.kind);
  expectEqual([world.requests.map(({ method }) => method), kinds], [["POST"], ["send", "delete"]]);
});

Deno.test("a token that is asked for by several is fetched once", async () => {
  const copy = await Copy.begin(5);
  await copy.write(send("one"), "m");
  const world = new World("anna");
  const waiting: (() => void)[] = [];
  world.token = (isFresh, done) => {
    world.tokens.push(isFresh);
    waiting.push(() => done(tokenOf("anna")));
  };
  const session = await Session.begin(copy.database, world, world);
  session.resume();
  session.ask({ method: "GET", path: "/v1/settings" }, () => {});
  await session.settled();
  for (const give of waiting) give();
  await session.settled();
  expectEqual([world.tokens, world.requests.map(({ path }) => path.split("/").at(-1))], [[false], [
    "settings",
    "messages",
  ]]);
});

Deno.test("whose token was refused is signed out until the application gives another one", async () => {
  const copy = await Copy.begin(5);
  const world = new World("anna");
  const give = world.token;
  const session = await Session.begin(copy.database, world, world);
  const states = () => world.notices.splice(0).map((notice) => "state" in notice && notice.state);
  session.resume();
  await session.settled();
  // Without a word of the server it is the network.
  world.socket!.closed();
  await session.settled();
  expectEqual(states(), ["connecting", "waiting"]);
  session.resume();
  await session.settled();
  world.token = (isFresh, done) => (world.tokens.push(isFresh), queueMicrotask(done));
  world.socket!.opened();
  world.socket!.frame({ type: "bye", code: "unauthenticated", reason: "revoked" });
  world.socket!.closed();
  await session.settled();
  session.resume();
  await session.settled();
  expectEqual(states(), ["connecting", "waiting", "connecting", "unauthenticated"]);
  world.token = (isFresh, done) => queueMicrotask(() => give.call(world, isFresh, done));
  world.now = () => 10_000;
  session.resume();
  await session.settled();
  world.socket!.opened();
  world.socket!.closed();
  await session.settled();
  expectEqual([states(), world.tokens], [["unauthenticated", "waiting"], [false, true, true]]);
});

Deno.test("a suspended user is told until when", async () => {
  const copy = await Copy.begin(5);
  const world = new World("anna");
  const session = await Session.begin(copy.database, world, world);
  session.resume();
  await session.settled();
  world.socket!.opened();
  const until = "2026-11-23T09:00:00.000Z";
  world.socket!.frame({ type: "bye", code: "suspended", reason: "suspended", retryAfter: 3_600, until });
  world.socket!.closed();
  await session.settled();
  expectEqual(world.notices.at(-1), { notice: "connection", state: "suspended", until });
});

Deno.test("the user of a token is read from it, and of what is no token nothing is known", () => {
  expectEqual(userOf(tokenOf("anna")), "anna");
  expectEqual([userOf("token"), userOf("a.b.c"), userOf("")], [undefined, undefined, undefined]);
});

Deno.test("a copy that cannot be written is tried again ever more seldom, whatever tokens come", async () => {
  const copy = await Copy.begin(5);
  const world = new World("anna");
  const pauses: number[] = [];
  let retry = () => {};
  world.after = (milliseconds, body) => {
    pauses.push(milliseconds);
    retry = body;
    return () => {};
  };
  const session = await Session.begin(copy.database, world, world);
  copy.database.write = () => Promise.reject(new DOMException("", "QuotaExceededError"));
  for (let attempt = 0; attempt < 4; attempt++) {
    if (attempt) retry();
    else session.resume();
    await session.settled();
    world.socket!.opened();
    await session.settled();
    world.socket!.frame({
      ...{ type: "welcome", userId: "anna", serverTime: "", logId: "log" },
      ...{ useq: 0, conversations: [], more: false },
    });
    await session.settled();
    await new Promise((resolve) => setTimeout(resolve));
  }
  const states = world.notices.map((notice) => notice.notice === "connection" ? notice.state : notice.notice);
  expectEqual(states, Array.from({ length: 4 }, () => ["connecting", "unwritable"]).flat());
  const unwritten = pauses.filter((pause) => pause !== 30_000);
  expectEqual(unwritten, [750, 1_500, 3_000, 6_000]);
});
