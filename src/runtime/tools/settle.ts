import type { RuntimePorts } from "../ports.ts";

/** Why work was told to stop. */
export type Stopped = "cancelled" | "timed_out";

/** How a piece of work of somebody else's ended, as far as we waited for it. */
export type Settled<T> =
  /** `stopped`: it was told to stop before it gave its value. */
  | { readonly type: "value"; readonly value: T; readonly stopped?: Stopped }
  | { readonly type: "error"; readonly error: unknown }
  | { readonly type: "timeout" }
  | { readonly type: "aborted" };

export interface Limits {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
  /** How long work may take to end by itself once it was stopped, by an abort or its timeout; a value it gives by then counts. */
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
    let stopped: Stopped | undefined;
    const stop = (why: Stopped, reason: unknown): void => {
      if (stopped !== undefined) return;
      stopped = why;
      cancelTimer();
      cancelTimer = ports.after(graceMs, () => end(withoutValue(why)));
      own.abort(reason);
    };
    let cancelTimer = ports.after(timeoutMs, () => {
      stop("timed_out", new DOMException("The tool took too long.", "TimeoutError"));
    });
    const onAbort = (): void => stop("cancelled", signal?.reason);
    const end = (settled: Settled<T>): void => {
      cancelTimer();
      signal?.removeEventListener("abort", onAbort);
      resolve(settled);
    };
    signal?.addEventListener("abort", onAbort);
    Promise.resolve()
      .then(() => work(own.signal))
      .then(
        (value) => end({ type: "value", value, ...(stopped && { stopped }) }),
        (error: unknown) => end(stopped === undefined ? { type: "error", error } : withoutValue(stopped)),
      );
  });
}

function withoutValue(why: Stopped): { readonly type: "timeout" | "aborted" } {
  return { type: why === "timed_out" ? "timeout" : "aborted" };
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
