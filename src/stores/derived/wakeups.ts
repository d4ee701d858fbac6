/** Wakes waiting readers after a write, so that they do not wait for the next poll. */
export class Wakeups {
  readonly #waiting = new Set<() => void>();
  #count = 0;

  /** The number of wake-ups so far. Read it before a query and pass it to `wait`, so that no wake-up is missed. */
  get count(): number {
    return this.#count;
  }

  wake(): void {
    this.#count++;
    for (const resolve of this.#waiting) resolve();
  }

  /** Resolves at the first wake-up after number `seen`, after `ms`, or when a signal aborts. */
  async wait(seen: number, ms: number, signals: readonly (AbortSignal | undefined)[]): Promise<void> {
    if (seen !== this.#count) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const over = new AbortController();
    const timer = setTimeout(resolve, ms);
    this.#waiting.add(resolve);
    for (const signal of signals) signal?.addEventListener("abort", () => resolve(), { signal: over.signal });
    if (signals.some((signal) => signal?.aborted)) resolve();
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
    over.abort();
  }
}
