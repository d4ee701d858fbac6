import fc from "fast-check";
import { ProjectionError } from "../../../src/projection/error.ts";
import type { ProjectionInput } from "../../../src/projection/input/input.ts";
import type { Projection } from "../../../src/projection/projection.ts";
import { expectOften } from "../../support/case-budget.ts";
import { anyInput } from "./threads.ts";

export type Project = (input: ProjectionInput) => Projection;

/** What a projection gives; undefined when what has to be shown does not fit or what is pending shows nothing: answers too. */
export function attempt(project: Project, input: ProjectionInput): Projection | undefined {
  try {
    return project(input);
  } catch (error) {
    if (ProjectionError.isInstance(error) && /^(budget_overflow|pending_overflow|invalid_input)$/.test(error.code))
      return undefined;
    throw error;
  }
}

/**
 * Checks a law for random inputs. Fails, too, when too few of them had a projection, or when none of these was cut,
 * summarized or repaired: a law that is never put to the test says nothing.
 */
export function always(
  project: Project,
  check: (projection: Projection, input: ProjectionInput) => void,
  numRuns = 300,
): void {
  const seen = { runs: 0, shown: 0, cut: 0, summarized: 0, unfit: 0, repaired: 0 };
  fc.assert(
    fc.property(anyInput, (input) => {
      seen.runs++;
      const projection = attempt(project, input);
      if (projection === undefined) return;
      const { truncated, summaryUsed, repaired, needsSummaryReason } = projection.meta;
      seen.shown++;
      seen.cut += truncated ? 1 : 0;
      seen.summarized += summaryUsed ? 1 : 0;
      seen.unfit += needsSummaryReason === "summary_too_long" ? 1 : 0;
      seen.repaired += repaired.calls.length > 0 || repaired.standIns > 0 ? 1 : 0;
      check(projection, input);
    }),
    { numRuns },
  );
  expectOften(seen.shown, seen.runs, 1 / 3);
  expectOften(seen.unfit, seen.runs, 1 / 100);
  for (const kind of [seen.cut, seen.summarized, seen.repaired]) expectOften(kind, seen.runs, 1 / 50);
}
