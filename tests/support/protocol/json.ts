import type { JsonObject, JsonValue } from "heddle";

/** An object, or an empty one where something else stands: what must be there is checked where it must. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  // Array.isArray does not exclude readonly arrays from the type, so the cast is needed.
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

export function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

export function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return listOf(value).map(objectOf);
}

export function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** What a field is, in the words of OpenAI's messages. */
export function kindOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** The value without a field, wherever in it. */
export function without(field: string, value: JsonValue | undefined): JsonValue {
  return JSON.parse(JSON.stringify(value ?? null, (key, item) => (key === field ? undefined : item))) as JsonValue;
}

/** How often a field stands in it, wherever. */
export function countOf(field: string, value: JsonValue | undefined): number {
  let count = 0;
  JSON.stringify(value ?? null, (key, item) => {
    if (key === field) count++;
    return item;
  });
  return count;
}
