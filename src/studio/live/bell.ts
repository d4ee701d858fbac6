/**
 * A repeating signal to wait for. Read `rung`, look at the state, then call `next` with that number: a ring in between is
 * not missed.
 */
export class Bell {
  readonly #waiting = new Set<() => void>();
  #rung = 0;

  /** How often it has rung so far. */
  get rung(): number {
    return this.#rung;
  }

  get isAlone(): boolean {
    return this.#waiting.size === 0;
  }

  ring(): void {
    this.#rung += 1;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /** Resolves when `rung` is no longer `heard` (default: the current count), or when `signal` is aborted. */
  next(signal: AbortSignal, heard = this.#rung): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener("abort", wake);
        this.#waiting.delete(wake);
        resolve();
      };
      if (signal.aborted || this.#rung !== heard) return resolve();
      this.#waiting.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }
}
