import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import type { PartMetadata } from "../../thread/message.ts";

/** Less than an entry allows, because these values become parts of larger values. */
const MAX_DEPTH = 300;

/** Converts any value of a model or package to JSON that an entry can hold. Undefined if it cannot be converted. */
export function plainJson(value: unknown): JsonValue | undefined {
  return toJson(value, []);
}

/** Like `plainJson`, for an object. */
export function plainObject(value: unknown): JsonObject | undefined {
  const plain = plainJson(value);
  return isPlainObject(plain) ? (plain as JsonObject) : undefined; // plainJson returns JSON
}

/** Metadata by provider; undefined when there is none. */
export function plainMetadata(value: unknown): PartMetadata | undefined {
  const owners = Object.entries(plainObject(value) ?? {}).filter(([, own]) => isPlainObject(own));
  return owners.length === 0 ? undefined : (Object.fromEntries(owners) as PartMetadata); // each value is an object
}

/** Well-formed text: models may cut a surrogate pair in two. */
export function plainText(value: unknown): string {
  return typeof value === "string" ? value.toWellFormed() : "";
}

/** A value other than an object, as `JSON.stringify` writes it, but a BigInt becomes its digits. Undefined for other types. */
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

function toJson(value: unknown, above: readonly object[]): JsonValue | undefined {
  return typeof value === "object" && value !== null ? objectToJson(value, above) : plainScalar(value);
}

function objectToJson(value: object, above: readonly object[]): JsonValue | undefined {
  if (above.length >= MAX_DEPTH || above.includes(value)) return undefined;
  try {
    if (value instanceof Uint8Array) return base64Of(value);
    const within = [...above, value];
    const toJSON: unknown = Reflect.get(value, "toJSON"); // dates, URLs and classes of packages have one
    const made: unknown = typeof toJSON === "function" ? toJSON.call(value, "") : value;
    if (made !== value) return toJson(made, within);
    if (Array.isArray(value)) return value.map((item) => toJson(item, within) ?? null);
    return Object.fromEntries(Object.keys(value).flatMap((key) => field(value, key, within)));
  } catch {
    return undefined; // a proxy or a getter that throws
  }
}

function field(value: object, key: string, within: readonly object[]): readonly (readonly [string, JsonValue])[] {
  const plain = toJson(Reflect.get(value, key), within);
  return plain === undefined ? [] : [[key.toWellFormed(), plain]];
}

/** An unchecked part from a package. */
export interface RawPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A shallow copy, whose fields can be read without errors. Undefined if it is not a part. */
export function rawPart(value: unknown): RawPart | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  try {
    const part: { readonly [field: string]: unknown } = { ...value };
    return typeof part["type"] === "string" ? { ...part, type: part["type"] } : undefined;
  } catch {
    return undefined; // a getter or a proxy of the package threw
  }
}

/** The fields of an object. Empty for other values, and if they cannot be read. */
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
  const text = plainText(message) || plainText(details);
  const head = type === "other" ? "" : [plainText(type), named].filter((word) => word !== "").join(" ");
  return [head, text].filter((part) => part !== "").join(": ") || "a warning without text";
}

/** Counted for each part, so that an endless stream of empty parts also reaches the limit. */
const PER_PART = 32;

/** The approximate bytes of a part. Stops counting at `limit`. */
export function estimateBytes(part: object, limit: number): number {
  return bytesIn(part, limit, 0) + PER_PART;
}

function bytesIn(value: unknown, limit: number, depth: number): number {
  if (typeof value === "string") return value.length;
  if (value instanceof Uint8Array) return value.byteLength;
  if (typeof value !== "object" || value === null || depth > 300) return 1;
  let bytes = 2;
  const fields = fieldsIn(value);
  for (const key of Object.keys(fields)) {
    bytes += key.length + bytesIn(fields[key], limit - bytes, depth + 1);
    if (bytes > limit) break; // also stops a cycle
  }
  return bytes;
}

/** A multiple of three, and few enough arguments for one call on every engine. */
const CHUNK = 24_576;

export function base64Of(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + CHUNK)));
  }
  return text;
}
