/**
 * Properties and simulations run for a fixed time, which is CPU time of their thread: on a busy machine they run as many
 * cases as on an idle one. `HEDDLE_SOAK=1` gives every one its full count.
 */
import fc from "fast-check";
import { expect, TestRunner } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** How many cases each property or simulation of the test ran. `tests/support/case-reporter.ts` sums them up. */
    cases?: number[];
  }
}

export const isSoak: boolean = process.env["HEDDLE_SOAK"] === "1";

const MIN_CASES = 20;
const CPU_MS = process.env["HEDDLE_MUTATE_TESTS"] === undefined ? 30 : 20;

/** Answers whether there is time for one more case. */
function caseBudget(): (cases: number) => boolean {
  const start = cpuNow();
  return (cases) => isSoak || cases < MIN_CASES || cpuNow() - start < CPU_MS;
}

/** `process.threadCpuUsage` is new in Node 23.9. */
function cpuNow(): number {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage();
  return (user + system) / 1000;
}

export function reportCases(cases: number): void {
  const test = TestRunner.getCurrentTest();
  if (test === undefined) return;
  test.meta.cases ??= [];
  test.meta.cases.push(cases);
}

/** Runs a numbered case again and again: 20 times at least, `most` times in a soak. Resolves to how often it ran. */
export async function runCases(most: number, run: (index: number) => Promise<unknown>): Promise<number> {
  const hasTime = caseBudget();
  let cases = 0;
  for (; cases < most && hasTime(cases); cases++) await run(cases);
  reportCases(cases);
  return cases;
}

/**
 * Fails if something was seen less often than in this share of the cases: a property that is never put to the test says
 * nothing. A run with a budget has few cases, so there only what chance cannot explain fails.
 */
export function expectOften(seen: number, cases: number, share: number, what?: string): void {
  const wanted = cases * share;
  expect(seen, what).toBeGreaterThan(isSoak ? wanted : wanted / 4 - 4 * Math.sqrt(wanted));
}

/** A process has one fast-check. A test that resets the modules loads this file again, but not fast-check. */
const INSTALLED = Symbol.for("heddle.tests.case-budget");
if (!Object.hasOwn(globalThis, INSTALLED)) {
  Object.defineProperty(globalThis, INSTALLED, { value: true });
  fc.installGlobalPlugin(budgetPlugin);
}

/** `numRuns` of a property is its count in a soak; here it is the most that the budget is spent on. */
function budgetPlugin(): ReturnType<Parameters<typeof fc.installGlobalPlugin>[0]> {
  const hasTime = caseBudget();
  let cases = 0;
  let hasFailed = false; // from then on the runner looks for a smaller case, which takes the time it takes
  const stop = new fc.PreconditionFailure(true);
  return {
    decorateRun: (run) => (value) => {
      if (!hasFailed && !hasTime(cases)) return stop;
      const result = run(value);
      return result !== null && "then" in result ? result.then(counted) : counted(result);
    },
    onAllRunsComplete: ({ numRuns }) => reportCases(numRuns),
  };

  function counted<Result extends Awaited<ReturnType<Parameters<typeof fc.assert>[0]["run"]>>>(result: Result): Result {
    if (result === null) cases += 1;
    else if (!fc.PreconditionFailure.isFailure(result)) hasFailed = true;
    return result;
  }
}
