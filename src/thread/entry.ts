import { ThreadError } from "./errors.ts";
import { copyJsonObject, fieldsOf, type JsonObject, reading, sameJson } from "./json.ts";
import type { EntryKinds } from "./kinds.ts";
import { checkName } from "./names.ts";
import type { Ports } from "./ports.ts";
import { copyRefs, NO_REFS, type Refs } from "./refs.ts";

interface EntryOf<Kind, Payload> {
  /** Unique within its thread, for the life of the thread. */
  readonly id: string;
  /** Position in the thread, from 0. */
  readonly seq: number;
  /** Milliseconds since 1970. The order of a thread is seq, never this. */
  readonly at: number;
  /** Version of the payload's format; absent is 1. */
  readonly v?: number;
  readonly kind: Kind;
  readonly payload: Payload;
  readonly refs: Refs;
}

/**
 * A kind that TypeScript does not know: any string at run time, and to the compiler one more literal, because a union
 * with plain strings in it does not narrow. Declare a kind in `EntryKinds` to compare with it.
 */
export type OtherKind = Other.Kind;
declare enum Other {
  Kind = "\u0000any other",
}

/**
 * One thing that happened: immutable, ordered by `seq`. Comparing `kind` narrows `payload`.
 *
 * @example
 * if (entry.kind === "tool_call") console.log(entry.payload.name);
 */
export type Entry =
  | { [Kind in keyof EntryKinds]: EntryOf<Kind, EntryKinds[Kind] & JsonObject> }[keyof EntryKinds]
  | EntryOf<OtherKind, JsonObject>;

/** The entry type of one kind. */
export type EntryOfKind<Kind extends string> = string extends Kind
  ? Entry
  : Kind extends keyof EntryKinds
    ? EntryOf<Kind, EntryKinds[Kind] & JsonObject>
    : EntryOf<OtherKind, JsonObject>;

/** What a caller says to write an entry; a `seq` in it is ignored, because seq is position. */
export interface EntryInput {
  /** Default `note`. */
  readonly kind?: string | undefined;
  /** Default `{}`. */
  readonly payload?: JsonObject | undefined;
  readonly refs?: Refs | undefined;
  /** Default a fresh one. Give your own to make a retry of the same append safe. */
  readonly id?: string | undefined;
  /** Default now. */
  readonly at?: number | undefined;
  readonly v?: number | undefined;
}

/**
 * The input of one kind. `append` takes any JSON of any kind, because kinds are open: say `satisfies` where yours is to be
 * whole: `thread.append({ kind: "invoice", payload } satisfies EntryInputOfKind<"invoice">)`.
 */
export type EntryInputOfKind<Kind extends keyof EntryKinds> = EntryInput & {
  readonly kind: Kind;
  readonly payload: EntryKinds[Kind];
};

/** An entry that is complete but has no place in a thread yet. */
export interface Draft {
  readonly id: string;
  readonly at: number;
  readonly v: number | undefined;
  readonly kind: string;
  readonly payload: JsonObject;
  readonly refs: Refs;
  /** Whether the caller chose the id: only then can the entry be there already. */
  readonly idGiven: boolean;
  /** Whether the caller chose `at`: only then does a retry have to agree on it. */
  readonly atGiven: boolean;
}

/** Validates inputs and completes them with defaults; what comes out shares nothing mutable with what went in. */
export function draftEntries(inputs: EntryInput | readonly EntryInput[], ports: Ports): readonly Draft[] {
  const list = reading("entry", "invalid_entry", () =>
    Array.isArray(inputs) ? Array.from<unknown>(inputs) : undefined,
  );
  if (list === undefined) return [draftEntry(inputs, "entry", ports)];
  return list.map((input, index) => draftEntry(input, `entries[${index}]`, ports));
}

export function draftEntry(input: unknown, path: string, { clock, ids }: Ports): Draft {
  const fields = fieldsOf(input, path, "invalid_entry");
  for (const field of Object.keys(fields)) if (!FIELDS.has(field)) throw unknownField(path, field);
  const { id = ids("entry"), at = clock(), v, kind = "note", payload, refs } = fields;
  checkName(`${path}.id`, id);
  if (!isWholeNumber(at)) throw invalid(`${path}.at`, "must be whole milliseconds since 1970");
  if (v !== undefined && !(isWholeNumber(v) && v >= 1)) throw invalid(`${path}.v`, "must be a whole number from 1");
  checkKind(`${path}.kind`, kind);
  return {
    id,
    at,
    v,
    kind,
    payload: payload === undefined ? EMPTY : copyJsonObject(payload, `${path}.payload`),
    refs: refs === undefined ? NO_REFS : copyRefs(refs, `${path}.refs`),
    idGiven: fields["id"] !== undefined,
    atGiven: fields["at"] !== undefined,
  };
}

type Placeable = Omit<Draft, "idGiven" | "atGiven">;

/** Gives a draft its place. */
export function placeEntry({ id, at, v, kind, payload, refs }: Placeable, seq: number): Entry {
  const entry = v === undefined ? { id, seq, at, kind, payload, refs } : { id, seq, at, v, kind, payload, refs };
  return Object.freeze(entry) as Entry; // kind is any string; whether a payload fits its kind is for its readers to say
}

/** Whether writing `draft` again would be the retry of `entry`: same kind, payload and refs, and `at` if it was given. */
export function isSameEntry(entry: Entry, draft: Omit<Draft, "idGiven">): boolean {
  return (
    entry.id === draft.id &&
    entry.kind === draft.kind &&
    (entry.v ?? 1) === (draft.v ?? 1) &&
    (!draft.atGiven || entry.at === draft.at) &&
    sameJson(entry.refs, draft.refs) &&
    sameJson(entry.payload, draft.payload)
  );
}

const EMPTY: JsonObject = Object.freeze({});

const FIELDS: ReadonlySet<string> = new Set(["id", "seq", "at", "v", "kind", "payload", "refs"]);

/** Dropping it would lose what the caller meant to keep. */
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
