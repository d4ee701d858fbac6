/** Something to wait for that happens again and again. Look first, then wait: what happens in between is not missed. */
export class Bell {
  readonly #waiting = new Set<() => void>();
  #rung = 0;

  /** How often it has rung. */
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

  /** Resolves at the next ring after the first `heard` ones, or when `signal` is aborted. */
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
