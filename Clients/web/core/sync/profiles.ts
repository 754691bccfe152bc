import { type UserId, userIdPattern } from "../model.ts";

/** One request asks for so many, */
const atOnce = 100;
/** and for no more than a line of HTTP holds, whatever they are called. */
const bytesAtOnce = 4_000;
/** Those who were shown longest ago are forgotten, and asked for when they are shown again. */
const mostKnown = 1_000;
/** In milliseconds. Those who are shown together are asked for together. */
const gathering = 100;
/** Who is shown again after this time is asked for again: not every change is told. */
const freshFor = 300_000;
/** Nobody is asked for more often, however often theirs changes. */
const leastPause = 5_000;

interface Person {
  askedAt: number;
  /** When to ask for them; infinite while nothing is to be asked. */
  dueAt: number;
}

/** Who is shown, and when the server has to be asked for their profiles. */
export class ProfileQueue {
  /** The one shown last comes last. */
  private people = new Map<UserId, Person>();

  show(users: UserId[], now: number): void {
    // One that is no id would have the whole request refused.
    for (const user of users.filter((user) => userIdPattern.test(user))) {
      const person = this.people.get(user) ?? { askedAt: -Infinity, dueAt: Infinity };
      if (person.askedAt + freshFor <= now) person.dueAt = Math.min(person.dueAt, now + gathering);
      this.people.delete(user);
      this.people.set(user, person);
    }
    for (const user of this.people.keys()) {
      if (this.people.size <= mostKnown) break;
      this.people.delete(user);
    }
  }

  /** They have another one now. It matters where they are shown. */
  changed(user: UserId | undefined, now: number): void {
    const person = this.people.get(user ?? "");
    if (person) person.dueAt = Math.min(person.dueAt, Math.max(now, person.askedAt + leastPause));
  }

  /** Changes may have been missed, or others can be read now. */
  allChanged(now: number): void {
    for (const user of this.people.keys()) this.changed(user, now);
  }

  /** Those to ask for now. */
  next(now: number): UserId[] {
    const users: UserId[] = [];
    let bytes = 0;
    for (const [user, person] of this.people) {
      if (person.dueAt > now) continue;
      bytes += encodeURIComponent(user).length + 3;
      if (users.length === atOnce || bytes > bytesAtOnce) break;
      users.push(user);
      Object.assign(person, { askedAt: now, dueAt: Infinity });
    }
    return users;
  }

  get wakeAt(): number | undefined {
    const first = Math.min(...[...this.people.values()].map(({ dueAt }) => dueAt));
    return first === Infinity ? undefined : first;
  }
}
