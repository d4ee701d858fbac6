import { sameJson } from "../../thread/json.ts";
import type { AskedMessage, ScriptedRequest } from "./request.ts";
import type { Expectation, ExpectedMessage, TextMatch } from "./script.ts";
import { showMessage, showValue } from "./show.ts";
import { snapshot } from "./snapshot.ts";

/** A difference between a request and an expectation. */
export interface Difference {
  /** Such as `system`, `tools` or `messages[2]`, which is a place in the request's messages. */
  readonly at: string;
  readonly expected: string;
  readonly actual: string;
}

/** All differences, in the order of the prompt. An empty list is a match. */
export function differencesOf(expectation: Expectation, request: ScriptedRequest): readonly Difference[] {
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

/** Compares message by message, starting at index `from`, which may be negative. */
function messageDifferences(
  expected: readonly ExpectedMessage[],
  actual: readonly AskedMessage[],
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

function messageMatches(expected: ExpectedMessage, actual: AskedMessage): boolean {
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

/** Compares only the named fields. `isError: false` equals an absent field. */
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
  // `search` ignores lastIndex, so that a pattern with the flag g always gives the same result.
  return typeof expected === "string" ? expected === actual : actual.search(expected) >= 0;
}
