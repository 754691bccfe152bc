import type { Random } from "../../../core/backoff.ts";
import { ScriptedServer } from "./requests.ts";
import type { Flaw } from "./flaws.ts";
import type { SimulatedDevice } from "./device.ts";

/**
 * Devices, a network and a server by one seed: requests and frames are late or lost, connections break, tokens expire, the
 * server is overloaded, and pages end between any two transactions and begin again.
 */
export class World {
  readonly random: Random;
  readonly server: ScriptedServer;
  readonly devices: SimulatedDevice[] = [];
  now = 0;
  /** While false, everything arrives. */
  hasFaults = true;
  /** What is wrong with the devices of this run. */
  flaw?: Flaw;
  /** Told what every device does, for the one who looks for the reason of a failure. */
  trace?: (text: string) => void;
  private events: { at: number; number: number; body: () => void | Promise<void> }[] = [];
  private lastNumber = 0;

  constructor(readonly seed: number) {
    this.random = seeded(seed);
    this.server = new ScriptedServer({ logId: this.uuid(), clock: Date.UTC(2026, 2, 7), rooms: {}, users: {} });
  }

  // Time.

  after(delay: number, body: () => void | Promise<void>): void {
    const event = { at: this.now + delay, number: ++this.lastNumber, body };
    const place = this.events.findLastIndex(({ at }) => at <= event.at) + 1;
    this.events.splice(place, 0, event);
  }

  /** Runs what is due within a time. */
  async run(duration: number): Promise<void> {
    const end = this.now + duration;
    while (this.events.length && this.events[0]!.at <= end) {
      const { at, body } = this.events.shift()!;
      this.passTime(at);
      await body();
      this.announce();
      for (const device of this.devices) await device.settled();
    }
    this.passTime(end);
  }

  private passTime(to: number): void {
    this.server.state.clock += Math.max(0, Math.trunc(to) - Math.trunc(this.now));
    this.now = Math.max(this.now, to);
  }

  announce(): void {
    const { announcements } = this.server;
    this.server.announcements = [];
    for (const { user, frame } of announcements) {
      for (const device of this.devices) if (device.user === user) device.push(frame);
    }
  }

  // Chance.

  happens(percent: number): boolean {
    return this.hasFaults && this.random() * 100 < percent;
  }

  between(low: number, high: number): number {
    return low + Math.floor(this.random() * (high - low + 1));
  }

  pick<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.random() * items.length)];
  }

  uuid(): string {
    const digit = () => Math.floor(this.random() * 16).toString(16);
    return "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx".replaceAll("x", digit);
  }

  /** The server's database is restored to an earlier state. */
  restore(backup: string): void {
    const { clock } = this.server.state;
    this.server.state = { ...JSON.parse(backup), logId: this.uuid(), clock: clock + 1_000 };
    this.server.announcements = [];
    for (const device of this.devices) device.breakConnection();
  }
}

/** The same numbers for the same seed. */
export function seeded(seed: number): Random {
  let state = seed * 2_654_435_769 + 1 | 0;
  return () => {
    state = state + 0x6d2b79f5 | 0;
    let mixed = Math.imul(state ^ state >>> 15, 1 | state);
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed;
    return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32;
  };
}
