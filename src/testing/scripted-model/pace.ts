import type { RuntimePorts } from "../../runtime/ports.ts";

/** Waits that reject with the abort reason. */
export interface Pace {
  readonly wait: (ms: number) => Promise<void>;
  /** Waits until the abort, or forever without one. */
  readonly hang: () => Promise<never>;
  /** The result of the work, unless the abort comes first. */
  readonly race: <Value>(work: Promise<Value>) => Promise<Value>;
}

export function paceOf(after: RuntimePorts["after"], signal: AbortSignal | undefined): Pace {
  /** `start` returns a function that cancels it. */
  function until<Value>(start: (resolve: (value: Value) => void, reject: (error: unknown) => void) => () => void) {
    return new Promise<Value>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      let callOff: (() => void) | undefined;
      const aborted = () => {
        callOff?.();
        reject(signal?.reason);
      };
      const settled = () => signal?.removeEventListener("abort", aborted);
      signal?.addEventListener("abort", aborted, { once: true });
      callOff = start(
        (value) => {
          settled();
          resolve(value);
        },
        (error) => {
          settled();
          reject(error);
        },
      );
    });
  }

  return {
    wait: async (ms) => {
      if (ms > 0) await until<void>((resolve) => after(ms, () => resolve()));
    },
    hang: () => until<never>(() => () => {}),
    race: (work) =>
      until((resolve, reject) => {
        work.then(resolve, reject);
        return () => {};
      }),
  };
}
