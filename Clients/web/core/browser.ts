import type { ParleyOptions } from "./client.ts";
import { accountOf, CopyWriter } from "./copy/copy.ts";
import type { Database } from "./copy/database.ts";
import type { HTTPRequest } from "./http.ts";
import type { FrameFromServer, Limits, Problem } from "./model.ts";
import type { Outside } from "./session.ts";
import type { CallFailure, SyncResponse } from "./sync/events.ts";
import { isOf } from "./token.ts";

// The world outside as a browser has it.

const patience = 30_000;
const betweenPings = 25_000;
/** A connection on which nothing was heard for this long is given up. */
const silence = 60_000;
/** Where the browser says that there is no network, which is seldom wrong, it is tried this often. */
const betweenDoubts = 30_000;

/** One call. What comes back is never an exception. */
export async function call(origin: string, request: HTTPRequest, token?: string): Promise<SyncResponse> {
  const { method, path, body, idempotencyKey, isText } = request;
  const headers: Record<string, string> = {};
  if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
  if (idempotencyKey !== undefined) headers["Idempotency-Key"] = idempotencyKey;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const signal = AbortSignal.timeout(patience);
    const response = await fetch(origin + path, { method, headers, body: text, signal, cache: "no-store" });
    if (response.ok && isText) return { body: await response.text() };
    if (response.ok) {
      const said = await response.text();
      return { body: said ? JSON.parse(said) : null };
    }
    return { failure: await failureOf(response) };
  } catch {
    return { failure: {} };
  }
}

/** What a response says that is no success. */
export async function failureOf(response: Response): Promise<CallFailure> {
  const { status, statusText } = response;
  // Something between the client and the server may respond in its place.
  const unknown = { title: statusText, detail: statusText, code: "" };
  const told = await response.json().catch(() => ({})) as Partial<Problem>;
  const seconds = Number(response.headers.get("Retry-After") ?? NaN);
  return { problem: { ...unknown, ...told, status }, retryAfter: isNaN(seconds) ? undefined : seconds * 1_000 };
}

/** The token that is kept on this device, or a new one from the application, which is kept then. */
export async function tokenOf(database: Database, options: ParleyOptions, isFresh: boolean): Promise<string> {
  const { token: kept, userId } = await database.read(accountOf);
  const token = await options.token(isFresh, kept);
  // That of another user is told to be one, and does not take the place of this one's.
  if (token !== kept && isOf(token, userId)) {
    await CopyWriter.run(database, (copy) => Promise.resolve(copy.setAccount({ token })));
  }
  return token;
}

export function browser(
  database: Database,
  options: ParleyOptions,
  origin: string,
  limits: () => Promise<Limits | null>,
): Outside {
  let triedAt = -Infinity;
  return {
    now: () => performance.now(),
    after: (milliseconds, body) => {
      const timer = setTimeout(body, milliseconds);
      return () => clearTimeout(timer);
    },
    random: Math.random,
    warn: (text, error) => console.warn(`parley: ${text}`, error),
    token: (isFresh, done) => void tokenOf(database, options, isFresh).then(done, () => done()),
    request: (request, token, done) => void call(origin, request, token).then(done),
    open: (socket) => {
      let web: WebSocket | undefined;
      let isClosed = false;
      const isHopeless = navigator.onLine === false && performance.now() < triedAt + betweenDoubts;
      if (!isHopeless) triedAt = performance.now();
      (isHopeless ? Promise.resolve(null) : limits()).then((limits) => {
        if (isClosed) return;
        if (!limits) return socket.closed();
        const url = limits.socketUrl ?? `${origin.replace(/^http/, "ws")}/v1/socket`;
        web = connect(url, socket);
      }).catch((error) => {
        // Such as an insecure address on a secure page.
        console.warn("parley: no connection can be opened", error);
        socket.closed();
      });
      return {
        send: (frame) => {
          if (web?.readyState === WebSocket.OPEN) web.send(JSON.stringify(frame));
        },
        close: () => {
          isClosed = true;
          web?.close();
        },
      };
    },
  };
}

function connect(url: string, socket: Parameters<Outside["open"]>[0]): WebSocket {
  const web = new WebSocket(url, "parley.v1");
  let heardAt = performance.now();
  let heartbeat: ReturnType<typeof setInterval> | undefined;
  const end = () => {
    clearInterval(heartbeat);
    web.onclose = null;
    socket.closed();
  };
  web.onopen = () => {
    socket.opened();
    // Pages do not see the server's pings: without their own they would not notice that the network is gone.
    heartbeat = setInterval(() => {
      if (performance.now() < heardAt + silence) return web.send(JSON.stringify({ type: "ping", id: "heartbeat" }));
      web.close();
      end();
    }, betweenPings);
  };
  web.onclose = end;
  web.onmessage = ({ data }) => {
    heardAt = performance.now();
    const frame = frameOf(data);
    if (frame) socket.frame(frame);
  };
  return web;
}

/** Nothing for what no server sends. */
function frameOf(data: unknown): FrameFromServer | undefined {
  try {
    return JSON.parse(data as string);
  } catch {
    return undefined;
  }
}
