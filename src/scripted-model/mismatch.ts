import { HeddleError } from "../thread/errors.ts";
import { sameJson } from "../thread/json.ts";
import { type RequestMessage, type ScriptedRequest, snapshot } from "./request.ts";
import type { Expectation, ExpectedMessage, Step, TextMatch } from "./script.ts";

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
  /** The number, from 1, of the script step named in the error message. `differences` lists how the request differs from that step. */
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

function linesOf(differences: readonly Difference[], side: "expected" | "actual"): string {
  return differences.map((difference) => `${difference.at}: ${difference[side]}`).join("\n");
}

/** Which step of the script answers a request. "strict": the next one. "any": the first unused one that matches. */
export type ScriptOrder = "strict" | "any";

interface Candidate {
  readonly step: Step;
  readonly differences: readonly Difference[];
}

/**
 * Returns the unused step that answers the request. Throws an error that shows the most similar step if none matches.
 */
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
  const misses = candidates.find(({ differences }) => differences.length > 0); // in strict order, the next step is a candidate and has differences
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

/** A difference between a request and an expectation. */
export interface Difference {
  /** The part of the request, such as `system`, `tools` or `messages[2]`. */
  readonly at: string;
  readonly expected: string;
  readonly actual: string;
}

/** Lists all differences, in the order of the prompt. An empty list is a match. */
function differencesOf(expectation: Expectation, request: ScriptedRequest): readonly Difference[] {
  const { system, tools, messages, endsWith, lastUser, where } = expectation;
  return [
    ...textDifference("system", system, request.system),
    ...(tools === undefined ? [] : toolDifference(tools, request.tools)),
    ...(messages === undefined ? [] : messageDifferences(messages, request.messages, 0)),
    ...(endsWith === undefined
      ? []
      : messageDifferences(endsWith, request.messages, request.messages.length - endsWith.length)),
    ...textDifference("the last user message", lastUser, request.lastUser),
    ...(where === undefined ? [] : whereDifference(where, request)),
  ];
}

function textDifference(at: string, expected: TextMatch | undefined, actual: string): readonly Difference[] {
  if (expected === undefined || textMatches(expected, actual)) return [];
  return [{ at, expected: showValue(expected), actual: showValue(actual) }];
}

function toolDifference(wanted: readonly string[], offered: readonly string[]): readonly Difference[] {
  const [expected, actual] = [wanted, offered].map((names) => names.toSorted().join(", ") || "none");
  return expected === undefined || actual === undefined || expected === actual
    ? []
    : [{ at: "tools", expected, actual }];
}

/** Compares message by message. `from` is the index of the first compared message; negative counts from the end. */
function messageDifferences(
  expected: readonly ExpectedMessage[],
  actual: readonly RequestMessage[],
  from: number,
): readonly Difference[] {
  const length = Math.max(expected.length, actual.length - from);
  return Array.from({ length }, (_, index) => index).flatMap((index) => {
    const wanted = expected[index];
    const found = actual[from + index];
    if (wanted !== undefined && found !== undefined && messageMatches(wanted, found)) return [];
    return [
      {
        at: `messages[${from + index}]`,
        expected: wanted === undefined ? "no message" : showMessage(wanted),
        actual: found === undefined ? "no message" : showMessage(found),
      },
    ];
  });
}

function whereDifference(where: NonNullable<Expectation["where"]>, request: ScriptedRequest): readonly Difference[] {
  const name = where.name === "" || where.name === "where" || where.name === "expect" ? "the predicate" : where.name;
  try {
    return where(request) ? [] : [{ at: "where", expected: `${name} holds`, actual: "it does not" }];
  } catch (error) {
    return [{ at: "where", expected: `${name} holds`, actual: `it threw ${String(error)}` }];
  }
}

function messageMatches(expected: ExpectedMessage, actual: RequestMessage): boolean {
  const { role, text, thinking, calls, results, files } = expected;
  return (
    (role === undefined || role === actual.role) &&
    (text === undefined || textMatches(text, actual.text ?? "")) &&
    (thinking === undefined || textMatches(thinking, actual.thinking ?? "")) &&
    (calls === undefined || everyMatches(calls, actual.calls ?? [])) &&
    (results === undefined || everyMatches(results, actual.results ?? [])) &&
    (files === undefined || sameJson(files, actual.files ?? []))
  );
}

function everyMatches(expected: readonly object[], actual: readonly object[]): boolean {
  return expected.length === actual.length && expected.every((item, index) => fieldsMatch(item, actual[index] ?? {}));
}

/** Compares only the fields in `expected`. `isError: false` equals an absent field. */
function fieldsMatch(expected: object, actual: object): boolean {
  return Object.entries(expected).every(([field, wanted]: [string, unknown]) => {
    const found: unknown = Reflect.get(actual, field);
    if (wanted === undefined) return true;
    if (wanted instanceof RegExp) return textMatches(wanted, typeof found === "string" ? found : showValue(found));
    if (field === "isError") return wanted === (found ?? false);
    return sameJson(snapshot(wanted), snapshot(found));
  });
}

function textMatches(expected: TextMatch, actual: string): boolean {
  // `search` ignores lastIndex, so a pattern with the flag g gives the same result each time.
  return typeof expected === "string" ? expected === actual : actual.search(expected) >= 0;
}

/** How many equal characters are shown before the first difference. */
const LEAD = 30;
const LONGEST = 160;

/** Shows a message in one line. */
function showMessage(message: RequestMessage | ExpectedMessage): string {
  const { role = "any role", text, thinking, calls, results, files } = message;
  return [
    role,
    ...(thinking === undefined ? [] : [`thinking ${showValue(thinking)}`]),
    ...(text === undefined ? [] : [showValue(text)]),
    ...(calls === undefined ? [] : [showList("calls", calls.map(showCall))]),
    ...(results === undefined ? [] : [showList("results", results.map(showResult))]),
    ...(files === undefined ? [] : [showList("files", files)]),
  ].join(" ");
}

function showValue(value: unknown): string {
  return value instanceof RegExp ? String(value) : (JSON.stringify(value) ?? "undefined");
}

/** Shows the last message of a request, so that the reader can identify the request. */
function showEnd({ messages }: ScriptedRequest): string {
  const last = messages.at(-1);
  return last === undefined ? "It has no messages." : `It ends with ${cut(showMessage(last))}`;
}

/** Shortens two lines around their first difference. */
function showPair(expected: string, actual: string): readonly [string, string] {
  let same = 0;
  while (same < expected.length && expected[same] === actual[same]) same++;
  const from = Math.max(expected.length, actual.length) <= LONGEST ? 0 : Math.max(0, same - LEAD);
  return [cut(expected, from), cut(actual, from)];
}

function cut(line: string, from = 0): string {
  const end = from + LONGEST;
  const piece = `${from > 0 ? "…" : ""}${line.slice(from, end)}${line.length > end ? "…" : ""}`;
  return piece.toWellFormed(); // replaces a surrogate half at the cut
}

function showCall(call: NonNullable<ExpectedMessage["calls"]>[number]): string {
  const { id, name = "any tool" } = call;
  const input = call.arguments === undefined ? "" : ` ${showValue(call.arguments)}`;
  return `${name}${input}${id === undefined ? "" : ` #${id}`}`;
}

function showResult(result: NonNullable<ExpectedMessage["results"]>[number]): string {
  const { id, name = "any tool", value, isError } = result;
  const sign = isError === true ? "failed with" : "=";
  return `${name}${value === undefined ? "" : ` ${sign} ${showValue(value)}`}${id === undefined ? "" : ` #${id}`}`;
}

function showList(word: string, items: readonly string[]): string {
  return items.length === 0 ? `no ${word}` : `${word} ${items.join(", ")}`;
}
