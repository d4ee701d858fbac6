/** Timers that end when the test says so: what takes time stands still in between. */
export class HandClock {
  readonly #waiting = new Set<() => void>();
  #passes = 0;

  readonly after = (_ms: number, run: () => void): (() => void) => {
    this.#waiting.add(run);
    queueMicrotask(() => this.#go());
    return () => this.#waiting.delete(run);
  };

  /** So many waits end, those that stand now and those that come. */
  pass(waits: number): void {
    this.#passes += waits;
    this.#go();
  }

  #go(): void {
    for (const run of this.#waiting) {
      if (this.#passes <= 0) return;
      this.#passes -= 1;
      this.#waiting.delete(run);
      run();
    }
  }
}
