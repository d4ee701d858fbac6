import type { RuntimePorts } from "../ports.ts";

/** A generator that never waits would keep every timer from firing, its own timeout too. */
const BREATHE_EVERY = 256;

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  if (typeof value !== "object" || value === null) return false;
  try {
    return Symbol.asyncIterator in value;
  } catch {
    return false; // a proxy whose traps throw: the conversion says that the tool ran
  }
}

/** The values of a generator, as far as it came. */
export class Outputs {
  /** The last output so far; absent when there was none. */
  last: { readonly value: unknown } | undefined;

  /**
   * The last value that is yielded; what is returned counts when nothing is. A generator that is stopped is told to return,
   * and what it returns by itself is its last output.
   */
  async of(
    values: AsyncIterable<unknown>,
    signal: AbortSignal,
    ports: RuntimePorts,
    onValue: () => void,
  ): Promise<unknown> {
    const iterator = values[Symbol.asyncIterator]();
    const close = (): void => {
      Promise.resolve()
        .then(() => iterator.return?.())
        .catch(() => undefined); // nobody waits for it any more
    };
    signal.addEventListener("abort", close, { once: true });
    for (let count = 0; ; ) {
      const { done, value } = await iterator.next();
      if (done === true) {
        signal.removeEventListener("abort", close);
        const isOutput = signal.aborted ? value !== undefined : count === 0;
        if (isOutput) this.last = { value };
        if (this.last === undefined) signal.throwIfAborted();
        return this.last?.value;
      }
      this.last = { value };
      onValue();
      signal.throwIfAborted(); // it has been told to return
      if (++count % BREATHE_EVERY === 0) await new Promise<void>((resolve) => ports.after(0, resolve));
    }
  }
}
