import { type Difference, differencesOf } from "./differences.ts";
import { ScriptMismatch } from "./errors.ts";
import type { Step } from "./parse.ts";
import type { ScriptedRequest } from "./request.ts";
import { showEnd, showPair } from "./show.ts";

/** Which step answers a request: the next one, or the first that matches. */
export type ScriptOrder = "strict" | "any";

interface Candidate {
  readonly step: Step;
  readonly differences: readonly Difference[];
}

/** The unused step that answers, or an error that shows the nearest one. */
export function choose(
  unused: readonly Step[],
  total: number,
  order: ScriptOrder,
  request: ScriptedRequest,
): Step | ScriptMismatch {
  const due = unused[0];
  if (due === undefined) return exhausted(total, request);
  const tried = order === "any" ? unused : [due];
  for (const step of tried) if (differencesOf(step.expect, request).length === 0) return step;
  return mismatch(unused, due, total, order, request);
}

function mismatch(
  unused: readonly Step[],
  due: Step,
  total: number,
  order: ScriptOrder,
  request: ScriptedRequest,
): ScriptMismatch {
  const candidates = unused
    .map((step): Candidate => ({ step, differences: differencesOf(step.expect, request) }))
    .filter(({ step, differences }) => differences.length > 0 || Object.keys(step.expect).length > 0);
  const best = Math.min(...candidates.map(({ differences }) => differences.length));
  const nearest = candidates.find(({ differences }) => differences.length === best);
  const misses = candidates.find(({ differences }) => differences.length > 0); // at least the due step does
  const fits = nearest !== undefined && nearest.differences.length === 0;
  const shown = fits ? misses : nearest;
  const { step = due, differences = [] } = shown ?? {};
  const of = `step ${step.number} of ${total}`;
  const wanted =
    order === "any"
      ? `matches none of the ${unused.length} unused steps of the script. Nearest is ${of}`
      : step === due
        ? `is not what ${of} expects`
        : `is not what step ${due.number} of ${total} expects. Nearest is step ${step.number}`;
  const message = [
    `Request ${request.number} ${wanted}; ${firstOf(differences)}`,
    ...(fits
      ? [`Step ${nearest.step.number} expects just this: when requests come in any order, pass order: "any".`]
      : []),
  ].join("\n");
  return new ScriptMismatch({
    code: "script_mismatch",
    message,
    request: request.number,
    step: step.number,
    differences,
  });
}

function exhausted(total: number, request: ScriptedRequest): ScriptMismatch {
  const steps = total === 1 ? "The only step of the script is" : `All ${total} steps of the script are`;
  return new ScriptMismatch({
    code: "script_exhausted",
    message: `${steps} used, and request ${request.number} came. ${showEnd(request)}\nAdd a step for it, or find out why the model was asked once more.`,
    request: request.number,
  });
}

function firstOf(differences: readonly Difference[]): string {
  const [first] = differences;
  if (first === undefined) return "";
  const [expected, actual] = showPair(first.expected, first.actual);
  const count = differences.length === 1 ? "one difference, in" : `${differences.length} differences, the first in`;
  return `${count} ${first.at}:\n  expected  ${expected}\n  actual    ${actual}`;
}
