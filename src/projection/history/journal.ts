/** Remembers how to take changes back while something is only tried. */
export class Journal {
  #steps: (() => void)[] | undefined;

  /** Call it with every change, before or after. */
  record(undo: () => void): void {
    this.#steps?.push(undo);
  }

  /** Runs `attempt` and takes back every change it made. */
  tentatively<T>(attempt: () => T): T {
    const steps: (() => void)[] = [];
    this.#steps = steps;
    try {
      return attempt();
    } finally {
      this.#steps = undefined;
      for (const undo of steps.reverse()) undo();
    }
  }
}
