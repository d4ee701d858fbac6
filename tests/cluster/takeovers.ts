// How long the threads of a killed node wait for another one.
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { onTestFinished } from "vitest";

interface Left {
  readonly thread: string;
  readonly epoch: number;
}

const LOOK_MS = 20;

/** Reads the claims of a database directly. Time in which the database is down is not counted. */
export class Takeovers {
  readonly #sql: postgres.Sql;
  readonly #tenant: string;
  readonly #watching: Promise<void>[] = [];
  readonly #times: number[] = [];
  #isDown = false;

  constructor(url: string, tenant: string) {
    this.#sql = postgres(url, { max: 2, onnotice: () => undefined });
    this.#tenant = tenant;
    onTestFinished(() => this.#sql.end({ timeout: 1 }));
  }

  /** A node with this name was killed. */
  died(holder: string): void {
    this.#watching.push(this.#watch(holder));
  }

  /** The database is down until the work ends. */
  async down(work: () => Promise<void>): Promise<void> {
    this.#isDown = true;
    await work();
    this.#isDown = false;
  }

  /** How long each thread waited, in milliseconds, in order. */
  async times(): Promise<readonly number[]> {
    await Promise.all(this.#watching);
    return this.#times.toSorted((a, b) => a - b);
  }

  async #watch(holder: string): Promise<void> {
    let left = await this.#read<Left>(
      () => this.#sql`
        select c.thread, c.epoch from heddle.claims c join heddle.runnable r on r.tenant = c.tenant and r.thread = c.thread
        where c.tenant = ${this.#tenant} and c.holder = ${holder} and c.until <> 0
          and r.due_at <= extract(epoch from clock_timestamp()) * 1000`,
    );
    let waited = 0;
    while (left.length > 0) {
      const before = performance.now();
      await sleep(LOOK_MS);
      const wasDown = this.#isDown;
      const ids = left.map(({ thread }) => thread);
      const now = await this.#read<Left & { readonly isDue: boolean }>(
        () => this.#sql`
          select c.thread, c.epoch, r.due_at is not null as "isDue"
          from heddle.claims c join heddle.runnable r on r.tenant = c.tenant and r.thread = c.thread
          where c.tenant = ${this.#tenant} and c.thread = any(${ids}::text[])`,
      );
      if (!wasDown && !this.#isDown) waited += performance.now() - before;
      const epochs = new Map(left.map(({ thread, epoch }) => [thread, Number(epoch)]));
      const isTaken = ({ thread, epoch }: Left): boolean => Number(epoch) > (epochs.get(thread) ?? 0);
      this.#times.push(...now.filter(isTaken).map(() => waited));
      const waiting = new Set(now.filter((one) => !isTaken(one) && one.isDue).map(({ thread }) => thread));
      left = left.filter(({ thread }) => waiting.has(thread));
    }
  }

  async #read<Row>(query: () => PromiseLike<readonly unknown[]>): Promise<readonly Row[]> {
    for (;;) {
      try {
        return (await query()) as readonly Row[]; // the query selects these columns
      } catch {
        await sleep(LOOK_MS); // the database is down
      }
    }
  }
}
