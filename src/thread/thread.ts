import type { ThreadBase } from "./base.ts";
import { basisOfCall } from "./calls.ts";
import {
  type Draft,
  draftEntries,
  type Entry,
  type EntryInput,
  type EntryOfKind,
  isSameEntry,
  placeEntry,
} from "./entry.ts";
import { ThreadError } from "./errors.ts";
import { copyJsonObject, type JsonObject } from "./json.ts";
import { Log } from "./log.ts";
import { checkName } from "./names.ts";
import { type Clock, type Ids, type Ports, systemPorts } from "./ports.ts";
import type { RefValue } from "./refs.ts";
import { readThread, type ThreadData, type ThreadParts } from "./serialised.ts";

const brand = Symbol.for("heddle.thread");

export interface ThreadOptions {
  readonly id?: string | undefined;
  readonly metadata?: JsonObject | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: Ids | undefined;
}

/** Everything a version of a thread is made of. */
interface Version {
  readonly id: string;
  readonly createdAt: number;
  readonly metadata: JsonObject;
  readonly ports: Ports;
  readonly log: Log;
  /** One past the last entry of this version; the shared log may go further. */
  readonly end: number;
  readonly firstSeq: number;
  readonly base: ThreadBase | undefined;
}

/**
 * What happened, in order, immutable: `append` returns a new Thread and leaves the old one as it was.
 *
 * @example
 * const empty = Thread.create();
 * const asked = empty.append({ kind: "message", payload: { role: "user", content: "What's 2+2?" } });
 * asked.entryCount; // 1
 * empty.entryCount; // 0
 */
export class Thread {
  readonly #version: Version;

  private constructor(version: Version) {
    this.#version = version;
    Object.defineProperty(this, brand, { value: true });
    Object.freeze(this);
  }

  static create(options: ThreadOptions = {}): Thread {
    const ports = portsOf(options);
    const { id = ports.ids("thread"), metadata = {} } = options;
    checkName("thread id", id);
    return new Thread({
      id,
      createdAt: ports.clock(),
      metadata: copyJsonObject(metadata, "metadata"),
      ports,
      log: new Log(0, []),
      end: 0,
      firstSeq: 0,
      base: undefined,
    });
  }

  /** Takes in what `toJSON` gave, or its JSON text parsed. Damaged data is a ThreadError with the first bad index. */
  static fromJSON(data: unknown, options: Pick<ThreadOptions, "clock" | "ids"> = {}): Thread {
    return Thread.assemble(readThread(data, portsOf(options)), options);
  }

  /** For stores: a thread of entries that are already checked, frozen and in order. */
  static assemble(parts: ThreadParts, options: Pick<ThreadOptions, "clock" | "ids"> = {}): Thread {
    const { id, createdAt, metadata, entries, firstSeq, base } = parts;
    const end = firstSeq + entries.length;
    const log = new Log(firstSeq, entries);
    return new Thread({ id, createdAt, metadata, ports: portsOf(options), log, end, firstSeq, base });
  }

  /** Whether a value is a Thread, also one made by another copy of the package. */
  static isThread(value: unknown): value is Thread {
    return typeof value === "object" && value !== null && brand in value;
  }

  get id(): string {
    return this.#version.id;
  }

  /** How many entries the thread has, loaded or not; always `lastSeq + 1`. */
  get rev(): number {
    return this.#version.end;
  }

  get createdAt(): number {
    return this.#version.createdAt;
  }

  /** The `at` of the last entry. */
  get updatedAt(): number {
    return this.last()?.at ?? this.#version.createdAt;
  }

  get metadata(): JsonObject {
    return this.#version.metadata;
  }

  get stats(): { readonly entryCount: number } {
    return { entryCount: this.entryCount };
  }

  /** The same as `rev`: entries before a loaded tail count too. */
  get entryCount(): number {
    return this.#version.end;
  }

  /** -1 when the thread is empty. */
  get lastSeq(): number {
    return this.#version.end - 1;
  }

  /** Above 0 when only a tail is loaded. */
  get firstSeq(): number {
    return this.#version.firstSeq;
  }

  /** What is known of the entries before a loaded tail. */
  get base(): ThreadBase | undefined {
    return this.#version.base;
  }

  /**
   * A new thread with the entries at its end, all of them or, when one is bad, none. An entry that is already there
   * with the same id and content is not appended again; with other content it is an error.
   */
  append(entries: EntryInput | readonly EntryInput[]): Thread {
    const { ports, log, end, firstSeq } = this.#version;
    const fresh = this.#unknown(draftEntries(entries, ports));
    if (fresh.length === 0) return this;
    const target = log.end === end ? log : new Log(firstSeq, log.range(firstSeq, end));
    for (const draft of fresh) target.push(placeEntry(draft, target.end));
    return new Thread({ ...this.#version, log: target, end: target.end });
  }

  last(): Entry | undefined {
    return this.#version.log.get(this.lastSeq);
  }

  /** Undefined beyond the end; an error before a loaded tail. */
  at(seq: number): Entry | undefined {
    if (!Number.isInteger(seq)) throw outOfRange(seq, "is not a whole number");
    this.#mustBeLoaded(seq);
    return seq < this.#version.end ? this.#version.log.get(seq) : undefined;
  }

  /** All entries that are loaded. */
  toArray(): Entry[] {
    return this.#version.log.range(this.#version.firstSeq, this.#version.end);
  }

  /** The loaded entries from one seq to another, both included. */
  slice(from: number, to: number): Entry[] {
    return this.#version.log.range(from, Math.min(to + 1, this.#version.end));
  }

  filterByKind<Kind extends string>(kinds: Kind | readonly Kind[]): EntryOfKind<Kind>[] {
    const { log, end } = this.#version;
    const wanted: readonly string[] = typeof kinds === "string" ? [kinds] : kinds;
    const seqs = [...new Set(wanted)].flatMap((kind) => log.ofKind(kind, end));
    if (wanted.length > 1) seqs.sort((a, b) => a - b);
    return this.#pick(seqs) as EntryOfKind<Kind>[]; // the index holds entries of these kinds only
  }

  filterByRef(key: string, value: RefValue): Entry[] {
    return this.#pick(this.#version.log.withRef(key, value, this.#version.end));
  }

  /** The thread as it was when `seq` was its last entry; -1 gives the empty thread. */
  upTo(seq: number): Thread {
    if (!Number.isInteger(seq) || seq < -1 || seq > this.lastSeq) throw outOfRange(seq, this.#extent());
    if (seq < this.firstSeq - 1) this.#mustBeLoaded(seq);
    return seq === this.lastSeq ? this : new Thread({ ...this.#version, end: seq + 1 });
  }

  /** Everything that model call was shown from. */
  entriesBeforeCall(callId: string): Entry[] {
    const basis = basisOfCall(this.filterByRef("callId", callId));
    if (basis === undefined && this.firstSeq === 0) {
      throw new ThreadError({
        code: "call_not_found",
        message: `No entry of thread ${this.id} was produced by call ${JSON.stringify(callId)}.`,
      });
    }
    if (this.firstSeq > 0) this.#mustBeLoaded(0);
    return this.slice(0, basis ?? -1);
  }

  /**
   * A new thread that shares the history up to and including `atSeq` and then goes its own way.
   *
   * @example
   * const other = thread.fork({ atSeq: 3 });
   * other.metadata.parentThreadId === thread.id; // true
   */
  fork(options: { readonly atSeq: number; readonly metadata?: JsonObject; readonly id?: string }): Thread {
    const { ports } = this.#version;
    const { atSeq, metadata = {}, id = ports.ids("thread") } = options;
    checkName("thread id", id);
    const { log, end, firstSeq, base } = this.upTo(atSeq).#version;
    return new Thread({
      id,
      createdAt: ports.clock(),
      metadata: copyJsonObject({ ...this.metadata, ...metadata, parentThreadId: this.id, forkSeq: atSeq }, "metadata"),
      ports,
      log,
      end,
      firstSeq,
      base,
    });
  }

  /** Plain data that `fromJSON` takes in again; what JSON.stringify uses. */
  toJSON(): ThreadData {
    const { id, rev, createdAt, updatedAt, metadata, firstSeq, base } = this;
    const entries = this.toArray();
    return {
      format: "heddle.thread/1",
      id,
      rev,
      createdAt,
      updatedAt,
      metadata,
      ...(base && { firstSeq, base }),
      entries,
    };
  }

  #unknown(drafts: readonly Draft[]): Draft[] {
    const fresh = new Map<string, Draft>();
    for (const draft of drafts) {
      const known = this.#find(draft.id) ?? placedTwice(fresh.get(draft.id));
      if (known === undefined) fresh.set(draft.id, draft);
      else if (!isSameEntry(known, draft)) throw reused(draft.id, known.seq);
    }
    return [...fresh.values()];
  }

  #find(id: string): Entry | undefined {
    const seq = this.#version.log.seqOf(id);
    return seq !== undefined && seq < this.#version.end ? this.#version.log.get(seq) : undefined;
  }

  #pick(seqs: readonly number[]): Entry[] {
    const { log } = this.#version;
    return seqs.flatMap((seq) => log.get(seq) ?? []);
  }

  #mustBeLoaded(seq: number): void {
    if (seq >= this.firstSeq || seq < 0) return;
    throw new ThreadError({
      code: "entry_not_loaded",
      seq,
      message: `Entry ${seq} is not loaded: this thread begins at ${this.firstSeq}. Load more of it from its store.`,
    });
  }

  #extent(): string {
    return `is not between -1 and ${this.lastSeq}, the last entry of thread ${this.id}`;
  }
}

function placedTwice(draft: Draft | undefined): Entry | undefined {
  return draft && placeEntry(draft, -1);
}

function portsOf({ clock = systemPorts.clock, ids = systemPorts.ids }: Pick<ThreadOptions, "clock" | "ids">): Ports {
  return { clock, ids };
}

function outOfRange(seq: number, trouble: string): ThreadError {
  return new ThreadError({ code: "seq_out_of_range", seq, message: `Seq ${seq} ${trouble}.` });
}

function reused(entryId: string, seq: number): ThreadError {
  return new ThreadError({
    code: "entry_id_reused",
    entryId,
    message: `The thread already has an entry ${entryId}${seq < 0 ? "" : ` at seq ${seq}`} with other content. Give the new one an id of its own.`,
  });
}
