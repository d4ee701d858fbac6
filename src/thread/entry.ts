import { ThreadError } from "./errors.ts";
import { copyJsonObject, describe, fieldsOf, type JsonObject, readSafely, sameJson } from "./json.ts";
import { camelCaseKey, type EntryKinds } from "./kinds.ts";
import { checkEntryId } from "./options.ts";
import type { Ports } from "./ports.ts";

interface EntryBase<Kind, Payload> {
  /** Unique within its thread, for the life of the thread. */
  readonly id: string;
  /** Position in the thread, from 0. */
  readonly seq: number;
  /** Milliseconds since 1970. The order of a thread is seq, never this. */
  readonly at: number;
  /** Version of the payload's format. Default 1. */
  readonly v?: number;
  readonly kind: Kind;
  readonly payload: Payload;
  readonly refs: Refs;
}

/**
 * A kind that is not declared in `EntryKinds`: any string at run time. For the compiler it is one literal, because a union
 * with plain `string` does not narrow. Declare your kind in `EntryKinds` to compare with it.
 */
export type OtherKind = Other.Kind;
declare enum Other {
  Kind = "\u0000any other",
}

/**
 * An immutable record in a thread, ordered by `seq`. Comparing `kind` narrows `payload`.
 *
 * @example
 * if (entry.kind === "tool_call") console.log(entry.payload.name);
 */
export type Entry =
  | { [Kind in keyof EntryKinds]: EntryBase<Kind, EntryKinds[Kind] & JsonObject> }[keyof EntryKinds]
  | EntryBase<OtherKind, JsonObject>;

/** The entry type of one kind. */
export type EntryByKind<Kind extends string> = string extends Kind
  ? Entry
  : Kind extends keyof EntryKinds
    ? EntryBase<Kind, EntryKinds[Kind] & JsonObject>
    : EntryBase<OtherKind, JsonObject>;

/** The input of `append`. A `seq` in it is ignored, because seq is the position in the thread. */
export interface EntryInput {
  /** Default `note`. */
  readonly kind?: string | undefined;
  /** Default `{}`. */
  readonly payload?: JsonObject | undefined;
  /** The request, call or other things that the entry belongs to. Default `{}`. */
  readonly refs?: Refs | undefined;
  /** Default: a new unique id. Pass your own to make a retry of the same append safe. */
  readonly id?: string | undefined;
  /** Default: the current time. */
  readonly at?: number | undefined;
  /** The version of the payload's form, from 1. Default: none, which readers take as 1. */
  readonly v?: number | undefined;
}

/**
 * The input of one kind. `append` accepts any JSON for any kind. Use `satisfies` to check that a payload is complete:
 * `thread.append({ kind: "invoice", payload } satisfies EntryInputByKind<"invoice">)`.
 */
export type EntryInputByKind<Kind extends keyof EntryKinds> = EntryInput & {
  readonly kind: Kind;
  readonly payload: EntryKinds[Kind];
};

/** The value of a ref. */
export type RefValue = string | number | boolean | null;

/**
 * The request, call or other things that an entry belongs to. Values are scalars. Put no personal data here, because refs
 * are indexed and survive erasure. They are never sent to a provider. You may use other keys than the named ones.
 */
export interface Refs {
  readonly requestId?: string;
  readonly runId?: string;
  readonly callId?: string;
  readonly toolCallId?: string;
  readonly iteration?: number;
  readonly parentCallId?: string;
  readonly signalId?: string;
  readonly instructionId?: string;
  readonly action?: string;
  readonly agentId?: string;
  readonly parentThreadId?: string;
  readonly entryId?: string;
  readonly [key: string]: RefValue | undefined;
}

/** A complete entry without a seq. */
export interface EntryDraft {
  readonly id: string;
  readonly at: number;
  readonly v: number | undefined;
  readonly kind: string;
  readonly payload: JsonObject;
  readonly refs: Refs;
  /** Whether the caller chose the id. Only then can the entry be a duplicate. */
  readonly hasCallerId: boolean;
  /** Whether the caller chose `at`. Only then must a retry have the same `at`. */
  readonly hasCallerAt: boolean;
}

/** Validates inputs and fills in defaults. The drafts share no mutable data with the inputs. */
export function draftEntries(inputs: EntryInput | readonly EntryInput[], ports: Ports): readonly EntryDraft[] {
  const list = readSafely("entry", "invalid_entry", () =>
    Array.isArray(inputs) ? Array.from<unknown>(inputs) : undefined,
  );
  if (list === undefined) return [draftNewEntry(inputs, "entry", ports)];
  return list.map((input, index) => draftNewEntry(input, `entries[${index}]`, ports));
}

/** Also refuses the names of another language: they would be stored, and no reader would find them. */
export function draftNewEntry(input: unknown, path: string, ports: Ports): EntryDraft {
  const draft = draftEntry(input, path, ports);
  const keys = Object.keys(draft.payload);
  if (!keys.some((key) => key.includes("_")) || keys.some((key) => /[a-z][A-Z]/.test(key))) return draft;
  for (const key of keys) {
    const known = camelCaseKey(draft.kind, key);
    if (known !== undefined) throw invalid(`${path}.payload.${key}`, `is in snake_case; the key is ${known}`);
  }
  return draft;
}

export function draftEntry(input: unknown, path: string, { clock, ids }: Ports): EntryDraft {
  const fields = fieldsOf(input, path, "invalid_entry");
  for (const field of Object.keys(fields)) if (!FIELDS.has(field)) throw unknownField(path, field);
  const { id = ids("entry"), at = clock(), v, kind = "note", payload, refs } = fields;
  checkEntryId(`${path}.id`, id);
  if (!isWholeNumber(at)) throw invalid(`${path}.at`, "must be whole milliseconds since 1970");
  if (v !== undefined && !(isWholeNumber(v) && v >= 1)) throw invalid(`${path}.v`, "must be a whole number from 1");
  checkKind(`${path}.kind`, kind);
  return {
    id,
    at: at + 0, // -0 becomes 0
    v,
    kind,
    payload: payload === undefined ? EMPTY : copyJsonObject(payload, `${path}.payload`),
    refs: refs === undefined ? NO_REFS : copyRefs(refs, `${path}.refs`),
    hasCallerId: fields["id"] !== undefined,
    hasCallerAt: fields["at"] !== undefined,
  };
}

type Placeable = Omit<EntryDraft, "hasCallerId" | "hasCallerAt">;

/** Makes an entry of a draft and its seq. */
export function makeEntry({ id, at, v, kind, payload, refs }: Placeable, seq: number): Entry {
  const entry = v === undefined ? { id, seq, at, kind, payload, refs } : { id, seq, at, v, kind, payload, refs };
  return Object.freeze(entry) as Entry; // kind is any string; the readers of a kind check its payload
}

/** Whether `draft` is a retry of `entry`: equal id, kind, v, payload and refs, and equal `at` if the caller chose it. */
export function isSameEntry(entry: Entry, draft: Omit<EntryDraft, "hasCallerId">): boolean {
  return (
    entry.id === draft.id &&
    entry.kind === draft.kind &&
    (entry.v ?? 1) === (draft.v ?? 1) &&
    (!draft.hasCallerAt || entry.at === draft.at) &&
    sameJson(entry.refs, draft.refs) &&
    sameJson(entry.payload, draft.payload)
  );
}

const EMPTY: JsonObject = Object.freeze({});
export const NO_REFS: Refs = Object.freeze({});

const FIELDS: ReadonlySet<string> = new Set(["id", "seq", "at", "v", "kind", "payload", "refs"]);

/** A frozen copy of the refs, without the undefined ones. */
export function copyRefs(value: unknown, path: string): Refs {
  const fields = fieldsOf(value, path, "invalid_refs");
  if (Object.getOwnPropertySymbols(fields).length > 0) throw invalidRef(path, "has a symbol key");
  const refs: { [key: string]: RefValue } = {};
  for (const key of Object.keys(fields)) {
    const item = fields[key];
    if (item === undefined) continue;
    if (key === "__proto__" || !key.isWellFormed()) throw invalidRef(path, "has a key that JSON cannot hold");
    if (!isRefValue(item))
      throw invalidRef(`${path}.${key}`, `is ${describe(item)}; a ref is a string, number, boolean or null`);
    refs[key] = item === 0 ? 0 : item; // JSON has no -0
  }
  return Object.freeze(refs);
}

export function isRefValue(value: unknown): value is RefValue {
  if (typeof value === "string") return value.isWellFormed();
  return value === null || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));
}

export function entryIdReused(entryId: string, seq: number): ThreadError {
  return new ThreadError({
    code: "entry_id_reused",
    entryId,
    message: `The thread already has an entry ${entryId}${seq < 0 ? "" : ` at seq ${seq}`} with other content. Use another id for the new entry.`,
  });
}

/** Refused, because ignoring the field would lose data. */
function unknownField(path: string, field: string): ThreadError {
  return invalid(`${path}.${field}`, "is not a field of an entry; content belongs in payload");
}

function checkKind(path: string, kind: unknown): asserts kind is string {
  if (typeof kind !== "string" || kind === "" || kind.length > 128 || !kind.isWellFormed() || /\p{Cc}/u.test(kind)) {
    throw invalid(path, "must be a string of 1 to 128 characters without control characters");
  }
}

function isWholeNumber(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function invalid(path: string, trouble: string): ThreadError {
  return new ThreadError({ code: "invalid_entry", path, message: `${path} ${trouble}.` });
}

function invalidRef(path: string, trouble: string): ThreadError {
  return new ThreadError({ code: "invalid_refs", path, message: `${path} ${trouble}.` });
}
