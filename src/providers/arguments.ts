import type { JsonObject, JsonValue } from "../thread/json.ts";
import { isPlainObject } from "../thread/json.ts";

/**
 * Arguments as the object that every provider asks for. Models do produce text that is no JSON, and it is kept where the
 * model finds it again: under the name the AI SDK uses.
 */
export function objectOf(value: JsonValue): JsonObject {
  return asObject(value) ?? (typeof value === "string" ? parsed(value) : undefined) ?? { rawInvalidInput: value };
}

function parsed(text: string): JsonObject | undefined {
  return asObject(parseJson(text));
}

/** The value of a JSON text; undefined when it is none. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function asObject(value: JsonValue | undefined): JsonObject | undefined {
  return isPlainObject(value) ? (value as JsonObject) : undefined; // plain, and JSON already: an object of JSON
}
