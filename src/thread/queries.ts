import { type Entry, isRefValue, type RefValue } from "./entry.ts";
import { ThreadError } from "./errors.ts";
import { describe, isPlainObject, readSafely } from "./json.ts";

/** A shared part up to this size is copied, so that many short branches do not make a long chain. */
const COPIED_ENTRIES = 64;

/**
 * The log that all versions of a thread share. It only grows, and only at the end of the newest version. An older
 * version keeps its own end, so that later entries do not appear in it. Appending to an older version makes a branch: a log
 * that begins at the end of that version and reads earlier entries from the shared one.
 */
export class EntryLog {
  /** The log with the entries before `#start`. Its own later entries belong to other versions. */
  #parent: EntryLog | undefined;
  #start: number;
  #entries: Entry[];
  /** Built on first use and then extended. A log that is only read does not need it. */
  #seqById = new Map<string, number>();
  #byKind = kindIndex();
  readonly #byRef = new Map<string, LazyIndex<RefValue>>();

  constructor(start: number, entries: readonly Entry[], parent?: EntryLog) {
    this.#parent = parent;
    this.#start = start;
    this.#entries = [...entries];
  }

  /** One past the last seq of the newest version. */
  get end(): number {
    return this.#start + this.#entries.length;
  }

  push(entry: Entry): void {
    this.#entries.push(entry);
  }

  /** A log with the entries before `end`, which grows on its own. Copies only a short part. */
  branch(end: number): EntryLog {
    if (this.#parent !== undefined && end <= this.#start) return this.#parent.branch(end);
    this.#shortenChain();
    if (end - this.#start > COPIED_ENTRIES) return new EntryLog(end, [], this);
    return new EntryLog(this.#start, this.range(this.#start, end), this.#parent);
  }

  /** Takes in ancestors of up to twice its size. So a chain of n entries has about log n logs, and each is taken in seldom. */
  #shortenChain(): void {
    for (let parent = this.#parent; parent !== undefined; parent = this.#parent) {
      const earlier = parent.#entries.slice(0, this.#start - parent.#start);
      if (earlier.length > 2 * this.#entries.length) return;
      this.#seqById = new Map();
      this.#entries = earlier.concat(this.#entries);
      this.#start = parent.#start;
      this.#parent = parent.#parent;
      this.#byKind = kindIndex();
      this.#byRef.clear();
    }
  }

  get(seq: number): Entry | undefined {
    return seq < this.#start ? this.#parent?.get(seq) : this.#entries[seq - this.#start];
  }

  range(from: number, end: number): Entry[] {
    const own = this.#entries.slice(Math.max(0, from - this.#start), Math.max(0, end - this.#start));
    if (this.#parent === undefined || from >= this.#start) return own;
    return this.#parent.range(from, Math.min(end, this.#start)).concat(own);
  }

  /** The seq of an id below `end`. */
  seqOf(id: string, end: number): number | undefined {
    for (let index = this.#seqById.size; index < this.#entries.length; index++) {
      const entry = this.#entries[index];
      if (entry !== undefined) this.#seqById.set(entry.id, entry.seq);
    }
    const seq = this.#seqById.get(id);
    return seq !== undefined && seq < end ? seq : this.#parent?.seqOf(id, Math.min(end, this.#start));
  }

  /** Seqs below `end`, in order. */
  ofKind(kind: string, end: number): readonly number[] {
    return this.#collect(end, (log, end) => log.#byKind.find(kind, log.#entries, end));
  }

  withRef(key: string, value: RefValue, end: number): readonly number[] {
    return this.#collect(end, (log, end) => log.#refIndex(key).find(value, log.#entries, end));
  }

  #collect(end: number, find: (log: EntryLog, end: number) => readonly number[]): readonly number[] {
    const own = find(this, end);
    if (this.#parent === undefined) return own;
    const earlier = this.#parent.#collect(Math.min(end, this.#start), find);
    return earlier.length === 0 ? own : earlier.concat(own);
  }

  #refIndex(key: string): LazyIndex<RefValue> {
    const known = this.#byRef.get(key);
    if (known !== undefined) return known;
    const index = new LazyIndex<RefValue>(({ refs }) => (Object.hasOwn(refs, key) ? refs[key] : undefined));
    this.#byRef.set(key, index);
    return index;
  }
}

function kindIndex(): LazyIndex<string> {
  return new LazyIndex((entry) => entry.kind);
}

/** An index from values to seqs. It is built on first use and then extended. */
class LazyIndex<Value> {
  readonly #pick: (entry: Entry) => Value | undefined;
  readonly #seqs = new Map<Value, number[]>();
  #indexed = 0;

  constructor(pick: (entry: Entry) => Value | undefined) {
    this.#pick = pick;
  }

  find(value: Value, entries: readonly Entry[], end: number): readonly number[] {
    for (; this.#indexed < entries.length; this.#indexed++) {
      const entry = entries[this.#indexed];
      if (entry !== undefined) this.#add(entry);
    }
    const seqs = this.#seqs.get(value) ?? [];
    const last = seqs.at(-1);
    return last === undefined || last < end ? seqs : seqs.slice(0, firstNotBelow(seqs, end));
  }

  #add(entry: Entry): void {
    const value = this.#pick(entry);
    if (value === undefined) return;
    const seqs = this.#seqs.get(value);
    if (seqs === undefined) this.#seqs.set(value, [entry.seq]);
    else seqs.push(entry.seq);
  }
}

function firstNotBelow(sorted: readonly number[], bound: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? bound) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

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
