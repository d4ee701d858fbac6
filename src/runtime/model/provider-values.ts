import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import type { PartMetadata } from "../../thread/message.ts";

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

/** A part as the package gave it: any field may be anything. */
export interface RawPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A copy that can be read without surprises; undefined when it is no part. */
export function rawPart(value: unknown): RawPart | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  try {
    const part: { readonly [field: string]: unknown } = { ...value };
    return typeof part["type"] === "string" ? { ...part, type: part["type"] } : undefined;
  } catch {
    return undefined; // a getter or a proxy of the package's threw
  }
}

/** The fields of anything: none, when it has none or they cannot be read. */
export function fieldsIn(value: unknown): { readonly [field: string]: unknown } {
  if (typeof value !== "object" || value === null) return {};
  try {
    return { ...value };
  } catch {
    return {};
  }
}

/** A warning of any version of the specification in one line. */
export function warningText(warning: unknown): string {
  const { type, feature, setting, tool, details, message } = fieldsIn(warning);
  const named = plainText(feature) || plainText(setting) || plainText(fieldsIn(tool)["name"]);
  const said = plainText(message) || plainText(details);
  const head = type === "other" ? "" : [plainText(type), named].filter((word) => word !== "").join(" ");
  return [head, said].filter((part) => part !== "").join(": ") || "a warning without words";
}

/** Each part costs something, so that an endless stream of empty ones ends too. */
const PER_PART = 32;

/** About how many bytes a part holds; anything above `limit` is as good as any other. */
export function weigh(part: object, limit: number): number {
  return weighed(part, limit, 0) + PER_PART;
}

function weighed(value: unknown, limit: number, depth: number): number {
  if (typeof value === "string") return value.length;
  if (value instanceof Uint8Array) return value.byteLength;
  if (typeof value !== "object" || value === null || depth > 300) return 1;
  let bytes = 2;
  for (const [key, inside] of Object.entries(fieldsIn(value))) {
    bytes += key.length + weighed(inside, limit - bytes, depth + 1);
    if (bytes > limit) break; // also ends where an object contains itself
  }
  return bytes;
}

/** So many bytes at once that their characters are arguments of one call on every engine. A multiple of three. */
const CHUNK = 24_576;

export function base64Of(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + CHUNK)));
  }
  return text;
}
