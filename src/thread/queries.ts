import { ThreadError } from "./errors.ts";
import { describe, reading } from "./json.ts";
import { isRefValue } from "./refs.ts";

/** One kind or several, as a list. */
export function kindsOf(kinds: unknown): readonly string[] {
  const list = reading("kinds", "invalid_query", () => (Array.isArray(kinds) ? Array.from<unknown>(kinds) : [kinds]));
  return list.map((kind) => {
    if (typeof kind === "string") return kind;
    throw invalid("kinds", "must be a string or an array of strings", kinds);
  });
}

/** Refuses undefined, which would match nothing or, worse, all entries without the ref. */
export function checkRef(key: unknown, value: unknown): void {
  if (typeof key !== "string") throw invalid("key", "must be a string", key);
  if (!isRefValue(value)) throw invalid("value", "must be a string, number, boolean or null", value);
}

export function checkCallId(callId: unknown): void {
  if (typeof callId !== "string") throw invalid("callId", "must be a string", callId);
}

/** Whether a value is a bound of a slice: a whole number or infinity. */
export function isBound(seq: unknown): boolean {
  return Number.isInteger(seq) || seq === Number.POSITIVE_INFINITY || seq === Number.NEGATIVE_INFINITY;
}

function invalid(path: string, rule: string, given: unknown): ThreadError {
  return new ThreadError({ code: "invalid_query", path, message: `${path} ${rule}, not ${describe(given)}.` });
}
