import type { RuntimePorts } from "./ports.ts";

/** Timers by name: setting one again replaces it. */
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
