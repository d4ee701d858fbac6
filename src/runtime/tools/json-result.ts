import { ThreadError } from "../../thread/errors.ts";
import { copyJsonRepaired, type JsonValue } from "../../thread/json.ts";
import type { FileContentPart } from "../../thread/message.ts";
import { base64Of, plainScalar } from "../model/provider-values.ts";

/** A value as text for the model, and file parts for the bytes in it. */
export interface ConvertedResult {
  /** Text as it is, other values as JSON text. */
  readonly text: string;
  /** Whether the value was only bytes. */
  readonly isFile: boolean;
  readonly files: readonly FileContentPart[];
}

/** The result would be longer than its limit. */
export class TooLongError extends Error {}

/**
 * Converts a result as `JSON.stringify` does. A BigInt becomes its digits, a Map an object, a Set a list. Bytes become file
 * parts, with a note in their place. A cycle, or a getter or `toJSON` that throws, is a ThreadError that names the path.
 * Throws a TooLongError after `limit` characters, because a small value that repeats itself may become huge.
 */
export function convertResult(value: unknown, limit: number): ConvertedResult {
  const files: FileContentPart[] = [];
  const converted = convert(value, "", { keys: [], above: new Set(), files, left: limit, deepest: DEEPEST }) ?? null;
  const text = typeof converted === "string" ? converted.toWellFormed() : JSON.stringify(converted);
  return { text, files, isFile: files.length > 0 && typeof converted === "string" };
}

/** Like `convertResult`, but bytes become base64 text. For places that can hold only text. */
export function resultTextOf(value: unknown, limit: number = Number.POSITIVE_INFINITY): string {
  const state = { keys: [], above: new Set<object>(), files: undefined, left: limit, deepest: DEEPEST };
  const converted = convert(value, "", state) ?? null;
  return typeof converted === "string" ? converted.toWellFormed() : JSON.stringify(converted);
}

/** Like `resultTextOf`, but returns frozen JSON for an entry. It allows fewer levels, and replaces lone surrogates. */
export function jsonOf(value: unknown, limit: number = Number.POSITIVE_INFINITY): JsonValue {
  const state = { keys: [], above: new Set<object>(), files: undefined, left: limit, deepest: DEEPEST_JSON };
  return copyJsonRepaired(convert(value, "", state) ?? null, "result");
}

interface ConversionState {
  readonly keys: (string | number)[];
  readonly above: Set<object>;
  readonly files: FileContentPart[] | undefined;
  readonly deepest: number;
  /** About how many more characters the JSON may have. */
  left: number;
}

/** The deepest nesting that fits the stack of a worker thread. */
const DEEPEST = 2_000;
/** Less than an entry allows, because the value is inside its payload. */
const DEEPEST_JSON = 300;

function spend(state: ConversionState, characters: number): void {
  state.left -= characters;
  if (state.left < 0) throw new TooLongError();
}

/** Undefined for values that JSON leaves out. */
function convert(given: unknown, key: string, state: ConversionState): unknown {
  const bytes = read(state, () => bytesOf(given)); // before toJSON, because that of a Buffer returns a list of numbers
  if (bytes !== undefined) return fileNoteFor(bytes, state);
  const value = withToJson(given, key, state);
  if (typeof value === "object" && value !== null) return fromObject(value, state);
  spend(state, typeof value === "string" ? value.length + 2 : 1);
  return typeof value === "string" ? value : plainScalar(value); // JSON.stringify escapes a lone surrogate
}

const TYPES_WITH_METHODS: ReadonlySet<string> = new Set(["object", "function", "bigint"]);

function withToJson(value: unknown, key: string, state: ConversionState): unknown {
  if (value === null || !TYPES_WITH_METHODS.has(typeof value)) return value;
  return read(state, () => {
    const toJson: unknown = Reflect.get(Object(value), "toJSON");
    return typeof toJson === "function" ? Reflect.apply(toJson, value, [key]) : value;
  });
}

function fromObject(value: object, state: ConversionState): unknown {
  spend(state, 1);
  const boxed = read(state, () => unboxed(value));
  if (boxed !== undefined) return boxed;
  const { above } = state;
  if (above.has(value)) throw unconvertible(state, "refers back to an object that contains it");
  if (above.size >= state.deepest) throw unconvertible(state, `is nested deeper than ${state.deepest} levels`);
  above.add(value);
  const list = read(state, () => listOf(value));
  const converted = list === undefined ? recordOf(value, state) : itemsOf(list, state);
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

function itemsOf(list: readonly unknown[], state: ConversionState): readonly unknown[] {
  const items: unknown[] = [];
  const length = read(state, () => list.length);
  for (let index = 0; index < length; index++) {
    state.keys.push(index);
    const item = read(state, () => list[index]);
    items.push(convert(item, String(index), state) ?? null);
    state.keys.pop();
  }
  return items;
}

function recordOf(value: object, state: ConversionState): { readonly [key: string]: unknown } {
  const members: [string, unknown][] = [];
  for (const [name, member] of membersOf(value, state)) {
    spend(state, name.length + 3);
    state.keys.push(name);
    const converted = convert(member, name, state);
    state.keys.pop();
    if (converted !== undefined) members.push([name, converted]);
  }
  return Object.fromEntries(members);
}

/** Own properties, also `__proto__`, or the pairs of a Map. */
function* membersOf(value: object, state: ConversionState): Generator<readonly [string, unknown]> {
  if (value instanceof Map) {
    for (const [key, member] of value) yield [keyText(key), member];
    return;
  }
  for (const name of read(state, () => Object.keys(value))) {
    yield [name, read(state, () => Reflect.get(value, name), name)];
  }
}

/** The key of a Map as text: the JSON of an object, or `String(key)`. */
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

function fileNoteFor(bytes: Uint8Array, state: ConversionState): string {
  spend(state, bytes.byteLength);
  const base64 = base64Of(bytes);
  const { files } = state;
  if (files === undefined) return base64;
  const mediaType = mediaTypeOf(bytes);
  files.push({ type: "file", mediaType, data: { base64 } });
  return `[file ${files.length}: ${mediaType}, ${bytes.byteLength} bytes]`;
}

/** The first bytes of images and PDF files. */
const FILE_SIGNATURES: readonly (readonly [string, readonly number[]])[] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]],
  ["application/pdf", [0x25, 0x50, 0x44, 0x46]],
];

function mediaTypeOf(bytes: Uint8Array): string {
  const found = FILE_SIGNATURES.find(([, start]) => start.every((byte, index) => bytes[index] === byte));
  return found?.[0] ?? "application/octet-stream";
}

/** Reads from a value of the tool, whose getters, proxies and `toJSON` may throw. */
function read<T>(state: ConversionState, reading: () => T, key?: string): T {
  try {
    return reading();
  } catch (cause) {
    if (key !== undefined) state.keys.push(key);
    throw unconvertible(state, "could not be read", cause);
  }
}

function unconvertible({ keys }: ConversionState, trouble: string, cause?: unknown): ThreadError {
  const path = keys.reduce<string>((to, key) => (typeof key === "number" ? `${to}[${key}]` : `${to}.${key}`), "result");
  return new ThreadError({ code: "not_json", path, message: `${path.toWellFormed()} ${trouble}.`, cause });
}
