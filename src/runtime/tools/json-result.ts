import { ThreadError } from "../../thread/errors.ts";
import { copyJsonRepaired, type JsonValue } from "../../thread/json.ts";
import type { FileContentPart } from "../../thread/message.ts";
import { base64Of, plainScalar } from "../model/provider-values.ts";

/** What a model reads of a value, and the files for the bytes that were found in it. */
export interface ConvertedResult {
  /** Text as it is, other values as JSON text. */
  readonly text: string;
  /** Whether the value was bytes and nothing else. */
  readonly isFile: boolean;
  readonly files: readonly FileContentPart[];
}

/** The result would be longer than its limit. */
export class TooLongError extends Error {}

/**
 * A result as `JSON.stringify` would write it. A BigInt becomes its digits, a Map an object, a Set a list. Bytes become file
 * parts, and a note stands in their place. A cycle, or a getter or `toJSON` that throws, is a ThreadError that names the
 * path. Stops with a TooLongError after `limit` characters: a small value that refers to itself many times has no end.
 */
export function convertResult(value: unknown, limit: number): ConvertedResult {
  const files: FileContentPart[] = [];
  const converted = convert(value, "", { keys: [], above: new Set(), files, left: limit, deepest: DEEPEST }) ?? null;
  const text = typeof converted === "string" ? converted.toWellFormed() : JSON.stringify(converted);
  return { text, files, isFile: files.length > 0 && typeof converted === "string" };
}

/** The same without files, for what can hold text only: bytes are base64. */
export function resultTextOf(value: unknown, limit: number = Number.POSITIVE_INFINITY): string {
  const walk = { keys: [], above: new Set<object>(), files: undefined, left: limit, deepest: DEEPEST };
  const converted = convert(value, "", walk) ?? null;
  return typeof converted === "string" ? converted.toWellFormed() : JSON.stringify(converted);
}

/** The same as frozen JSON that an entry can hold: nested less deeply, and a lone surrogate is replaced. */
export function jsonOf(value: unknown, limit: number = Number.POSITIVE_INFINITY): JsonValue {
  const walk = { keys: [], above: new Set<object>(), files: undefined, left: limit, deepest: DEEPEST_JSON };
  return copyJsonRepaired(convert(value, "", walk) ?? null, "result");
}

interface Walk {
  readonly keys: (string | number)[];
  readonly above: Set<object>;
  readonly files: FileContentPart[] | undefined;
  readonly deepest: number;
  /** How many more characters the JSON may have, about. */
  left: number;
}

/** As deep as the stack of a small thread allows. */
const DEEPEST = 2_000;
/** Less than an entry takes, because the value stands inside of its payload. */
const DEEPEST_JSON = 300;

function spend(walk: Walk, characters: number): void {
  walk.left -= characters;
  if (walk.left < 0) throw new TooLongError();
}

/** Undefined is what JSON leaves out. */
function convert(given: unknown, key: string, walk: Walk): unknown {
  const bytes = read(walk, () => bytesOf(given)); // before toJSON: a Buffer would write a list of numbers
  if (bytes !== undefined) return noted(bytes, walk);
  const value = withToJson(given, key, walk);
  if (typeof value === "object" && value !== null) return fromObject(value, walk);
  spend(walk, typeof value === "string" ? value.length + 2 : 1);
  return typeof value === "string" ? value : plainScalar(value); // JSON.stringify escapes a lone surrogate
}

const TYPES_WITH_METHODS: ReadonlySet<string> = new Set(["object", "function", "bigint"]);

function withToJson(value: unknown, key: string, walk: Walk): unknown {
  if (value === null || !TYPES_WITH_METHODS.has(typeof value)) return value;
  return read(walk, () => {
    const toJson: unknown = Reflect.get(Object(value), "toJSON");
    return typeof toJson === "function" ? Reflect.apply(toJson, value, [key]) : value;
  });
}

function fromObject(value: object, walk: Walk): unknown {
  spend(walk, 1);
  const boxed = read(walk, () => unboxed(value));
  if (boxed !== undefined) return boxed;
  const { above } = walk;
  if (above.has(value)) throw unconvertible(walk, "refers back to an object that contains it");
  if (above.size >= walk.deepest) throw unconvertible(walk, `is nested deeper than ${walk.deepest} levels`);
  above.add(value);
  const list = read(walk, () => listOf(value));
  const converted = list === undefined ? recordOf(value, walk) : itemsOf(list, walk);
  above.delete(value);
  return converted;
}

function unboxed(value: object): unknown {
  if (value instanceof Number) return plainScalar(value.valueOf());
  if (value instanceof String || value instanceof Boolean) return value.valueOf();
  return value instanceof BigInt ? value.toString() : undefined;
}

function listOf(value: object): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (value instanceof Set) return [...value];
  return ArrayBuffer.isView(value) ? Array.from(value as Float64Array) : undefined; // typed arrays of numbers; bytes are files
}

function itemsOf(list: readonly unknown[], walk: Walk): readonly unknown[] {
  const items: unknown[] = [];
  const length = read(walk, () => list.length);
  for (let index = 0; index < length; index++) {
    walk.keys.push(index);
    const item = read(walk, () => list[index]);
    items.push(convert(item, String(index), walk) ?? null);
    walk.keys.pop();
  }
  return items;
}

function recordOf(value: object, walk: Walk): { readonly [key: string]: unknown } {
  const members: [string, unknown][] = [];
  for (const [name, member] of membersOf(value, walk)) {
    spend(walk, name.length + 3);
    walk.keys.push(name);
    const converted = convert(member, name, walk);
    walk.keys.pop();
    if (converted !== undefined) members.push([name, converted]);
  }
  return Object.fromEntries(members);
}

/** Own properties, `__proto__` among them; a Map's pairs. */
function* membersOf(value: object, walk: Walk): Generator<readonly [string, unknown]> {
  if (value instanceof Map) {
    for (const [key, member] of value) yield [keyText(key), member];
    return;
  }
  for (const name of read(walk, () => Object.keys(value))) {
    yield [name, read(walk, () => Reflect.get(value, name), name)];
  }
}

/** A Map may have any keys; what has text of its own is that text, an object its JSON. */
function keyText(key: unknown): string {
  if (typeof key !== "object" || key === null) return String(key);
  return resultTextOf(key);
}

function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (!ArrayBuffer.isView(value)) return undefined;
  const isBytes = value instanceof Uint8Array || value instanceof Uint8ClampedArray || value instanceof DataView;
  return isBytes ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : undefined;
}

function noted(bytes: Uint8Array, walk: Walk): string {
  spend(walk, bytes.byteLength);
  const base64 = base64Of(bytes);
  const { files } = walk;
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
