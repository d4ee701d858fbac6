/** An undo log for tentative changes. */
export class Journal {
  #steps: (() => void)[] | undefined;

  /** Call this for every change, before or after it. */
  record(undo: () => void): void {
    this.#steps?.push(undo);
  }

  /** Runs `attempt` and then undoes every change it made. */
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
