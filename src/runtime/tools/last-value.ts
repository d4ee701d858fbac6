import type { RuntimePorts } from "../ports.ts";

/** A generator that never waits would keep every timer from firing, its own timeout too. */
const BREATHE_EVERY = 256;

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** The last value of a generator; what it returns counts when it yields nothing. An aborted one is told to return. */
export async function lastValue(
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
  let last: unknown;
  for (let count = 0; ; ) {
    const { done, value } = await iterator.next();
    signal.throwIfAborted();
    if (done === true) {
      signal.removeEventListener("abort", close);
      return count === 0 ? value : last;
    }
    last = value;
    onValue();
    if (++count % BREATHE_EVERY === 0) await new Promise<void>((resolve) => ports.after(0, resolve));
  }
}
