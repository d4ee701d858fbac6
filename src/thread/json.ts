import { ThreadError } from "./errors.ts";

/** Any value that JSON can hold. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
/** A JSON object. An undefined property counts as absent. */
export type JsonObject = { readonly [key: string]: JsonValue | undefined };

/** Deep enough for any payload, and shallow enough that recursion does not overflow the stack. */
const MAX_DEPTH = 500;

/**
 * A deep-frozen copy of a JSON value. Values that JSON would silently change or drop throw a ThreadError with their path:
 * functions, symbols, bigints, NaN, cycles, class instances, undefined in an array, lone surrogates.
 * A key `__proto__` is copied like any other.
 *
 * @example
 * const copy = copyJson({ city: "Bern", days: [1, 2] }, "payload");
 * Object.isFrozen(copy.days); // true
 */
export function copyJson<T extends JsonValue>(value: T, path: string): T;
export function copyJson(value: unknown, path: string): JsonValue;
export function copyJson(value: unknown, path: string): JsonValue {
  return copied(value, { root: path, keys: [], above: [], isWords: false });
}

/** The same for text from people or imports. A lone surrogate, as left by a cut character, is replaced. */
export function copyJsonRepaired(value: unknown, path: string): JsonValue {
  return copied(value, { root: path, keys: [], above: [], isWords: true });
}

function copied(value: unknown, trail: Trail): JsonValue {
  try {
    return copyValue(value, trail);
  } catch (error) {
    if (ThreadError.isInstance(error)) throw error;
    throw notJson(trail, "could not be read", error); // a getter or proxy of the caller threw
  }
}

/** Like `copyJson`, for values that must be objects. */
export function copyJsonObject(value: unknown, path: string): JsonObject {
  const copy = copyJson(value, path);
  if (isPlainObject(copy)) return copy;
  throw notJson({ root: path, keys: [], above: [], isWords: false }, `must be a plain object, not ${describe(value)}`);
}

/** The position of the copy: the keys so far and the objects they lead through. */
interface Trail {
  readonly root: string;
  readonly keys: (string | number)[];
  readonly above: object[];
  /** Whether lone surrogates are replaced instead of refused. */
  readonly isWords: boolean;
}

function copyValue(value: unknown, trail: Trail): JsonValue {
  switch (typeof value) {
    case "string":
      if (trail.isWords || value.isWellFormed()) return value.toWellFormed();
      throw notJson(trail, "has a lone surrogate, which UTF-8 cannot encode");
    case "number":
      if (!Number.isFinite(value)) throw notJson(trail, `is ${value}; JSON has no such number`);
      return value === 0 ? 0 : value; // JSON has no -0
    case "boolean":
      return value;
    case "object":
      return value === null ? null : copyObject(value, trail);
    default:
      throw notJson(trail, `is ${describe(value)}, which JSON cannot hold`);
  }
}

function copyObject(value: object, trail: Trail): JsonValue {
  if (trail.above.includes(value)) throw notJson(trail, "refers back to an object that contains it");
  if (trail.above.length >= MAX_DEPTH) throw notJson(trail, `is nested deeper than ${MAX_DEPTH} levels`);
  trail.above.push(value);
  const copy = Array.isArray(value) ? copyArray(value, trail) : copyRecord(value, trail);
  trail.above.pop();
  return Object.freeze(copy);
}

function copyArray(value: readonly unknown[], trail: Trail): JsonValue[] {
  const copy: JsonValue[] = [];
  for (let index = 0; index < value.length; index++) {
    trail.keys.push(index);
    copy.push(copyValue(value[index], trail));
    trail.keys.pop();
  }
  return copy;
}

function copyRecord(value: object, trail: Trail): { [key: string]: JsonValue } {
  if (!isPlainObject(value)) {
    const instead = ArrayBuffer.isView(value)
      ? 'base64 text, in a message { type: "file", mediaType, data: { base64 } },'
      : "plain data";
    throw notJson(trail, `is ${describe(value)}; pass ${instead} instead`);
  }
  if (Object.getOwnPropertySymbols(value).length > 0) throw notJson(trail, "has a symbol key");
  const copy: { [key: string]: JsonValue } = {};
  for (const key of Object.keys(value)) {
    if (!trail.isWords && !key.isWellFormed()) throw notJson(trail, "has a key with a lone surrogate");
    trail.keys.push(key);
    const item = value[key];
    if (item !== undefined) setOwn(copy, key.toWellFormed(), copyValue(item, trail));
    trail.keys.pop();
  }
  return copy;
}

/** Sets a field of any name. A plain assignment to `__proto__` would change the prototype. */
function setOwn<T>(target: { [key: string]: T }, key: string, value: T): void {
  if (key === "__proto__")
    Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
  else target[key] = value;
}

/** A prototype with this key marks the instances of its class as plain data, because they hold JSON only. */
export const plainData: unique symbol = Symbol("heddle.plain-data");

/** Whether a value is a plain object, of any realm: it has no prototype, or one without a prototype. */
export function isPlainObject(value: unknown): value is { readonly [key: string]: unknown } {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null || Object.hasOwn(Object(prototype), plainData);
}

/** The fields of an object that a caller passed. Each is read once. */
export function fieldsOf<T>(value: T, path: string, code: string): T & { readonly [key: string]: unknown } {
  const fields = readSafely(path, code, () => (isPlainObject(value) ? { ...value } : undefined));
  if (fields !== undefined) return fields;
  throw new ThreadError({ code, path, message: `${path} must be a plain object, not ${describe(value)}.` });
}

/** Runs `read` on a caller's value. If a getter or proxy throws, throws a ThreadError. */
export function readSafely<T>(path: string, code: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new ThreadError({ code, path, message: `${path} could not be read.`, cause });
  }
}

/** Deep-freezes JSON that Heddle itself has made. Nothing is checked. */
export function freezeJson<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const item of Object.values(value)) freezeJson(item);
  return Object.freeze(value);
}

/** Whether two JSON values hold the same data. The order of keys does not matter. */
export function sameJson(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (isArray(a) || isArray(b)) {
    return isArray(a) && isArray(b) && a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
  }
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
  );
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value); // Array.isArray alone does not narrow readonly arrays
}

/** Says that a value is not one of some words. Shows the value, up to 40 characters. */
export function notOneOf(words: readonly string[], value: unknown): string {
  const given = typeof value === "string" ? JSON.stringify(value.slice(0, QUOTED).toWellFormed()) : describe(value);
  return `must be one of ${words.join(", ")}, not ${given}`;
}

const QUOTED = 40;

/** Names the type of a value and never its content, so that no secret gets into a message. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value !== "object") return `a ${typeof value}`;
  try {
    if (Array.isArray(value)) return "an array";
    const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
    return typeof name === "string" && name !== "Object" && name !== "" ? `an instance of ${name}` : "an object";
  } catch {
    return "an object"; // a revoked proxy throws
  }
}

function notJson(trail: Trail, trouble: string, cause?: unknown): ThreadError {
  const path = trail.keys.reduce<string>(
    (path, key) => (typeof key === "number" ? `${path}[${key}]` : `${path}.${key}`),
    trail.root,
  );
  return new ThreadError({ code: "not_json", path, message: `${path} ${trouble}.`, cause });
}
