import type { AskedMessage, ScriptedRequest } from "./request.ts";
import type { ExpectedMessage } from "./script.ts";

/** How much of an equal beginning to show. */
const LEAD = 30;
const LONGEST = 160;

/** An actual or expected message in one line. */
export function showMessage(message: AskedMessage | ExpectedMessage): string {
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

export function showValue(value: unknown): string {
  return value instanceof RegExp ? String(value) : (JSON.stringify(value) ?? "undefined");
}

/** The last message of a request, to identify the request. */
export function showEnd({ messages }: ScriptedRequest): string {
  const last = messages.at(-1);
  return last === undefined ? "It has no messages." : `It ends with ${cut(showMessage(last))}`;
}

/** Both lines, shortened around their first difference. */
export function showPair(expected: string, actual: string): readonly [string, string] {
  let same = 0;
  while (same < expected.length && expected[same] === actual[same]) same++;
  const from = Math.max(expected.length, actual.length) <= LONGEST ? 0 : Math.max(0, same - LEAD);
  return [cut(expected, from), cut(actual, from)];
}

function cut(line: string, from = 0): string {
  const end = from + LONGEST;
  const piece = `${from > 0 ? "…" : ""}${line.slice(from, end)}${line.length > end ? "…" : ""}`;
  return piece.toWellFormed(); // a cut may split a surrogate pair
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
