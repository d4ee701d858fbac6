/** Records how to undo changes, so that a tentative change can be reverted. */
export class UndoLog {
  #steps: (() => void)[] | undefined;

  /** Records the reverse of one change. Call it for every change. */
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
