import { HeddleError } from "../../thread/errors.ts";
import type { Difference } from "./differences.ts";

/**
 * The requests do not match the script. Codes: `script_mismatch` (an unexpected request), `script_exhausted` (no step is
 * left), `script_incomplete` (steps are unused). Test runners show `expected` and `actual` as a diff.
 *
 * @example
 * try {
 *   scriptedModel(["never asked for"]).assertComplete();
 * } catch (error) {
 *   if (!ScriptMismatch.isInstance(error) || error.code !== "script_incomplete") throw error;
 * }
 */
export class ScriptMismatch extends HeddleError {
  static override readonly className: string = "ScriptMismatch";
  /** The number of the request, from 1. */
  declare readonly request?: number;
  /** The number of the step that the message shows, from 1. `differences` has all differences from it. */
  declare readonly step?: number;
  declare readonly differences?: readonly Difference[];
  declare readonly expected?: string;
  declare readonly actual?: string;

  constructor(facts: {
    readonly code: "script_mismatch" | "script_exhausted" | "script_incomplete";
    readonly message: string;
    readonly request?: number;
    readonly step?: number;
    readonly differences?: readonly Difference[];
  }) {
    super(facts);
    const { request, step, differences } = facts;
    if (request !== undefined) this.request = request;
    if (step !== undefined) this.step = step;
    if (differences === undefined) return;
    this.differences = differences;
    this.expected = linesOf(differences, "expected");
    this.actual = linesOf(differences, "actual");
  }
}

/** The script itself is invalid: a mistake in the test. */
export function invalidScript(trouble: string): HeddleError {
  return new HeddleError({ code: "script_invalid", message: `The script cannot be played: ${trouble}.` });
}

function linesOf(differences: readonly Difference[], side: "expected" | "actual"): string {
  return differences.map((difference) => `${difference.at}: ${difference[side]}`).join("\n");
}
