/** An application that gives a refused token again is not asked all the time. */
const betweenFresh = 5_000;

type Done = (token?: string) => void;

interface Application {
  now(): number;
  after(milliseconds: number, body: () => void): () => void;
  token(isFresh: boolean, done: Done): void;
}

/** The tokens of a session: however many need one, the application is asked once. */
export class TokenSource {
  private token?: string;
  private fetch?: { isFresh: boolean; waiting: Done[] };
  private freshAt = -Infinity;

  constructor(private application: Application) {}

  /** The present one, if there is one. */
  any(done: Done): void {
    if (this.token !== undefined && !this.fetch) done(this.token);
    else this.ask(this.fetch?.isFresh ?? false, done);
  }

  /** A new one: the present one was refused, or is about to expire. */
  fresh(done: Done): void {
    this.ask(true, done);
  }

  private ask(isFresh: boolean, done: Done): void {
    if (this.fetch && (this.fetch.isFresh || !isFresh)) return void this.fetch.waiting.push(done);
    const fetch = { isFresh, waiting: [...this.fetch?.waiting ?? [], done] };
    this.fetch = fetch;
    const wait = isFresh ? this.freshAt + betweenFresh - this.application.now() : 0;
    if (wait > 0) this.application.after(wait, () => this.call(fetch));
    else this.call(fetch);
  }

  private call(fetch: NonNullable<TokenSource["fetch"]>): void {
    if (fetch.isFresh) this.freshAt = this.application.now();
    this.application.token(fetch.isFresh, (token) => {
      // Where a fresh one was needed meanwhile, that one counts.
      if (this.fetch !== fetch) return;
      this.fetch = undefined;
      this.token = token ?? this.token;
      for (const done of fetch.waiting) done(token);
    });
  }
}

/** Whose token it is; undefined if it is none of the form that the contract has. The server alone decides what it is worth. */
export function userOf(token: string): string | undefined {
  try {
    const payload = token.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/");
    const { sub } = JSON.parse(atob(payload));
    return typeof sub === "string" ? sub : undefined;
  } catch {
    return undefined;
  }
}

/** Whether what a user has written may be sent with a token: not with that of another one who uses the same browser. */
export function isOf(token: string, user: string | undefined): boolean {
  const other = userOf(token);
  return other === undefined || user === undefined || other === user;
}
