import { turnsOfTheLoop } from "../turns.ts";

/** Limits the locks of one transaction, because the server's lock table has a fixed size. */
const MOST_JOBS = 256;

/**
 * Collects the jobs of one event-loop turn into a batch. Jobs that arrive while a batch runs form the next batch, so under
 * load more appends share one commit.
 */
export class GroupCommit<Job> {
  readonly #run: (batch: readonly Job[]) => Promise<void>;
  readonly #waiting: Job[] = [];
  #working: Promise<void> | undefined;

  /** `run` must settle its jobs itself and must not reject. */
  constructor(run: (batch: readonly Job[]) => Promise<void>) {
    this.#run = run;
  }

  add(job: Job): void {
    this.#waiting.push(job);
    this.#working ??= this.#work();
  }

  /** Resolves when no job is waiting or running. */
  async idle(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      await turnsOfTheLoop(1); // callers of the previous batch can join this one
      await this.#run(this.#waiting.splice(0, MOST_JOBS));
    }
    this.#working = undefined;
  }
}
