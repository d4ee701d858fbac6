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
  | { [Kind in keyof EntryKinds]: EntryOf<Kind, EntryKinds[Kind] & JsonObject> }[keyof EntryKinds]
  | EntryOf<OtherKind, JsonObject>;

/** The entry type of one kind. */
export type EntryOfKind<Kind extends string> = string extends Kind
  ? Entry
  : Kind extends keyof EntryKinds
    ? EntryOf<Kind, EntryKinds[Kind] & JsonObject>
    : EntryOf<OtherKind, JsonObject>;

/** The input of `append`. A `seq` in it is ignored, because seq is the position in the thread. */
export interface EntryInput {
  /** Default `note`. */
  readonly kind?: string | undefined;
  /** Default `{}`. */
  readonly payload?: JsonObject | undefined;
  readonly refs?: Refs | undefined;
  /** Default: a new unique id. Pass your own to make a retry of the same append safe. */
  readonly id?: string | undefined;
  /** Default: the current time. */
  readonly at?: number | undefined;
  readonly v?: number | undefined;
}

/**
 * The input of one kind. `append` accepts any JSON for any kind. Use `satisfies` to check that a payload is complete:
 * `thread.append({ kind: "invoice", payload } satisfies EntryInputOfKind<"invoice">)`.
 */
export type EntryInputOfKind<Kind extends keyof EntryKinds> = EntryInput & {
  readonly kind: Kind;
  readonly payload: EntryKinds[Kind];
};

/** A complete entry without a place in a thread. */
export interface Draft {
  readonly id: string;
  readonly at: number;
  readonly v: number | undefined;
  readonly kind: string;
  readonly payload: JsonObject;
  readonly refs: Refs;
  /** Whether the caller chose the id. Only then can the entry be a duplicate. */
  readonly idGiven: boolean;
  /** Whether the caller chose `at`. Only then must a retry have the same `at`. */
  readonly atGiven: boolean;
}

/** Validates inputs and fills in defaults. The drafts share no mutable data with the inputs. */
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

/** Makes an entry of a draft and its seq. */
export function placeEntry({ id, at, v, kind, payload, refs }: Placeable, seq: number): Entry {
  const entry = v === undefined ? { id, seq, at, kind, payload, refs } : { id, seq, at, v, kind, payload, refs };
  return Object.freeze(entry) as Entry; // kind is any string; the readers of a kind check its payload
}

/** Whether `draft` is a retry of `entry`: equal id, kind, v, payload and refs, and equal `at` if the caller chose it. */
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
