import { ThreadError } from "./errors.ts";
import { describe } from "./json.ts";

/** The names of all options of a method. A missing name is a compile error. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options>]: true };

/** Refuses unknown options, because a misspelled one would be silently ignored. */
export function refuseUnknownOptions(
  what: string,
  options: unknown,
  names: { readonly [name: string]: true },
  refused: (message: string) => Error = invalidOptions,
): void {
  const isObject = typeof options === "object" && options !== null;
  const unknown = isObject ? Object.keys(options).find((name) => !Object.hasOwn(names, name)) : undefined;
  if (isObject && unknown === undefined) return;
  const trouble = isObject
    ? `has no option ${JSON.stringify(unknown?.toWellFormed())}`
    : `takes an object of options, not ${describe(options)}`;
  throw refused(`${what} ${trouble}. It has: ${Object.keys(names).join(", ")}.`);
}

function invalidOptions(message: string): ThreadError {
  return new ThreadError({ code: "invalid_options", path: "options", message });
}
