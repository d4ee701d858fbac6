import { ThreadError } from "./errors.ts";
import { describe, type JsonObject } from "./json.ts";
import { knownNames } from "./nearest-name.ts";
import { type Clock, type Ids, type Ports, systemPorts } from "./ports.ts";

/** The options of a new thread. */
export interface ThreadOptions {
  /** Default: a generated id. */
  readonly id?: string | undefined;
  /** Default `{}`. */
  readonly metadata?: JsonObject | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
  /** Default: UUIDs of version 7. */
  readonly ids?: Ids | undefined;
}

export const PORT_OPTIONS = { clock: true, ids: true } as const;
export const THREAD_OPTIONS: OptionNames<ThreadOptions> = { id: true, metadata: true, ...PORT_OPTIONS };

/** The names of all options of a method. Put them beside the type of the options: a missing name does not compile. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options>]: true };

/** Refuses unknown options, because a misspelled one would be silently ignored. */
export function refuseUnknownOptions(
  what: string,
  options: unknown,
  names: { readonly [name: string]: true },
  makeError: (message: string) => Error = (message) => invalid("options", message),
): void {
  const isObject = typeof options === "object" && options !== null;
  const unknown = isObject ? Object.keys(options).find((name) => !Object.hasOwn(names, name)) : undefined;
  if (isObject && unknown === undefined) return;
  const trouble = isObject
    ? `has no option ${JSON.stringify(unknown?.toWellFormed())}`
    : `takes an object of options, not ${describe(options)}`;
  throw makeError(`${what} ${trouble}. ${knownNames(unknown ?? "", Object.keys(names))}`);
}

/** The ports in the options, else those of the system. */
export function resolvePorts({ clock = systemPorts.clock, ids = systemPorts.ids }: ThreadOptions): Ports {
  if (typeof clock !== "function")
    throw invalid("options.clock", `options.clock must be a function, not ${describe(clock)}.`);
  if (typeof ids !== "function") throw invalid("options.ids", `options.ids must be a function, not ${describe(ids)}.`);
  return { clock, ids };
}

/** The time of the clock. Refuses a clock that does not return whole milliseconds. */
export function currentTime({ clock }: Ports): number {
  const at = clock();
  if (!Number.isSafeInteger(at))
    throw invalid("options.clock", "options.clock must return whole milliseconds since 1970.");
  return at;
}

function invalid(path: string, message: string): ThreadError {
  return new ThreadError({ code: "invalid_options", path, message });
}
