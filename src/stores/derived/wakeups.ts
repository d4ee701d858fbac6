/** Lets waiting readers look again at once when something was written, instead of at the next poll. */
export class Wakeups {
  readonly #waiting = new Set<() => void>();
  #count = 0;

  /** How many wakes there were: taken before looking, it tells `wait` of one that came meanwhile. */
  get count(): number {
    return this.#count;
  }

  wake(): void {
    this.#count++;
    for (const resolve of this.#waiting) resolve();
  }

  /** Resolves at the first wake after the `seen` ones, after `ms`, or when a signal aborts, whichever comes first. */
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
