/** Between 0 and 1; a parameter, so that a test can repeat what chance did. */
export type Random = () => number;

/**
 * How long to wait before the next attempt: twice as long after each failure, and never as long as another client, so that
 * clients that failed together do not return together. In milliseconds.
 */
export class Backoff {
  private failures = 0;

  constructor(private first: number, private longest: number, private random: Random) {}

  succeeded(): void {
    this.failures = 0;
  }

  /** The pause after one more failure: at least half of what it could be, and at least what the server asked for. */
  pause(asked?: number): number {
    const whole = Math.min(this.longest, this.first * 2 ** Math.min(this.failures, 20));
    this.failures += 1;
    const pause = whole / 2 * (1 + this.random());
    // Spread as well: everybody was asked to return at the same moment.
    return asked === undefined ? pause : Math.max(pause, asked + asked / 4 * this.random());
  }
}
