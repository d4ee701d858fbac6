import { isRefValue, type RefValue } from "../thread/entry.ts";
import { isPlainObject } from "../thread/json.ts";
import { invalidOption } from "./options.ts";

/** Refs that an entry must have, all of them. */
export type RefsFilter = { readonly [key: string]: RefValue };

interface RowRefs {
  /** JSON text. */
  readonly refs: string;
}

/** An index holds this many characters of the JSON text of a request id, because Postgres limits the size of a key. */
const INDEXED_CHARS = 64;

/** The JSON text of a request id that Heddle made. Its last part is random, so an index holds only that. */
const MADE_ID = /^"req_.{8}-.{4}-.{4}-.{4}-.{12}"$/su;
const RANDOM_CHARS = 13;

/** Undefined when there is nothing to filter. Refuses undefined values, which would match nothing or everything. */
export function checkRefs(refs: unknown): RefsFilter | undefined {
  if (refs === undefined) return undefined;
  if (!isPlainObject(refs) || !Object.values(refs).every(isRefValue))
    throw invalidOption("refs", "an object of texts, numbers, booleans and null");
  const copy = Object.fromEntries(Object.entries(refs)) as RefsFilter; // every value was checked
  return Object.keys(copy).length === 0 ? undefined : copy;
}

/** Whether a row has all of the refs. A row with damaged refs counts as a match, so that reading it reports the damage. */
export function hasRefs(row: RowRefs, refs: RefsFilter): boolean {
  const found = parseRefs(row.refs);
  return found === undefined || Object.entries(refs).every(([key, value]) => found[key] === value);
}

/** Each ref as it appears in the JSON text of `refs`. A driver can search for these texts. */
export function refTexts(refs: RefsFilter): readonly string[] {
  return Object.entries(refs).map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
}

/** The request id of the refs as an index has it: the last or the first characters of its JSON text. */
export function requestKey({ requestId }: RefsFilter): string | undefined {
  if (requestId === undefined) return undefined;
  const text = JSON.stringify(requestId);
  const chars = /[\ud800-\udfff]/.test(text) ? [...text] : text; // a list takes much longer, and few ids need one
  const part = MADE_ID.test(text) ? chars.slice(-RANDOM_CHARS) : chars.slice(0, INDEXED_CHARS);
  return typeof part === "string" ? part : part.join("");
}

/** The request key of a row. */
export function requestKeyOf({ refs }: RowRefs): string | undefined {
  return refs === "{}" ? undefined : requestKey(parseRefs(refs) ?? {});
}

function parseRefs(text: string): RefsFilter | undefined {
  try {
    const refs: unknown = JSON.parse(text);
    return isPlainObject(refs) ? (refs as RefsFilter) : undefined; // only values of refs are stored
  } catch {
    return undefined;
  }
}

/** Changes only A to Z to lower case, because every database can do that. */
export function lowerAscii(text: string): string {
  return /^[\0-\x7f]*$/.test(text) ? text.toLowerCase() : text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Escapes a text as JSON does, so that a search for `say "hi"` finds it in JSON text. */
export function asJsonText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Whether a JSON text contains the text, which must be in lower case and escaped as in JSON text. */
export function containsText(json: string | null, search: string): boolean {
  return lowerAscii(json ?? "").includes(search);
}
