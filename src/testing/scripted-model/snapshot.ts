import type { JsonObject, JsonValue } from "../../thread/json.ts";
import { isPlainObject } from "../../thread/json.ts";

/**
 * A deep-frozen copy as plain data. URLs and dates become text, bytes a note of their number. Functions, abort signals and
 * other non-data are omitted.
 */
export function snapshot(value: unknown): JsonValue | undefined {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return value;
    case "bigint":
      return String(value);
    case "object":
      return value === null ? null : snapshotOf(value);
    default:
      return undefined;
  }
}

export function snapshotObject(value: object): JsonObject {
  const items = Object.entries(value).map(([key, item]) => [key, snapshot(item)] as const);
  return Object.freeze(Object.fromEntries(items.filter(([, item]) => item !== undefined)));
}

function snapshotOf(value: object): JsonValue | undefined {
  if (Array.isArray(value)) return Object.freeze(value.map((item) => snapshot(item) ?? null));
  if (value instanceof URL) return value.href;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  return isPlainObject(value) ? snapshotObject(value) : undefined;
}
