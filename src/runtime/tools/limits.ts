import { ToolError } from "../../agent/definition/errors.ts";
import type { RuntimePorts } from "../ports.ts";

/** Why work was stopped. */
export type StopReason = "cancelled" | "timed_out";

/** The result of `runLimited`. */
export type LimitedResult<T> =
  /** `stopped`: the work was stopped before it returned its value. */
  | { readonly type: "value"; readonly value: T; readonly stopped?: StopReason }
  | { readonly type: "error"; readonly error: unknown }
  | { readonly type: "timeout" }
  | { readonly type: "aborted" };

export interface WorkLimits {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
  /** How long stopped work may take to end. A value that it returns in this time counts. */
  readonly graceMs: number;
  readonly ports: RuntimePorts;
}

/**
 * Runs work with a time limit. The work may throw, hang, ignore its signal, or fail after the limit. The result comes in
 * time, and no timer, listener or unhandled rejection remains.
 */
export function runLimited<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { signal, timeoutMs, graceMs, ports }: WorkLimits,
): Promise<LimitedResult<T>> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve({ type: "aborted" });
    const own = new AbortController();
    let stopped: StopReason | undefined;
    const stop = (why: StopReason, reason: unknown): void => {
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
    const end = (result: LimitedResult<T>): void => {
      cancelTimer();
      signal?.removeEventListener("abort", onAbort);
      resolve(result);
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

function withoutValue(why: StopReason): { readonly type: "timeout" | "aborted" } {
  return { type: why === "timed_out" ? "timeout" : "aborted" };
}

/**
 * Places for so many works at once. The limit may change; work that runs is never stopped. They are over when `over` aborts.
 *
 * @example
 * const two = new Places(() => 2);
 * const squares = await Promise.all([1, 2, 3].map((n) => two.run(async () => n * n)));
 */
export class Places {
  readonly #limit: () => number;
  readonly #over: AbortSignal | undefined;
  readonly #waiting = new Set<(hasPlace: boolean) => void>();
  #running = 0;

  constructor(limit: () => number, over?: AbortSignal) {
    this.#limit = limit;
    this.#over = over;
    over?.addEventListener("abort", () => {
      for (const enter of this.#waiting) enter(false);
      this.#waiting.clear();
    });
  }

  /** The number of works that run. */
  get running(): number {
    return this.#running;
  }

  /** The number of works that wait for a place. */
  get waiting(): number {
    return this.#waiting.size;
  }

  get isOver(): boolean {
    return this.#over?.aborted === true;
  }

  /**
   * Starts the work when a place is free. Works that wait get their places in the order of the calls. When the signal aborts, or
   * the places are over, the work starts without a place.
   */
  async run<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    let hasPlace = this.#running < this.#limit();
    if (hasPlace) this.#running++;
    else hasPlace = await this.#turn(signal);
    try {
      return await work();
    } finally {
      if (hasPlace) this.#running--;
      this.grown();
    }
  }

  /** The limit has grown, or a place is free: the works that have waited longest may start. */
  grown(): void {
    for (const enter of this.#waiting) {
      if (this.#running >= this.#limit()) return;
      this.#waiting.delete(enter);
      this.#running++;
      enter(true);
    }
  }

  /** Resolves with a place, or without one when the signal aborts. */
  #turn(signal: AbortSignal | undefined): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const giveUp = (): void => void (this.#waiting.delete(resolve) && resolve(false));
    this.#waiting.add(resolve);
    if (signal?.aborted) giveUp();
    signal?.addEventListener("abort", giveUp, { once: true });
    return promise.finally(() => signal?.removeEventListener("abort", giveUp));
  }
}

/** The places of the tool calls of a thread. */
export interface ToolPool extends Pick<Places, "run"> {
  /** The turns of calls that must not run at once. */
  readonly exclusive: ExclusiveQueue;
}

/** Places for tool calls, four by default. */
export function toolPool({ concurrency = 4 }: { readonly concurrency?: number } = {}): ToolPool {
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    const message = "concurrency must be an integer from 1.";
    throw new ToolError({ code: "invalid_options", message, path: "concurrency" });
  }
  const places = new Places(() => concurrency);
  return { exclusive: new ExclusiveQueue(), run: (work, signal) => places.run(work, signal) };
}

/** Lets the work of one key run one after the other, in the order of the calls. Work of other keys runs at the same time. */
class ExclusiveQueue {
  /** The end of the last work of each key. Keys are computed one at a time, so that a slow key does not change the order. */
  readonly #last = new Map<string | undefined, Promise<unknown>>();

  /** `keyOf` must not fail. Without a key the work runs at once. */
  async run<Result>(keyOf: () => Promise<string | undefined>, work: () => Promise<Result>): Promise<Result> {
    const end = Promise.withResolvers<void>();
    const entered = (this.#last.get(undefined) ?? Promise.resolve()).then(async () => {
      const key = await keyOf();
      if (key === undefined) return undefined;
      const before = this.#last.get(key);
      this.#last.set(key, end.promise);
      return { key, before };
    });
    this.#last.set(undefined, entered);
    const place = await entered;
    if (place === undefined) return work();
    await place.before;
    try {
      return await work();
    } finally {
      if (this.#last.get(place.key) === end.promise) this.#last.delete(place.key);
      end.resolve();
    }
  }
}
