import type { RuntimePorts } from "./ports.ts";

/** Timers by name. Setting a timer again replaces it; undefined cancels it. */
export class Timers<Name extends string> {
  readonly #after: RuntimePorts["after"];
  readonly #fire: (name: Name) => void;
  readonly #cancel = new Map<Name, () => void>();

  constructor(after: RuntimePorts["after"], fire: (name: Name) => void) {
    this.#after = after;
    this.#fire = fire;
  }

  set(name: Name, ms: number | undefined): void {
    this.#cancel.get(name)?.();
    this.#cancel.delete(name);
    if (ms === undefined) return;
    const fire = (): void => {
      this.#cancel.delete(name);
      this.#fire(name);
    };
    this.#cancel.set(name, this.#after(ms, fire));
  }

  clear(): void {
    for (const cancel of this.#cancel.values()) cancel();
    this.#cancel.clear();
  }
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
