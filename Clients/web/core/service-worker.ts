// Keeps the page itself, so that it opens with every server stopped. A version is kept as a whole: its files fit together.
// When the browser finds a new worker, which it looks for whenever the page is opened, the new version is loaded beside the
// present one and takes over; pages that are open go on with what they have, and get it when they are opened again.

/** Of the files, by the build: a change of any of them is a new worker. */
declare const PARLEY_VERSION: string;

/** The digest of each file by its URL, as the page names it. The page itself has none: the server completes it. */
declare const PARLEY_FILES: Record<string, string>;

const cacheName = `parley-page-${PARLEY_VERSION}`;
const files = ["/", ...Object.keys(PARLEY_FILES)];
const paths = files.map((file) => file.split("?")[0]);

// What TypeScript's library for pages lacks of a worker's.
interface LifeEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface RequestEvent extends LifeEvent {
  request: Request;
  respondWith(response: Promise<Response>): void;
}
interface NotificationEvent extends LifeEvent {
  notification: Notification;
}
const worker = self as unknown as {
  skipWaiting(): Promise<void>;
  clients: {
    claim(): Promise<void>;
    matchAll(
      query: { type: string; includeUncontrolled: boolean },
    ): Promise<{ url: string; focus(): Promise<unknown> }[]>;
    openWindow(url: string): Promise<unknown>;
  };
  addEventListener(type: string, listener: (event: never) => void): void;
};

worker.addEventListener("install", (event: LifeEvent) => event.waitUntil(install()));
worker.addEventListener("activate", (event: LifeEvent) => event.waitUntil(activate()));
worker.addEventListener("fetch", (event: RequestEvent) => {
  const { method, url } = event.request;
  const { origin, pathname } = new URL(url);
  // Everything else, such as the API, is the network's.
  if (method === "GET" && origin === location.origin && paths.includes(pathname)) {
    event.respondWith(respond(event.request, pathname));
  }
});
worker.addEventListener("notificationclick", (event: NotificationEvent) => {
  event.notification.close();
  event.waitUntil(showPage());
});

async function install(): Promise<void> {
  const cache = await caches.open(cacheName);
  // Not those that the browser has kept by itself, which may be of the version before, nor those of another version that a
  // server beside this one has: with a file that is none of this version's, nothing is installed.
  const requests = files.map((file) => new Request(file, { cache: "reload", integrity: PARLEY_FILES[file] ?? "" }));
  await cache.addAll(requests).catch(async (error) => {
    await caches.delete(cacheName);
    throw error;
  });
  await worker.skipWaiting();
}

async function activate(): Promise<void> {
  const others = (await caches.keys()).filter((name) => name.startsWith("parley-page-") && name !== cacheName);
  // The version before stays: a page of it may have asked for its script by now, or not yet.
  await Promise.all(others.slice(0, -1).map((name) => caches.delete(name)));
  await worker.clients.claim();
}

async function respond(request: Request, path: string): Promise<Response> {
  // A page names the version of its files. Whatever else asks, such as a page that embeds the script, gets this one.
  const named = path === "/" ? undefined : await caches.match(request.url);
  const cache = await caches.open(cacheName);
  return named ?? await cache.match(path, { ignoreSearch: true }) ?? await fetch(request);
}

async function showPage(): Promise<void> {
  const [page] = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
  await (page ? page.focus() : worker.clients.openWindow("/"));
}
