import { ThreadError } from "../../thread/errors.ts";
import { copyJson, isPlainObject, type JsonValue } from "../../thread/json.ts";

/**
 * A result as frozen JSON. Undefined is null, and half of a character, which is what is left where a text was cut, is
 * replaced. Anything else that JSON would lose is a ThreadError that names the path.
 */
export function jsonOf(value: unknown): JsonValue {
  if (value === undefined) return null;
  try {
    return copyJson(value, "result");
  } catch (error) {
    if (!ThreadError.isInstance(error) || !error.message.includes("lone surrogate")) throw error;
    return copyJson(mended(value, []), "result");
  }
}

function mended(value: unknown, above: readonly unknown[]): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (above.includes(value)) return value; // copyJson names the cycle
  const inside = [...above, value];
  if (Array.isArray(value)) return value.map((item) => mended(item, inside));
  if (!isPlainObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key.toWellFormed(), mended(item, inside)] as const);
  return Object.fromEntries(entries);
}

/**
 * Whether JSON of a value would be longer than so many characters; looks at no more of it than that. It comes before
 * every copy: a small value that refers to itself many times over has no end.
 */
export function isLonger(value: unknown, limit: number): boolean {
  const above: unknown[] = [];
  let length = 0;
  const measure = (item: unknown): void => {
    length += typeof item === "string" ? item.length + 2 : 1;
    if (length > limit || typeof item !== "object" || item === null || above.includes(item)) return;
    if (above.length > DEEPEST || !(Array.isArray(item) || isPlainObject(item))) return; // copyJson refuses it
    above.push(item);
    for (const key of Object.keys(item)) {
      if (!Array.isArray(item)) length += key.length + 3;
      measure(Reflect.get(item, key));
      if (length > limit) break;
    }
    above.pop();
  };
  try {
    measure(value);
  } catch {
    return false; // a getter of the tool's threw; copyJson says where
  }
  return length > limit;
}

const DEEPEST = 500;
