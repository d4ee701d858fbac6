import { ThreadError } from "../../thread/errors.ts";
import { copyJson, isPlainObject, type JsonValue } from "../../thread/json.ts";
import type { FileContentPart } from "../../thread/message.ts";
import { plainScalar } from "../model/plain-json.ts";
import { base64Of } from "../model/spec/bytes.ts";

/** A value as JSON, and the files for the bytes that were found in it. */
export interface ConvertedResult {
  readonly json: JsonValue;
  readonly files: readonly FileContentPart[];
}

/**
 * A result as frozen JSON, as `JSON.stringify` would write it. A BigInt becomes its digits, a Map an object, a Set a list.
 * A lone surrogate is replaced. Bytes become file parts, and a note stands in their place. A cycle, or a getter or `toJSON`
 * that throws, is a ThreadError that names the path.
 */
export function convertResult(value: unknown): ConvertedResult {
  const files: FileContentPart[] = [];
  const converted = convert(value, "", { keys: [], above: [], files });
  return { json: copyJson(converted ?? null, "result"), files };
}

/** The same without files, for what can hold text only: bytes are base64. */
export function jsonOf(value: unknown): JsonValue {
  return copyJson(convert(value, "", { keys: [], above: [], files: undefined }) ?? null, "result");
}

interface Walk {
  readonly keys: (string | number)[];
  readonly above: object[];
  readonly files: FileContentPart[] | undefined;
}

/** Undefined is what JSON leaves out. */
function convert(given: unknown, key: string, walk: Walk): unknown {
  const bytes = read(walk, () => bytesOf(given)); // before toJSON: a Buffer would write a list of numbers
  if (bytes !== undefined) return noted(bytes, walk);
  const value = withToJson(given, key, walk);
  return typeof value === "object" && value !== null ? fromObject(value, walk) : plainScalar(value);
}

function withToJson(value: unknown, key: string, walk: Walk): unknown {
  if (typeof value !== "object" || value === null) return value;
  return read(walk, () => {
    const toJson: unknown = Reflect.get(value, "toJSON");
    return typeof toJson === "function" ? Reflect.apply(toJson, value, [key]) : value;
  });
}

function fromObject(value: object, walk: Walk): unknown {
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return value.valueOf();
  const { above, keys } = walk;
  if (above.includes(value)) throw unconvertible(walk, "refers back to an object that contains it");
  if (above.length >= DEEPEST) throw unconvertible(walk, `is nested deeper than ${DEEPEST} levels`);
  const inside = (item: unknown, key: string | number): unknown => {
    keys.push(key);
    const converted = convert(item, String(key), walk);
    keys.pop();
    return converted;
  };
  above.push(value);
  const list = read(walk, () => listOf(value));
  const converted =
    list === undefined
      ? Object.fromEntries(membersOf(value, walk, inside))
      : Array.from(list, (item, index) => inside(item, index) ?? null);
  above.pop();
  return converted;
}

function listOf(value: object): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (value instanceof Set) return [...value];
  return ArrayBuffer.isView(value) ? Array.from(value as Float64Array) : undefined; // typed arrays of numbers; bytes are files
}

/** Own properties, `__proto__` among them; a Map's pairs. */
function* membersOf(
  value: object,
  walk: Walk,
  inside: (item: unknown, key: string) => unknown,
): Generator<readonly [string, unknown]> {
  const pairs: Iterable<readonly [unknown, unknown]> =
    value instanceof Map ? value : read(walk, () => Object.keys(value)).map((key) => [key, undefined] as const);
  for (const [key, item] of pairs) {
    const name = keyText(key);
    const member = value instanceof Map ? item : read(walk, () => Reflect.get(value, name), name);
    const converted = inside(member, name);
    if (converted !== undefined) yield [name.toWellFormed(), converted];
  }
}

/** A Map may have any keys; what has text of its own is that text, an object its JSON. */
function keyText(key: unknown): string {
  if (typeof key !== "object" || key === null) return String(key);
  const json = jsonOf(key);
  return typeof json === "string" ? json : JSON.stringify(json);
}

function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (!ArrayBuffer.isView(value)) return undefined;
  const isBytes = value instanceof Uint8Array || value instanceof Uint8ClampedArray || value instanceof DataView;
  return isBytes ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : undefined;
}

function noted(bytes: Uint8Array, { files }: Walk): string {
  const base64 = base64Of(bytes);
  if (files === undefined) return base64;
  const mediaType = mediaTypeOf(bytes);
  files.push({ type: "file", mediaType, data: { base64 } });
  return `[file ${files.length}: ${mediaType}, ${bytes.byteLength} bytes]`;
}

/** What tools return most: pictures and PDF, known by how they start. */
const STARTS: readonly (readonly [string, readonly number[]])[] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]],
  ["application/pdf", [0x25, 0x50, 0x44, 0x46]],
];

function mediaTypeOf(bytes: Uint8Array): string {
  const found = STARTS.find(([, start]) => start.every((byte, index) => bytes[index] === byte));
  return found?.[0] ?? "application/octet-stream";
}

/** Reads what belongs to the tool: its getters, proxies and `toJSON` may throw. */
function read<T>(walk: Walk, reading: () => T, key?: string): T {
  try {
    return reading();
  } catch (cause) {
    if (key !== undefined) walk.keys.push(key);
    throw unconvertible(walk, "could not be read", cause);
  }
}

function unconvertible({ keys }: Walk, trouble: string, cause?: unknown): ThreadError {
  const path = keys.reduce<string>((to, key) => (typeof key === "number" ? `${to}[${key}]` : `${to}.${key}`), "result");
  return new ThreadError({ code: "not_json", path, message: `${path.toWellFormed()} ${trouble}.`, cause });
}

/**
 * Whether JSON of a value would be longer than so many characters; looks at no more of it than that. It comes before
 * every copy: a small value that refers to itself many times over has no end.
 */
export function isLonger(value: unknown, limit: number): boolean {
  const above: unknown[] = [];
  let length = 0;
  const measure = (item: unknown): void => {
    length += typeof item === "string" ? item.length + 2 : 1;
    if (length > limit || typeof item !== "object" || item === null || above.includes(item)) return;
    if (ArrayBuffer.isView(item) || item instanceof ArrayBuffer) {
      length += item.byteLength;
      return;
    }
    if (above.length > DEEPEST) return; // the conversion refuses it
    above.push(item);
    if (item instanceof Map || item instanceof Set) {
      for (const one of item.entries()) {
        if (item instanceof Map) measure(one[0]);
        measure(one[1]);
        if (length > limit) break;
      }
    }
    for (const key of Object.keys(item)) {
      if (!Array.isArray(item)) length += key.length + 3;
      if (length > limit) break;
      if (Array.isArray(item) || isPlainObject(item)) measure(Reflect.get(item, key));
      else measure(Object.getOwnPropertyDescriptor(item, key)?.value); // a getter of a class may be costly
    }
    above.pop();
  };
  try {
    measure(value);
  } catch {
    return false; // a getter of the tool's threw; the conversion says where
  }
  return length > limit;
}

const DEEPEST = 500;
