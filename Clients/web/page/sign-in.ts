// How the page gets a token: from the link it was opened by, or from the page that opened or embeds it.

const answerMilliseconds = 3_000;

/**
 * Takes the token out of `#token=…`, and the address out of the history, before anything else can see it. Until
 * `forgetToken` it comes again where the page is reloaded: the copy may not have it yet.
 */
export function takeToken(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return history.state?.token ?? null;
  history.replaceState({ token }, "", location.pathname + location.search);
  return token;
}

/** The token is kept, or refused: the history needs it no longer. */
export function forgetToken(): void {
  history.replaceState(null, "");
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
