import { utf8Length } from "../thread/encoding.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../thread/json.ts";
import { invalidOption } from "./options.ts";
import type { ThreadField } from "./stored-records.ts";

/** Postgres limits the size of an index key. The id of any thread is shorter as JSON text. */
const MAX_NAME_BYTES = 256;
const MAX_VALUE_BYTES = 800;

/** The values of metadata that `list` can search for. The migrations fill the same ones for earlier threads. */
export function fieldsOf(metadata: JsonObject): readonly ThreadField[] {
  return Object.entries(metadata).flatMap(([name, value]) => {
    const text = fieldText(name, value);
    return text === undefined ? [] : [{ name, value: text }];
  });
}

/** The fields that change with the metadata. Removed ones have the value null. */
export function changedFields(before: JsonObject, after: JsonObject): readonly ThreadField[] {
  const changed = (name: string): boolean => !Object.is(own(before, name), own(after, name));
  const names = [...Object.keys(after), ...Object.keys(before).filter((name) => !Object.hasOwn(after, name))];
  // Each append changes one or two values of many.
  return names.filter(changed).flatMap((name): readonly ThreadField[] => {
    const [earlier, value = null] = [before, after].map((metadata) => fieldText(name, own(metadata, name)));
    return value === (earlier ?? null) ? [] : [{ name, value }];
  });
}

function own(metadata: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(metadata, name) ? metadata[name] : undefined;
}

export function hasFields(metadata: JsonObject, fields: readonly ThreadField[]): boolean {
  return fields.every(({ name, value }) => (fieldText(name, own(metadata, name)) ?? null) === value);
}

/** The fields of a filter. Refuses values that are in no index, because an empty list would look like an answer. */
export function checkFields(filter: unknown): readonly ThreadField[] {
  if (filter === undefined) return [];
  if (!isPlainObject(filter)) throw invalidOption("metadata", "an object of texts, numbers and booleans");
  return Object.entries(filter).map(([name, value]) => checkField("metadata", name, value));
}

export function checkField(option: string, name: string, value: unknown): ThreadField {
  const text = fieldText(name, value);
  if (text !== undefined) return { name, value: text };
  const rule = `texts, numbers and booleans of at most ${MAX_VALUE_BYTES} bytes as JSON, under names of at most ${MAX_NAME_BYTES} without quotes`;
  throw invalidOption(option, rule);
}

/** JSON text of a value that can be searched for. */
function fieldText(name: string, value: unknown): string | undefined {
  if (!(typeof value === "string" || typeof value === "boolean" || Number.isFinite(value))) return undefined;
  if (!isFieldName(name)) return undefined;
  const text = JSON.stringify(value as JsonValue); // it is text, a number or a boolean
  return utf8Length(text) <= MAX_VALUE_BYTES ? text : undefined;
}

function isFieldName(name: string): boolean {
  return name !== "" && utf8Length(name) <= MAX_NAME_BYTES && JSON.stringify(name) === `"${name}"`;
}
