import { largeDetailsSize, measureOf } from "../lanes/measure.ts";
import { type Sha256, utf8Length } from "../thread/encoding.ts";
import { freezeJson, type JsonObject, type JsonValue } from "../thread/json.ts";
import type { BlobUse, StoredRow } from "./stored-records.ts";

/** A longer text is stored as a blob. In characters. */
const MAX_TEXT_CHARS = 64 * 1024;
/** Shorter file data stays in the row, because its reference would need as much space. */
const MIN_FILE_CHARS = 1024;
const FILE_KEY = "base64";

/** A payload as its row stores it. */
export interface StoredPayload {
  /** The payload's JSON text. With blobs it is a list; a payload is always an object, so the two cannot be confused. */
  readonly text: string;
  /** The amount that the entry adds to the measure of its lane, for the whole payload. */
  readonly measure: number;
  /** The length of the payload's JSON text with all texts in it. */
  readonly chars: number;
  readonly blobs: readonly TextBlob[];
}

/** A text of a payload, and the blob with its JSON text. */
export interface TextBlob extends BlobUse {
  readonly text: string;
}

const NO_BLOBS: readonly TextBlob[] = Object.freeze([]);

/** The hashes of the texts that were taken out of a payload, by JSON pointer (RFC 6901). */
type References = { readonly [pointer: string]: string };

/** The list that is stored for a payload with blobs. Each referenced text is empty in `payload`. */
type WithReferences = readonly [payload: JsonObject, references: References, measure: number];

/** Moves file data and long texts to blobs. A short payload without files is only measured. */
export function encodePayload(payload: JsonObject, sha256: Sha256): StoredPayload {
  const whole = JSON.stringify(payload);
  const chars = whole.length;
  const details = largeDetailsSize(payload);
  const measure = countedMeasure(whole, details);
  if (details === 0 && !mayNeedBlobs(whole)) return { text: whole, measure, chars, blobs: NO_BLOBS };
  const references: [pointer: string, blob: TextBlob][] = [];
  const take = (pointer: string, text: string): void => {
    const content = JSON.stringify(text);
    const purpose = isFile(pointer) ? "file" : "text";
    references.push([pointer, { hash: sha256(content), content, purpose, text }]);
  };
  if (details > 0) take(DETAILS, JSON.stringify(payload["details"]));
  const rest = withoutTexts(details > 0 ? { ...payload, details: "" } : payload, "", take);
  if (references.length === 0) return { text: whole, measure, chars, blobs: NO_BLOBS };
  const hashes = Object.fromEntries(references.map(([pointer, { hash }]) => [pointer, hash]));
  return {
    text: JSON.stringify([rest, hashes, measure]),
    measure,
    chars,
    blobs: references.map(([, blob]) => blob),
  };
}

/** The part of a tool result with its details. Large details are stored as one blob of JSON text. */
const DETAILS = "/details";

function countedMeasure(whole: string, details: number): number {
  return details === 0 ? measureOf(whole) : Math.floor((utf8Length(whole) - details) / 4);
}

/** Inside a JSON string the quotes would be escaped. */
function mayNeedBlobs(text: string): boolean {
  return text.length > MAX_TEXT_CHARS || (text.length >= MIN_FILE_CHARS && text.includes(`"${FILE_KEY}":"`));
}

function withoutTexts(value: JsonValue, pointer: string, take: (pointer: string, text: string) => void): JsonValue {
  if (typeof value === "string") {
    if (value.length <= (isFile(pointer) ? MIN_FILE_CHARS - 1 : MAX_TEXT_CHARS)) return value;
    take(pointer, value);
    return "";
  }
  if (typeof value !== "object" || value === null) return value;
  if (isList(value)) return value.map((item, index) => withoutTexts(item, `${pointer}/${index}`, take));
  const fields = Object.entries(value).map(([key, item]) => [
    key,
    item === undefined ? item : withoutTexts(item, `${pointer}/${escapeKey(key)}`, take),
  ]);
  return Object.fromEntries(fields); // also keeps a key `__proto__`
}

function isFile(pointer: string): boolean {
  return pointer.endsWith(`/${FILE_KEY}`);
}

/** Whether a stored text refers to blobs. A damaged one may have another type. */
export function hasReferences(text: string | null): text is string {
  return typeof text === "string" && text.startsWith("[");
}

/** The hashes of the blobs that a stored text refers to. `isSearched` leaves out file data. */
export function referencesIn(text: string | null, { isSearched = false } = {}): readonly string[] {
  if (!hasReferences(text)) return [];
  const found = Object.entries(parseList(text)[1]);
  return found.flatMap(([pointer, hash]) => (isSearched && isFile(pointer) ? [] : hash));
}

/** The amount that an entry with this stored payload adds to the measure of its lane. */
export function storedMeasure(text: string): number {
  return hasReferences(text) ? parseList(text)[2] : measureOf(text);
}

/** The payload without the texts that are in blobs, as JSON text. */
export function searchedText(text: string): string {
  return hasReferences(text) ? JSON.stringify(parseList(text)[0]) : text;
}

/** The frozen payload of a stored text. `textOf` returns the text of a blob, or throws. */
export function decodePayload(text: string, textOf: (hash: string) => string): JsonValue {
  if (!hasReferences(text)) return freezeJson(JSON.parse(text));
  const [payload, references] = parseList(text);
  for (const [pointer, hash] of Object.entries(references)) {
    const text = textOf(hash);
    const isDetails = pointer === DETAILS && payload["role"] === "tool";
    setValue(payload, pointer, isDetails && text !== "" ? (JSON.parse(text) as JsonValue) : text); // the blob has JSON text
  }
  return freezeJson(payload);
}

/** Encodes a payload with the same texts in blobs as in the stored text, and computes the measure again. */
export function encodeAs(payload: JsonObject, stored: string | null): Omit<StoredPayload, "blobs"> {
  const whole = JSON.stringify(payload);
  const chars = whole.length;
  if (!hasReferences(stored)) return { text: whole, measure: measureOf(whole), chars };
  const measure = countedMeasure(whole, largeDetailsSize(payload));
  const [rest, references] = parseList(stored);
  return { text: JSON.stringify([rest, references, measure]), measure, chars };
}

/** The cast is safe: only `encodePayload` writes lists, and the row's hash covers the text. */
function parseList(text: string): WithReferences {
  return JSON.parse(text) as WithReferences;
}

function setValue(payload: JsonObject, pointer: string, value: JsonValue): void {
  const keys = pointer.split("/").slice(1).map(unescapeKey);
  const last = keys.pop() ?? "";
  let holder: JsonValue | undefined = payload;
  for (const key of keys) holder = (holder as JsonObject | undefined)?.[key]; // a list is read by its index like an object
  if (typeof holder !== "object" || holder === null || !Object.hasOwn(holder, last))
    throw new Error(`There is no ${pointer}.`);
  (holder as Record<string, JsonValue>)[last] = value; // it was parsed just now and is not frozen yet
}

function escapeKey(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

function unescapeKey(key: string): string {
  return key.replaceAll("~1", "/").replaceAll("~0", "~");
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value); // Array.isArray alone does not narrow readonly arrays
}

type Texts = Pick<StoredRow, "refs" | "payload">;

/** The ids of request and run, as refs begin and payloads end with them when the runtime wrote the entry. */
const IDS = /^\{("requestId":"[\w-]+","runId":"[\w-]+")[,}]/;

/** The texts for a database: ids that the payload repeats are only in the refs, which then begin with a space. */
export function leaveOutIds({ refs, payload }: Texts): Texts {
  const ids = IDS.exec(refs)?.[1];
  if (ids === undefined || payload === null || !payload.endsWith(`,${ids}}`)) return { refs, payload };
  return { refs: ` ${refs}`, payload: `${payload.slice(0, -ids.length - 2)}}` };
}

/** The reverse. Damaged refs stay as they are, so that the hash of their row reports them. */
export function putBackIds(stored: Texts): Texts {
  if (!stored.refs.startsWith(" ")) return stored;
  const refs = stored.refs.slice(1);
  const ids = IDS.exec(refs)?.[1];
  if (ids === undefined) return stored;
  return { refs, payload: stored.payload && `${stored.payload.slice(0, -1)},${ids}}` };
}
