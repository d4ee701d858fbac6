import { turnsOfTheLoop } from "../turns.ts";

/** As many threads are locked at most at a time: the server's table of locks is of a fixed size. */
const MOST_JOBS = 256;

/**
 * Gathers the jobs of one turn of the event loop into a batch, and while it is under way those of the next: the busier
 * the process, the more appends share one commit. A single one waits for nobody.
 */
export class GroupCommit<Job> {
  readonly #run: (batch: readonly Job[]) => Promise<void>;
  readonly #waiting: Job[] = [];
  #working: Promise<void> | undefined;

  /** `run` answers its jobs itself and never rejects. */
  constructor(run: (batch: readonly Job[]) => Promise<void>) {
    this.#run = run;
  }

  add(job: Job): void {
    this.#waiting.push(job);
    this.#working ??= this.#work();
  }

  /** Resolves when nothing is waiting or under way. */
  async idle(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      await turnsOfTheLoop(1); // who was answered by the batch before comes back in this one
      await this.#run(this.#waiting.splice(0, MOST_JOBS));
    }
    this.#working = undefined;
  }
}
