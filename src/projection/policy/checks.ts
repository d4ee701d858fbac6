import { describe, isPlainObject } from "../../thread/json.ts";
import { invalidValue, PolicyError } from "./error.ts";

/** Converts an input value to the value of the policy, or throws a PolicyError that names `path`. */
export type Check<T> = (value: unknown, path: string) => T;

/** The checks of an object's fields, in the order of its keys. */
export type Fields<T> = { readonly [Key in keyof T]-?: Check<T[Key]> };

/** An integer of at least `least`. */
export function whole(least: number): Check<number> {
  return (value, path) => {
    if (Number.isSafeInteger(value) && Number(value) >= least) return Number(value) + 0; // -0 becomes 0
    throw invalidValue(path, `must be a whole number from ${least} on, not ${shown(value)}`);
  };
}

/** A fraction: above 0, at most 1. */
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

/** An object of exactly these fields. A missing or undefined field gets its default. */
export function fields<T extends object>(checks: Fields<T>, defaults: Partial<T>): Check<T> {
  const names = Object.keys(checks) as (keyof T & string)[]; // the keys of this object
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
  const message = `A context policy has no field ${where}. It has: ${names.join(", ")}.`;
  return new PolicyError({ code: "policy_unknown_field", path: where, message });
}

/** Shows numbers and booleans only. Text may hold secrets. */
function shown(value: unknown): string {
  return typeof value === "number" || typeof value === "boolean" ? String(value) : describe(value);
}
