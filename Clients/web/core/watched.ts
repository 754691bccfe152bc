import type { Watched } from "./client.ts";

/** A value that changes, for those who set it. */
export class Emitter<Value> implements Watched<Value> {
  private listeners = new Set<(value: Value) => void>();

  /** `whenIdle` is told when the last listener has gone. */
  constructor(private current: Value, private isKnown = true, private whenIdle?: () => void) {}

  get value(): Value {
    return this.current;
  }

  set(value: Value): void {
    if (this.isKnown && value === this.current) return;
    this.current = value;
    this.isKnown = true;
    for (const listener of [...this.listeners]) listener(value);
  }

  subscribe(listener: (value: Value) => void): () => void {
    this.listeners.add(listener);
    if (this.isKnown) listener(this.current);
    return () => {
      if (this.listeners.delete(listener) && !this.listeners.size) this.whenIdle?.();
    };
  }
}
