/**
 * Property tests of one run share one seed. A failure prints it; `HEDDLE_SEED=<seed>` replays the run.
 * Tests use `fc.assert(fc.property(...))` as usual and need not know this file.
 */
import fc from "fast-check";
import "./case-budget.ts";

const asked = process.env["HEDDLE_SEED"];
const seed = asked === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(asked);
if (!Number.isInteger(seed)) throw new Error(`HEDDLE_SEED must be a whole number, got "${asked}".`);

fc.configureGlobal({
  seed,
  // A mutant is killed by any failing case; looking for the smallest one takes minutes.
  endOnFailure: process.env["HEDDLE_MUTATE_TESTS"] !== undefined,
  reporter(run) {
    if (!run.failed) return;
    const message = fc.defaultReportMessage(run);
    throw new Error(`${message}\n\nReplay this run: HEDDLE_SEED=${run.seed} npx vitest run <test file>`, {
      cause: run.errorInstance,
    });
  },
});
