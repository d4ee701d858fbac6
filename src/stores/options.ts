import { isPlainObject } from "../thread/json.ts";
import { StoreError } from "./errors.ts";

export function invalidOption(what: string, rule: string): StoreError {
  return new StoreError({ code: "invalid_options", message: `${what} must be ${rule}.` });
}

export function checkSeq(what: string, value: unknown): void {
  if (value !== undefined && !(Number.isSafeInteger(value) && Number(value) >= 0))
    throw invalidOption(what, "a whole number from 0");
}

/** A copy of the options. Rejects non-objects and unknown keys, so that a typo cannot disable a check. */
export function checkOptions<Options extends object>(
  options: Options,
  names: readonly (keyof Options & string)[],
): Options {
  if (!isPlainObject(options)) throw invalidOption("The options", "a plain object");
  const known: readonly string[] = names;
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return { ...options };
  const advice = known.length === 0 ? "There are none here" : `Options here are ${known.join(", ")}`;
  throw new StoreError({ code: "invalid_options", message: `There is no option ${unknown}. ${advice}.` });
}
