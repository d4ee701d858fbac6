interface FairQueueOptions {
  /** The largest number of tasks that run at once. */
  readonly width: number;
  /** The largest number of tasks of one tenant that run at once. */
  readonly perTenant: number;
}

/** A task that has begun. */
interface Turn<Result> {
  readonly answer: Promise<Result>;
  /** Settles when the task uses its connection no more. That may be after the answer: a deadline does not stop a statement. */
  readonly end: Promise<unknown>;
}

interface Task {
  readonly begin: () => void;
}

/**
 * Shares a few connections between many tenants. Tenants that wait take turns, so that one with much to do, or with slow
 * statements, delays the others by one task and not by all of its tasks.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  /** Tenants with waiting tasks, in the order of their turns. */
  readonly #waiting = new Map<string, Task[]>();
  readonly #running = new Map<string, number>();
  #total = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  /** Runs the task when the tenant's turn comes. Its place is free again at its end. */
  run<Result>(tenant: string, start: () => Turn<Result>): Promise<Result> {
    const { promise, resolve } = Promise.withResolvers<Result>();
    const free = (): void => {
      this.#count(tenant, -1);
      this.#startNext();
    };
    const begin = (): void => {
      this.#count(tenant, 1);
      const { answer, end } = start();
      resolve(answer);
      end.then(free, free);
    };
    const tasks = this.#waiting.get(tenant);
    if (tasks === undefined) this.#waiting.set(tenant, [{ begin }]);
    else tasks.push({ begin });
    this.#startNext();
    return promise;
  }

  /** Starts tasks while places are free. A tenant that got a turn goes to the end. */
  #startNext(): void {
    for (const [tenant, tasks] of this.#waiting) {
      if (this.#total >= this.#options.width) return;
      if ((this.#running.get(tenant) ?? 0) >= this.#options.perTenant) continue;
      const task = tasks.shift();
      this.#waiting.delete(tenant);
      if (tasks.length > 0) this.#waiting.set(tenant, tasks); // a Map visits it again in this loop
      task?.begin();
    }
  }

  #count(tenant: string, change: 1 | -1): void {
    this.#total += change;
    const running = (this.#running.get(tenant) ?? 0) + change;
    if (running === 0) this.#running.delete(tenant);
    else this.#running.set(tenant, running);
  }
}
