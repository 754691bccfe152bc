// What the page gets from the link it was opened by: a token, which may also come from the page that opened or embeds it,
// and the code of an invitation.

const answerMilliseconds = 3_000;

const secrets = ["token", "invite"] as const;
export type Secrets = { [name in typeof secrets[number]]?: string };

/**
 * Takes them out of `#token=…` and `#invite=…`, and the address out of the history, before anything else can see them. Until
 * `forget` they come again where the page is reloaded: the copy may not have the token yet, and the invitation waits.
 */
export function takeSecrets(): Secrets {
  const fields = new URLSearchParams(location.hash.slice(1));
  const given = secrets.filter((name) => fields.has(name));
  const taken: Secrets = { ...history.state, ...Object.fromEntries(given.map((name) => [name, fields.get(name)])) };
  if (given.length) history.replaceState(taken, "", location.pathname + location.search);
  return taken;
}

/** The history needs it no longer: the token is kept, or refused; the user has decided. */
export function forget(name: keyof Secrets): void {
  const { [name]: _, ...others }: Secrets = history.state ?? {};
  history.replaceState(Object.keys(others).length ? others : null, "");
}

/** The origins that may give tokens: this one, and those that the server's configuration names. */
function origins(): string[] {
  const meta = document.querySelector<HTMLMetaElement>("meta[name=parley-origins]");
  return [location.origin, ...(meta?.content ?? "").split(" ").filter((origin) => origin)];
}

/** Asks the page around, or the one that opened this, for a token; null when nobody answers. */
export function askForToken(): Promise<string | null> {
  const asked = [globalThis.parent, globalThis.opener as Window | null].filter((other): other is Window =>
    !!other && other !== globalThis.window
  );
  if (!asked.length) return Promise.resolve(null);
  return new Promise((resolve) => {
    const end = (token: string | null) => {
      removeEventListener("message", receive);
      clearTimeout(timer);
      resolve(token);
    };
    const receive = ({ source, origin, data }: MessageEvent) => {
      if (!asked.includes(source as Window) || !origins().includes(origin)) return;
      if (data?.type === "token" && typeof data.token === "string") end(data.token);
    };
    const timer = setTimeout(() => end(null), answerMilliseconds);
    addEventListener("message", receive);
    for (const other of asked) for (const origin of origins()) other.postMessage({ type: "token" }, origin);
  });
}
