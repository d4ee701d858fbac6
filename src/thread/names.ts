import { ThreadError } from "./errors.ts";
import { describe } from "./json.ts";

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
