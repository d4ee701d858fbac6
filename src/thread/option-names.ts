import { ThreadError } from "./errors.ts";
import { describe } from "./json.ts";

/** Every option of a method: a new option that is not listed is a compile error. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options>]: true };

/** A misspelled option would be ignored in silence. The message names it, and those that there are. */
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
