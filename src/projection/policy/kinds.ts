import { describe } from "../../thread/json.ts";
import type { Check } from "./checks.ts";
import { invalidValue } from "./error.ts";

/** The kinds of entries that a model is shown by default. */
export const DEFAULT_KINDS: readonly string[] = Object.freeze([
  "message",
  "tool_call",
  "tool_result",
  "summary",
  "ai_message",
  "ai_context_operation",
]);

/** A list of kinds is a set. It is stored sorted and without repeats, so that equal sets give equal policies. */
export const kinds: Check<readonly string[]> = (value, path) => {
  if (!Array.isArray(value)) throw invalidValue(path, `must be a list of entry kinds, not ${describe(value)}`);
  const list = Array.from<unknown>(value).map((kind, index) => kindAt(kind, `${path}[${index}]`));
  if (list.length === 0)
    throw invalidValue(path, "is empty, so that nothing would be shown; leave it out to get the default");
  return Object.freeze([...new Set(list)].sort(inOrder));
};

/** The default kinds in their order, then all others by code units. */
function inOrder(a: string, b: string): number {
  return rank(a) - rank(b) || (a < b ? -1 : 1);
}

function rank(kind: string): number {
  const index = DEFAULT_KINDS.indexOf(kind);
  return index === -1 ? DEFAULT_KINDS.length : index;
}

function kindAt(kind: unknown, path: string): string {
  if (typeof kind === "string" && kind !== "" && kind.isWellFormed()) return kind;
  throw invalidValue(path, `must be the name of an entry kind, not ${kind === "" ? "an empty text" : describe(kind)}`);
}
