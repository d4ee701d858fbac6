import { median, percentile } from "./statistics.ts";

/** Some operations, timed together and, where one is long enough to be timed, each by itself. */
export interface Lap {
  readonly operations: number;
  readonly ms: number;
  /** Milliseconds of each operation; empty when only the whole was timed. */
  readonly each: readonly number[];
}

/** One operation after another, each timed. */
export async function oneByOne(operations: number, operate: (index: number) => unknown): Promise<Lap> {
  const each: number[] = [];
  const started = performance.now();
  for (let index = 0; index < operations; index += 1) {
    const before = performance.now();
    await operate(index);
    each.push(performance.now() - before);
  }
  return { operations, ms: performance.now() - started, each };
}

/** Too short to be timed one by one: the whole loop is timed, and it does not await. */
export function together(operations: number, operate: (index: number) => unknown): Lap {
  const started = performance.now();
  for (let index = 0; index < operations; index += 1) operate(index);
  return { operations, ms: performance.now() - started, each: [] };
}

/** Many workers at once, each doing its operations one after another; an operation's time includes its waiting. */
export async function atOnce(
  workers: number,
  operations: number,
  operate: (worker: number, index: number) => Promise<unknown>,
): Promise<Lap> {
  const each: number[] = [];
  const started = performance.now();
  await Promise.all(
    Array.from({ length: workers }, async (_, worker) => {
      for (let index = 0; index < operations; index += 1) {
        const before = performance.now();
        await operate(worker, index);
        each.push(performance.now() - before);
      }
    }),
  );
  return { operations: workers * operations, ms: performance.now() - started, each };
}

/** Statistics over the laps of one contender. Times are in milliseconds. */
export class Result {
  readonly laps: readonly Lap[];

  constructor(laps: readonly Lap[]) {
    this.laps = laps;
  }

  /** Per operation, lap by lap. */
  get pace(): readonly number[] {
    return this.laps.map(({ ms, operations }) => ms / operations);
  }

  /** Time of one operation in the median lap. */
  get perOperation(): number {
    return median(this.pace);
  }

  get perSecond(): number {
    return 1000 / this.perOperation;
  }

  get p50(): number {
    return percentile(this.#each, 0.5);
  }

  get p99(): number {
    return percentile(this.#each, 0.99);
  }

  /** How many times as long as `baseline` an operation takes: the median of the rounds, each compared within itself. */
  over(baseline: Result): number {
    return median(this.pace.map((pace, round) => pace / (baseline.pace[round] ?? Number.NaN)));
  }

  /** The same with the median operation of each lap: for what costs the same every time, so that a pause does not count. */
  medianOver(baseline: Result): number {
    const medians = (result: Result) => result.laps.map(({ each }) => median(each));
    const baselines = medians(baseline);
    return median(medians(this).map((ms, round) => ms / (baselines[round] ?? Number.NaN)));
  }

  get #each(): number[] {
    return this.laps.flatMap(({ each }) => each);
  }
}
