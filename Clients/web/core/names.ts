import type { UserNames } from "./client.ts";
import type { ProfileRecord } from "./copy/database.ts";
import type { UserId } from "./model.ts";

const betweenTellings = 2_000;
/** More are not remembered as told: they are told again. */
const mostTold = 1_000;

/**
 * What people are called, for one tab: by the copy, else by their id. Whoever asks for a name shows it, so the session hears
 * of them, which has the profile asked for when that is due.
 */
export class Names implements UserNames {
  private names = new Map<UserId, string | undefined>();
  private listeners = new Set<() => void>();
  private shown = new Set<UserId>();
  private told = new Map<UserId, number>();

  constructor(private tell: (users: UserId[]) => void) {}

  of(user: UserId): string {
    if (!this.shown.size) setTimeout(() => this.tellShown(), 50);
    this.shown.add(user);
    return this.names.get(user) ?? user;
  }

  known(user: UserId): string | undefined {
    return this.names.get(user);
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** As the copy has them. */
  set(profiles: ProfileRecord[]): void {
    this.names = new Map(profiles.map(({ userId, displayName }) => [userId, displayName]));
    for (const listener of [...this.listeners]) listener();
  }

  /** Another session has begun, or another tab leads, which knows nothing of this one. */
  tellAgain(): void {
    if (this.told.size) this.tell([...this.told.keys()]);
  }

  private tellShown(): void {
    const now = performance.now();
    const users = [...this.shown].filter((user) => !(now < this.told.get(user)! + betweenTellings));
    this.shown.clear();
    for (const user of users) this.told.delete(user), this.told.set(user, now);
    for (const user of this.told.keys()) if (this.told.size > mostTold) this.told.delete(user);
    if (users.length) this.tell(users);
  }
}
