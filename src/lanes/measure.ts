import type { JsonValue } from "../thread/json.ts";
import { utf8Length } from "../tokens/utf8.ts";
import { jsonSize } from "./json-size.ts";

/** The size of an entry on its lane: a quarter of the UTF-8 bytes of its payload's JSON text, rounded down. */
export function measureOf(payloadText: string): number {
  return Math.floor(utf8Length(payloadText) / 4);
}

/** The same for a payload that is not serialized yet. */
export function measureOfJson(payload: JsonValue): number {
  return Math.floor(jsonSize(payload) / 4);
}
