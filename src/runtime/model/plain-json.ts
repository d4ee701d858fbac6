import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import type { PartMetadata } from "../../thread/message.ts";
import { base64Of } from "./spec/bytes.ts";

/** Far below what entries take, because what is made here stands inside of other data. */
const MAX_DEPTH = 300;

/** The rules of entries, made true instead of asked for: models and packages say what they like. */
export function plainJson(value: unknown): JsonValue | undefined {
  return lenient(value, []);
}

/** The same where an object is needed. */
export function plainObject(value: unknown): JsonObject | undefined {
  const plain = plainJson(value);
  return isPlainObject(plain) ? (plain as JsonObject) : undefined; // plain, and JSON by what made it
}

/** Metadata by provider; undefined when there is none. */
export function plainMetadata(value: unknown): PartMetadata | undefined {
  const owners = Object.entries(plainObject(value) ?? {}).filter(([, own]) => isPlainObject(own));
  return owners.length === 0 ? undefined : (Object.fromEntries(owners) as PartMetadata); // each has been asked
}

/** Text as UTF-8 can hold it: models cut emojis in two. */
export function plainText(value: unknown): string {
  return typeof value === "string" ? value.toWellFormed() : "";
}

/** A value that is no object, as `JSON.stringify` writes it; a BigInt becomes its digits. Undefined is left out. */
export function plainScalar(value: unknown): string | number | boolean | null | undefined {
  switch (typeof value) {
    case "string":
      return value.toWellFormed();
    case "number":
      return Number.isFinite(value) ? value : null;
    case "boolean":
      return value;
    case "bigint":
      return value.toString();
    default:
      return value === null ? null : undefined;
  }
}

function lenient(value: unknown, above: readonly object[]): JsonValue | undefined {
  return typeof value === "object" && value !== null ? ofObject(value, above) : plainScalar(value);
}

function ofObject(value: object, above: readonly object[]): JsonValue | undefined {
  if (above.length >= MAX_DEPTH || above.includes(value)) return undefined;
  try {
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (value instanceof URL) return value.href;
    if (value instanceof Uint8Array) return base64Of(value);
    const within = [...above, value];
    if (Array.isArray(value)) return value.map((item) => lenient(item, within) ?? null);
    return Object.fromEntries(Object.keys(value).flatMap((key) => field(value, key, within)));
  } catch {
    return undefined; // a proxy or a getter that throws
  }
}

function field(value: object, key: string, within: readonly object[]): readonly (readonly [string, JsonValue])[] {
  const plain = lenient(Reflect.get(value, key), within);
  return plain === undefined ? [] : [[key.toWellFormed(), plain]];
}
