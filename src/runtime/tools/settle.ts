import type { RuntimePorts } from "../ports.ts";

/** How a piece of work of somebody else's ended, as far as we waited for it. */
export type Settled<T> =
  | { readonly type: "value"; readonly value: T }
  | { readonly type: "error"; readonly error: unknown }
  | { readonly type: "timeout" }
  | { readonly type: "aborted" };

export interface Limits {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
  /** How long work may take to end by itself once it was aborted; a value it gives by then counts. */
  readonly graceMs: number;
  readonly ports: RuntimePorts;
}

/**
 * Runs work that may do anything: throw, hang, ignore its signal, fail when nobody listens any more. Ends in time, and
 * leaves no timer, no listener and no unhandled rejection behind.
 */
export function settle<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { signal, timeoutMs, graceMs, ports }: Limits,
): Promise<Settled<T>> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve({ type: "aborted" });
    const own = new AbortController();
    let interrupted = false;
    let cancelTimer = ports.after(timeoutMs, () => {
      end({ type: "timeout" });
      own.abort(new DOMException("The tool took too long.", "TimeoutError"));
    });
    const onAbort = (): void => {
      interrupted = true;
      cancelTimer();
      cancelTimer = ports.after(graceMs, () => end({ type: "aborted" }));
      own.abort(signal?.reason);
    };
    const end = (settled: Settled<T>): void => {
      cancelTimer();
      signal?.removeEventListener("abort", onAbort);
      resolve(settled);
    };
    signal?.addEventListener("abort", onAbort);
    Promise.resolve()
      .then(() => work(own.signal))
      .then(
        (value) => end({ type: "value", value }),
        (error: unknown) => end(interrupted ? { type: "aborted" } : { type: "error", error }),
      );
  });
}

/** Waits, unless the signal ends it first. */
export function pause(ms: number, signal: AbortSignal | undefined, ports: RuntimePorts): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const end = (): void => {
      cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const cancel = ports.after(ms, end);
    signal?.addEventListener("abort", end);
  });
}
