import { ThreadError } from "./errors.ts";
import { describe, type JsonObject } from "./json.ts";
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
  const isObject = typeof options === "object" && options !== null && !Array.isArray(options);
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

const LONGEST = 256;
/** Almost all names. They need only this one look. */
const PLAIN = /^[\w-]{1,256}$/;

/**
 * The rule for names of threads, entries, tenants, holders and checkpoints: 1 to 256 characters, no slash or backslash, no
 * control character, no white space at the ends, not "." or "..". It is strict, so that a name can be a key, a file name or
 * a part of a URL.
 */
export function checkName(what: string, name: unknown): asserts name is string {
  if (typeof name === "string" && PLAIN.test(name)) return;
  const trouble = typeof name === "string" ? troubleWith(name) : `is ${describe(name)}, not a string`;
  if (trouble !== undefined) throw new ThreadError({ code: "invalid_id", path: what, message: `${what} ${trouble}.` });
}

function troubleWith(name: string): string | undefined {
  if (name === "") return "is empty";
  if (name.length > LONGEST) return `has ${name.length} characters; at most ${LONGEST} are allowed`;
  if (name === "." || name === "..") return `may not be "${name}"`;
  if (/[/\\]/.test(name)) return "may not contain a slash or backslash";
  if (/\p{Cc}/u.test(name)) return "may not contain control characters";
  if (name.trim() !== name) return "may not begin or end with white space";
  if (!name.isWellFormed()) return "has a lone surrogate";
  return undefined;
}

/** The id of an entry is a name, or a name with a slash and a number: the answer to a command has the ids `<command>/0`, `<command>/1`. */
export function checkEntryId(what: string, id: unknown): asserts id is string {
  const isAnswer = typeof id === "string" && id.includes("/");
  checkName(what, isAnswer ? id.replace(/\/(0|[1-9]\d{0,5})$/, "") : id);
}

/** Longer words are no typos of a name, and comparing them would take long. */
const MAX_LENGTH = 64;

/**
 * Returns the name that the caller probably meant, in any case of letters. It has at most one typo for every three
 * letters, starts with the given word, or ends with it: `requestId` for `id`.
 */
export function nearest(given: string, names: readonly string[]): string | undefined {
  if (given.length > MAX_LENGTH) return undefined;
  const word = given.toLowerCase();
  const most = Math.max(1, Math.floor(word.length / 3));
  const ranked = names
    .map((name) => ({ name, slips: slipsBetween(word, name.toLowerCase()) }))
    .filter(({ name, slips }) => slips <= most || isPart(word, name))
    .sort((a, b) => a.slips - b.slips);
  return ranked[0]?.name;
}

function isPart(word: string, name: string): boolean {
  const last = word.charAt(0).toUpperCase() + word.slice(1);
  return (word.length > 2 && name.toLowerCase().startsWith(word)) || (word.length > 1 && name.endsWith(last));
}

/** Returns the edit distance of two words: how many letters to insert, delete, change, or swap with a neighbor. */
function slipsBetween(a: string, b: string): number {
  let before: readonly number[] = [];
  let row: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const ways = [(row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same];
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) ways.push((before[j - 2] ?? 0) + 1);
      next.push(Math.min(...ways));
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Names for an error message: the one that was probably meant, and all there are. */
export function knownNames(given: string, names: readonly string[]): string {
  const meant = nearest(given, names);
  return `${meant === undefined ? "" : `Did you mean ${meant}? `}It has: ${names.join(", ")}.`;
}
