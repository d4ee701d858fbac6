import type { RuntimePorts } from "./ports.ts";

/** Timers by name. Setting a timer again replaces it; undefined cancels it. */
export class Timers<Name> {
  readonly #ports: Pick<RuntimePorts, "after" | "clock">;
  readonly #fire: (name: Name) => void;
  readonly #cancel = new Map<Name, () => void>();

  constructor(ports: Pick<RuntimePorts, "after" | "clock">, fire: (name: Name) => void) {
    this.#ports = ports;
    this.#fire = fire;
  }

  /** `at`: a time by the clock, instead of `ms` from now. For a time that is far away the timer fires earlier. */
  set({ name, ms, at }: { readonly name: Name; readonly ms: number | undefined; readonly at?: number }): void {
    this.#cancel.get(name)?.();
    this.#cancel.delete(name);
    const { after, clock } = this.#ports;
    const wait = at === undefined ? ms : Math.max(0, at - clock());
    if (wait === undefined) return;
    const fire = (): void => {
      this.#cancel.delete(name);
      this.#fire(name);
    };
    this.#cancel.set(name, after(wait, fire));
  }

  get isEmpty(): boolean {
    return this.#cancel.size === 0;
  }

  clear(): void {
    for (const cancel of this.#cancel.values()) cancel();
    this.#cancel.clear();
  }
}

/** Aborted when one of these is. */
export function signalOf(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== undefined));
}

/** Waits for so many milliseconds, or until the signal is aborted. */
export async function pause({ after }: Pick<RuntimePorts, "after">, ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = after(ms, resolve);
  const end = (): void => resolve();
  if (signal?.aborted) end();
  signal?.addEventListener("abort", end, { once: true });
  await promise;
  cancel();
  signal?.removeEventListener("abort", end);
}
