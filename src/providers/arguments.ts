import type { JsonObject, JsonValue } from "../thread/json.ts";
import { isPlainObject } from "../thread/json.ts";

/**
 * Arguments as an object, which every provider requires. A model may write text that is not JSON. It is kept under the name
 * that the AI SDK uses, so that the model can read it.
 */
export function objectOf(value: JsonValue): JsonObject {
  return asObject(value) ?? (typeof value === "string" ? parsed(value) : undefined) ?? { rawInvalidInput: value };
}

function parsed(text: string): JsonObject | undefined {
  return asObject(parseJson(text));
}

/** The value of a JSON text. Undefined when it is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function asObject(value: JsonValue | undefined): JsonObject | undefined {
  return isPlainObject(value) ? (value as JsonObject) : undefined; // a plain object inside JSON is a JSON object
}
