import { utf8Length } from "../thread/encoding.ts";
import type { JsonObject, JsonValue } from "../thread/json.ts";

/** The size of an entry on its lane: a quarter of the UTF-8 bytes of its payload's JSON text, rounded down. */
export function measureOf(payloadText: string): number {
  return Math.floor(utf8Length(payloadText) / 4);
}

/** The same for a payload that is not serialized yet. */
export function measureOfJson(payload: JsonValue): number {
  return Math.floor(jsonSize(payload) / 4);
}

/** The sizes of large payloads. A payload is frozen, and each new projection of its thread needs its size again. */
const largeSizes = new WeakMap<JsonObject, number>();
/** A smaller size is counted sooner than it is looked up. */
const LARGE = 500;

/** The same for the payload of an entry of a thread. */
export function measureOfEntry({ payload }: { readonly payload: JsonObject }): number {
  const known = largeSizes.get(payload);
  if (known !== undefined) return known;
  const size = Math.floor((jsonSize(payload) - largeDetailsSize(payload)) / 4);
  if (size >= LARGE) largeSizes.set(payload, size);
  return size;
}

/** Larger details of a tool result do not count, because no model is shown them. In bytes. */
const MAX_DETAILS_BYTES = 1024;

/** The UTF-8 bytes of the large details of a tool result, as JSON text. 0 for any other payload. */
export function largeDetailsSize(payload: JsonObject): number {
  if (!("details" in payload) || payload["role"] !== "tool") return 0;
  const size = jsonSize(payload["details"] ?? null);
  return size > MAX_DETAILS_BYTES ? size : 0;
}

/** The UTF-8 bytes of a value's JSON text, counted without building the text. */
export function jsonSize(value: JsonValue): number {
  switch (typeof value) {
    case "string":
      return textSize(value);
    case "number":
      return String(value).length;
    case "boolean":
      return value ? 4 : 5;
    default:
      return value === null ? 4 : isList(value) ? listSize(value) : objectSize(value);
  }
}

/** Counts brackets, and commas between items. */
function listSize(list: readonly JsonValue[]): number {
  let bytes = 2 + Math.max(0, list.length - 1);
  for (const item of list) bytes += jsonSize(item);
  return bytes;
}

function objectSize(object: JsonObject): number {
  let bytes = 1;
  for (const key of Object.keys(object)) {
    const value = object[key];
    if (value !== undefined) bytes += textSize(key) + jsonSize(value) + 2; // a colon, and a comma or the closing brace
  }
  return Math.max(2, bytes);
}

function textSize(text: string): number {
  let bytes = text.length + 2;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x20) bytes += SHORT_ESCAPES.has(unit) ? 1 : 5;
    else if (unit === QUOTE || unit === BACKSLASH) bytes += 1;
    else if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1; // each half of a surrogate pair counts 2
  }
  return bytes;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** \b \t \n \f \r. Other control characters are written as \u0000. */
const SHORT_ESCAPES: ReadonlySet<number> = new Set([8, 9, 10, 12, 13]);

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value); // Array.isArray alone does not narrow readonly arrays
}
