import { type Entry, isRefValue } from "./entry.ts";
import { ThreadError } from "./errors.ts";
import { describe, isPlainObject, readSafely } from "./json.ts";

/** One kind or several, as a list. */
export function kindsOf(kinds: unknown): readonly string[] {
  const list = readSafely("kinds", "invalid_query", () =>
    Array.isArray(kinds) ? Array.from<unknown>(kinds) : [kinds],
  );
  return list.map((kind) => {
    if (typeof kind === "string") return kind;
    throw invalid("kinds", "must be a string or an array of strings", kinds);
  });
}

/** Refuses undefined, which would match nothing or, worse, all entries without the ref. */
export function checkRef(key: unknown, value: unknown): void {
  if (typeof key !== "string") throw invalid("key", "must be a string", key);
  if (!isRefValue(value)) throw invalid("value", "must be a string, number, boolean or null", value);
}

export function checkCallId(callId: unknown): void {
  if (typeof callId !== "string") throw invalid("callId", "must be a string", callId);
}

/** Whether a value is a bound of a slice: a whole number or infinity. */
export function isBound(seq: unknown): boolean {
  return Number.isInteger(seq) || seq === Number.POSITIVE_INFINITY || seq === Number.NEGATIVE_INFINITY;
}

/**
 * The last seq that existed when the context of a model call was made, given the entries with its callId. It is the
 * recorded one, else the seq before the first entry that the model wrote. Undefined when the model wrote none.
 */
export function callBasisSeq(entriesOfCall: readonly Entry[]): number | undefined {
  for (const { payload, seq } of entriesOfCall) {
    const call = payload["call"];
    const basis = isPlainObject(call) ? call["basisLastSeq"] : undefined;
    if (typeof basis === "number" && Number.isInteger(basis) && basis >= -1 && basis < seq) return basis;
  }
  const first = entriesOfCall.find(isFromModel);
  return first && first.seq - 1;
}

function isFromModel({ kind, payload }: Entry): boolean {
  switch (kind) {
    case "message":
    case "ai_message":
      return payload["role"] === "assistant";
    case "tool_call":
    case "error":
      return true;
    default:
      return false;
  }
}

export function seqOutOfRange(seq: unknown, trouble: string): ThreadError {
  const facts = { code: "seq_out_of_range", path: "seq" };
  if (typeof seq === "number") return new ThreadError({ ...facts, seq, message: `Seq ${seq} ${trouble}.` });
  return new ThreadError({ ...facts, message: `The seq must be a whole number, not ${describe(seq)}.` });
}

export function entryNotLoaded(seq: number, firstSeq: number): ThreadError {
  const what = seq < 0 ? "The beginning of the thread" : `Entry ${seq}`;
  const message = `${what} is not loaded: the loaded part begins at ${firstSeq}. Load more of the thread from its store.`;
  return new ThreadError({ code: "entry_not_loaded", seq, message });
}

/** Refuses a tail where the whole thread is needed, unless the caller accepts a part. */
export function checkLoaded({ firstSeq }: { readonly firstSeq: number }, partial: boolean | undefined): void {
  if (firstSeq === 0 || partial === true) return;
  const message = `Only the entries from seq ${firstSeq} on are loaded. Query the store with \`store.read(id, { kinds, refs })\`, load all with \`await store.load(id)\`, or pass \`partial: true\` to use only these.`;
  throw new ThreadError({ code: "entry_not_loaded", seq: 0, message });
}

export function callNotFound(threadId: string, callId: string): ThreadError {
  const message = `No entry of thread ${threadId} was produced by call ${JSON.stringify(callId)}.`;
  return new ThreadError({ code: "call_not_found", message });
}

function invalid(path: string, rule: string, value: unknown): ThreadError {
  return new ThreadError({ code: "invalid_query", path, message: `${path} ${rule}, not ${describe(value)}.` });
}
