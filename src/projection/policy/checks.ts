import { describe, isPlainObject } from "../../thread/json.ts";
import { knownNames } from "../../thread/nearest-name.ts";
import { invalidValue, PolicyError } from "./error.ts";

/** Converts an input value to the value of the policy, or throws a PolicyError that names `path`. */
export type Check<T> = (value: unknown, path: string) => T;

/** The checks of an object's fields, in the order of its keys. */
export type Fields<T> = { readonly [Key in keyof T]-?: Check<T[Key]> };

/** Checks for an integer of at least `least`. */
export function whole(least: number): Check<number> {
  return (value, path) => {
    if (Number.isSafeInteger(value) && Number(value) >= least) return Number(value) + 0; // -0 becomes 0
    throw invalidValue(path, `must be a whole number from ${least} on, not ${shown(value)}`);
  };
}

/** Checks for a fraction above 0 and at most 1. */
export const share: Check<number> = (value, path) => {
  if (typeof value === "number" && value > 0 && value <= 1) return value;
  throw invalidValue(path, `must be a number above 0 and at most 1, not ${shown(value)}`);
};

export const flag: Check<boolean> = (value, path) => {
  if (typeof value === "boolean") return value;
  throw invalidValue(path, `must be true or false, not ${shown(value)}`);
};

export const text: Check<string> = (value, path) => {
  if (typeof value !== "string") throw invalidValue(path, `must be a text, not ${shown(value)}`);
  if (value.trim() === "") throw invalidValue(path, "is blank; leave it out to have none");
  if (!value.isWellFormed()) throw invalidValue(path, "has a lone surrogate, which UTF-8 cannot encode");
  return value;
};

export function oneOf<const T extends string>(...choices: readonly T[]): Check<T> {
  const list = choices.map((choice) => `"${choice}"`).join(", ");
  return (value, path) => {
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    throw invalidValue(path, `must be one of ${list}, not ${shown(value)}`);
  };
}

/** Checks for an object with exactly these fields. A missing or undefined field gets its default. */
export function fields<T extends object>(checks: Fields<T>, defaults: Partial<T>): Check<T> {
  const names = Object.keys(checks) as (keyof T & string)[]; // `checks` has exactly these keys
  return (value, path) => {
    const given = readFields(value, path);
    for (const name of Object.keys(given)) if (!Object.hasOwn(checks, name)) throw unknownField(path, name, names);
    const complete: Partial<T> = {};
    for (const name of names) {
      const item = given[name] === undefined ? defaults[name] : given[name];
      if (item !== undefined) complete[name] = checks[name](item, path === "" ? name : `${path}.${name}`);
    }
    return Object.freeze(complete) as T; // a field without a default is optional in T
  };
}

/** Reads each field once, so that a getter cannot return two different values. A getter that throws is a bad input. */
export function readFields(value: unknown, path: string): { readonly [name: string]: unknown } {
  try {
    if (isPlainObject(value)) return { ...value };
  } catch (cause) {
    throw invalidValue(path, "could not be read", cause);
  }
  throw invalidValue(path, `must be a plain object, not ${shown(value)}`);
}

function unknownField(path: string, name: string, names: readonly string[]): PolicyError {
  const where = path === "" ? name : `${path}.${name}`;
  const message = `A context policy has no field ${where}. ${knownNames(name, names)}`;
  return new PolicyError({ code: "policy_unknown_field", path: where, message });
}

/** Describes a value in an error message. Only numbers and booleans are shown, because text may contain secrets. */
function shown(value: unknown): string {
  return typeof value === "number" || typeof value === "boolean" ? String(value) : describe(value);
}

/** The entry kinds that a model is shown by default. */
export const DEFAULT_KINDS: readonly string[] = Object.freeze([
  "message",
  "tool_call",
  "tool_result",
  "summary",
  "ai_message",
  "ai_context_operation",
]);

/**
 * Checks for a list of entry kinds. It is stored sorted and without duplicates, so that equal sets give equal policies.
 */
export const kinds: Check<readonly string[]> = (value, path) => {
  if (!Array.isArray(value)) throw invalidValue(path, `must be a list of entry kinds, not ${describe(value)}`);
  const list = Array.from<unknown>(value).map((kind, index) => kindAt(kind, `${path}[${index}]`));
  if (list.length === 0)
    throw invalidValue(path, "is empty, so that nothing would be shown; leave it out to get the default");
  return Object.freeze([...new Set(list)].sort(inOrder));
};

/** Sorts the default kinds in their fixed order, then all other kinds alphabetically. */
function inOrder(a: string, b: string): number {
  return rank(a) - rank(b) || (a < b ? -1 : 1);
}

function rank(kind: string): number {
  const index = DEFAULT_KINDS.indexOf(kind);
  return index === -1 ? DEFAULT_KINDS.length : index;
}

function kindAt(kind: unknown, path: string): string {
  if (typeof kind === "string" && kind !== "" && kind.isWellFormed()) return kind;
  throw invalidValue(path, `must be the name of an entry kind, not ${kind === "" ? "an empty text" : describe(kind)}`);
}
