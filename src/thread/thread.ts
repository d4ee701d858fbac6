import {
  draftEntries,
  type Entry,
  type EntryByKind,
  type EntryDraft,
  type EntryInput,
  entryIdReused,
  isSameEntry,
  makeEntry,
  type RefValue,
} from "./entry.ts";
import { markOf } from "./errors.ts";
import { copyJsonObject, fieldsOf, type JsonObject } from "./json.ts";
import { dropsSystem, type FormattedMessage, type MessageFormat } from "./messages/formats.ts";
import { readJido } from "./messages/from-jido.ts";
import { entriesFromMessages, withModelCall } from "./messages/from-messages.ts";
import {
  checkLane,
  laneEntries,
  messagesFromEntries,
  TO_MESSAGES_OPTIONS,
  type ToMessagesOptions,
} from "./messages/to-messages.ts";
import {
  checkName,
  currentTime,
  PORT_OPTIONS,
  refuseUnknownOptions,
  resolvePorts,
  THREAD_OPTIONS,
  type ThreadOptions,
} from "./options.ts";
import type { Ports } from "./ports.ts";
import {
  callBasisSeq,
  callNotFound,
  checkCallId,
  checkLoaded,
  checkRef,
  EntryLog,
  entryNotLoaded,
  isBound,
  kindsOf,
  seqOutOfRange,
} from "./queries.ts";
import { readThread, type ThreadBase, type ThreadData, type ThreadParts } from "./thread-data.ts";

const brand = Symbol.for("heddle.thread");
/** The method that Node, Deno and Bun call for console.log. */
const inspect = Symbol.for("nodejs.util.inspect.custom");

/** Whether a query may answer from a loaded tail alone. Default false. */
interface LoadedPart {
  readonly partial?: boolean | undefined;
}

/** The data of one version of a thread. */
interface Version {
  readonly id: string;
  readonly createdAt: number;
  readonly metadata: JsonObject;
  readonly ports: Ports;
  readonly log: EntryLog;
  /** One past the last entry of this version. The shared log may be longer. */
  readonly end: number;
  readonly firstSeq: number;
  readonly base: ThreadBase | undefined;
}

/**
 * An immutable, ordered log of entries. `append` returns a new Thread and does not change the old one.
 *
 * @example
 * const empty = Thread.create();
 * const asked = empty.append({ kind: "message", payload: { role: "user", content: "What's 2+2?" } });
 * asked.entryCount; // 1
 * empty.entryCount; // 0
 */
export class Thread {
  readonly #version: Version;

  static {
    Object.defineProperty(Thread.prototype, brand, { value: true });
  }

  private constructor(version: Version) {
    this.#version = version;
    Object.freeze(this);
  }

  static create(options: ThreadOptions = {}): Thread {
    const fields = fieldsOf(options, "options", "invalid_options");
    refuseUnknownOptions("Thread.create", fields, THREAD_OPTIONS);
    const ports = resolvePorts(fields);
    const { id = ports.ids("thread"), metadata = {} } = fields;
    checkName("thread id", id);
    return new Thread({
      id,
      createdAt: currentTime(ports),
      metadata: copyJsonObject(metadata, "metadata"),
      ports,
      log: new EntryLog(0, []),
      end: 0,
      firstSeq: 0,
      base: undefined,
    });
  }

  /** Reads the output of `toJSON` or its parsed JSON. Damaged data throws a ThreadError with the first bad index. */
  static fromJSON(data: unknown, options: Pick<ThreadOptions, "clock" | "ids"> = {}): Thread {
    const fields = fieldsOf(options, "options", "invalid_options");
    refuseUnknownOptions("Thread.fromJSON", fields, PORT_OPTIONS);
    const ports = resolvePorts(fields);
    return Thread.assemble(readThread(data, ports), ports);
  }

  /**
   * Makes a thread of a list of messages. Leading system messages become the prompt. Each other message becomes one or more
   * entries. `toMessages` returns the same list.
   *
   * `format` may be left out when the list can have only one format. Use `system: "drop"` for an agent with its own prompt,
   * because the prompt of the list would override it.
   *
   * @example
   * const thread = Thread.fromMessages([{ role: "user", content: "Hi" }], { format: "openai-chat" });
   * thread.toMessages(); // [{ role: "user", content: "Hi" }]
   */
  static fromMessages(
    list: readonly unknown[],
    options: ThreadOptions & {
      readonly format?: MessageFormat | undefined;
      /** Whether leading system messages become the prompt or are dropped. Default "keep". */
      readonly system?: "keep" | "drop" | undefined;
      /** The model that answered and `meta.fingerprint` of what it was shown, so that its thinking is sent again. Default none. */
      readonly call?: { readonly model: string; readonly fingerprint?: string | undefined } | undefined;
    } = {},
  ): Thread {
    const fields = fieldsOf(options, "options", "invalid_options");
    refuseUnknownOptions("Thread.fromMessages", fields, { ...THREAD_OPTIONS, format: true, system: true, call: true });
    const { format, system, call, ...others } = fields;
    const entries = entriesFromMessages(list, format, resolvePorts(others).ids, dropsSystem(system));
    return Thread.create(others).append(call === undefined ? entries : withModelCall(entries, call));
  }

  /**
   * Makes a thread of an export of Jido: `{ thread, context }`, a thread or a context, as JSON with keys in snake_case. Ids, times and
   * kinds stay. A request of Jido is history: no agent resumes it.
   *
   * @example
   * const context = { entries: [{ role: "assistant", content: "4" }, { role: "user", content: "What's 2+2?" }] };
   * Thread.fromJido({ context }).toMessages().length; // 2
   */
  static fromJido(value: unknown, options: ThreadOptions = {}): Thread {
    const fields = fieldsOf(options, "options", "invalid_options");
    refuseUnknownOptions("Thread.fromJido", fields, THREAD_OPTIONS);
    const { entries, createdAt, id, metadata } = readJido(value);
    const made = Thread.create({ ...fields, id: fields.id ?? id, metadata: { ...metadata, ...fields.metadata } });
    return new Thread({ ...made.#version, ...(createdAt !== undefined && { createdAt }) }).append(entries);
  }

  /** For stores: a thread of entries that are already checked, frozen and in order. Nothing is checked again. */
  static assemble(parts: ThreadParts, options: Pick<ThreadOptions, "clock" | "ids"> = {}): Thread {
    const { id, createdAt, metadata, entries, firstSeq, base } = parts;
    const end = firstSeq + entries.length;
    const log = new EntryLog(firstSeq, entries);
    return new Thread({ id, createdAt, metadata, ports: resolvePorts(options), log, end, firstSeq, base });
  }

  /** Whether a value is a Thread, even one made by another copy of the package. */
  static isThread(value: unknown): value is Thread {
    return markOf(value, brand) === true;
  }

  get id(): string {
    return this.#version.id;
  }

  /** The number of entries, loaded or not. Always `lastSeq + 1`. */
  get rev(): number {
    return this.#version.end;
  }

  get createdAt(): number {
    return this.#version.createdAt;
  }

  /** The `at` of the last entry, or `createdAt` when no entry is loaded. */
  get updatedAt(): number {
    return this.#version.log.get(this.lastSeq)?.at ?? this.#version.createdAt;
  }

  get metadata(): JsonObject {
    return this.#version.metadata;
  }

  get stats(): { readonly entryCount: number } {
    return { entryCount: this.entryCount };
  }

  /** The same as `rev`. Entries before a loaded tail count too. */
  get entryCount(): number {
    return this.#version.end;
  }

  /** The seq of the last entry. -1 when the thread is empty. */
  get lastSeq(): number {
    return this.#version.end - 1;
  }

  /** The seq of the first loaded entry. Above 0 when only a tail is loaded. */
  get firstSeq(): number {
    return this.#version.firstSeq;
  }

  /** Facts about the entries before a loaded tail. Undefined when all entries are loaded. */
  get base(): ThreadBase | undefined {
    return this.#version.base;
  }

  /**
   * Returns a new thread with the entries at its end. If one entry is invalid, none is appended. An entry whose id and
   * content are already in the thread is skipped. The same id with other content is an error.
   */
  append(entries: EntryInput | readonly EntryInput[]): Thread {
    const { ports, log, end } = this.#version;
    const fresh = this.#unknown(draftEntries(entries, ports));
    if (fresh.length === 0) return this;
    const target = log.end === end ? log : log.branch(end);
    for (const draft of fresh) target.push(makeEntry(draft, target.end));
    return new Thread({ ...this.#version, log: target, end: target.end });
  }

  /** The newest entry. Undefined in an empty thread. Throws if only earlier and no loaded entries exist. */
  last(): Entry | undefined {
    if (this.lastSeq >= 0) this.#mustBeLoaded(this.lastSeq);
    return this.#version.log.get(this.lastSeq);
  }

  /** The entry at a seq. Undefined beyond the end. Throws before a loaded tail. */
  at(seq: number): Entry | undefined {
    if (!Number.isInteger(seq)) throw seqOutOfRange(seq, "is not a whole number");
    if (seq >= 0) this.#mustBeLoaded(seq);
    return seq < this.#version.end ? this.#version.log.get(seq) : undefined;
  }

  /** All entries. If only a tail is loaded, this throws `entry_not_loaded`, or with `partial: true` returns the tail. */
  toArray(options: LoadedPart = {}): Entry[] {
    checkLoaded(this, options.partial);
    return this.#version.log.range(this.#version.firstSeq, this.#version.end);
  }

  /** The entries from one seq to another, both inclusive. Throws before a loaded tail; `firstSeq` is where it begins. */
  slice(from: number, to: number): Entry[] {
    for (const seq of [from, to]) if (!isBound(seq)) throw seqOutOfRange(seq, "is not a whole number");
    const first = Math.max(0, from);
    const end = Math.min(to + 1, this.#version.end);
    if (first < end) this.#mustBeLoaded(first);
    return this.#version.log.range(first, end);
  }

  /** The entries of one kind or several. If only a tail is loaded, this throws `entry_not_loaded` without `partial: true`. */
  filterByKind<Kind extends string>(kinds: Kind | readonly Kind[], options: LoadedPart = {}): EntryByKind<Kind>[] {
    const { log, end } = this.#version;
    checkLoaded(this, options.partial);
    const wanted = new Set(kindsOf(kinds));
    const seqs = [...wanted].flatMap((kind) => log.ofKind(kind, end));
    if (wanted.size > 1) seqs.sort((a, b) => a - b);
    return this.#pick(seqs) as EntryByKind<Kind>[]; // the index holds entries of these kinds only
  }

  /** The entries with this ref. If only a tail is loaded, this throws `entry_not_loaded` without `partial: true`. */
  filterByRef(key: string, value: RefValue, options: LoadedPart = {}): Entry[] {
    checkRef(key, value);
    checkLoaded(this, options.partial);
    return this.#pick(this.#version.log.withRef(key, value, this.#version.end));
  }

  /** The thread as it was when `seq` was its last entry. -1 gives the empty thread. */
  upTo(seq: number): Thread {
    if (!Number.isInteger(seq) || seq < -1 || seq > this.lastSeq) throw seqOutOfRange(seq, this.#extent());
    if (seq === this.lastSeq) return this;
    if (this.firstSeq > 0) this.#mustBeLoaded(seq);
    return new Thread({ ...this.#version, end: seq + 1 });
  }

  /** The entries that existed when the context of a model call was made. */
  entriesBeforeCall(callId: string): Entry[] {
    checkCallId(callId);
    this.#mustBeLoaded(0);
    const basis = callBasisSeq(this.filterByRef("callId", callId));
    if (basis === undefined) throw callNotFound(this.id, callId);
    return this.slice(0, basis);
  }

  /**
   * Returns a new thread with the history up to and including `atSeq`. Later appends to one do not affect the other.
   *
   * @example
   * const other = thread.fork({ atSeq: 3 });
   * other.metadata.parentThreadId === thread.id; // true
   */
  fork(options: { readonly atSeq: number } & Pick<ThreadOptions, "id" | "metadata">): Thread {
    const { ports } = this.#version;
    const fields = fieldsOf(options, "options", "invalid_options");
    refuseUnknownOptions("fork", fields, { atSeq: true, id: true, metadata: true });
    const { atSeq, metadata = {}, id = ports.ids("thread") } = fields;
    checkName("thread id", id);
    const { log, end, firstSeq, base } = this.upTo(atSeq).#version;
    const own = copyJsonObject(metadata, "metadata");
    return new Thread({
      id,
      createdAt: currentTime(ports),
      metadata: Object.freeze({ ...this.metadata, ...own, parentThreadId: this.id, forkSeq: atSeq }),
      ports,
      log,
      end,
      firstSeq,
      base,
    });
  }

  /**
   * The messages of a lane, by default the active one. The default format is the one given to `fromMessages`, else neutral.
   * The list is not what a model is shown; use `project` for that. If only a tail is loaded, this throws `entry_not_loaded`,
   * or with `partial: true` returns the messages of the tail.
   */
  toMessages<Format extends MessageFormat>(options: {
    readonly format: Format;
    readonly lane?: string | undefined;
    readonly partial?: boolean | undefined;
  }): FormattedMessage<Format>[];
  toMessages(options?: ToMessagesOptions): JsonObject[];
  toMessages(options: ToMessagesOptions = {}): unknown[] {
    const fields = fieldsOf(options, "options", "invalid_options");
    refuseUnknownOptions("toMessages", fields, TO_MESSAGES_OPTIONS);
    const { format, lane, partial } = fields;
    checkLoaded(this, partial);
    return [
      ...messagesFromEntries(
        laneEntries(this.toArray({ partial }), { lane: checkLane(lane), base: this.base }),
        format,
      ),
    ];
  }

  /** Plain data that `fromJSON` can read. JSON.stringify uses it. */
  toJSON(): ThreadData {
    const { id, rev, createdAt, updatedAt, metadata, firstSeq, base } = this;
    const entries = this.toArray({ partial: true });
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

  [inspect](): string {
    return `Thread(${this.id}, ${this.rev} entries)`;
  }

  #unknown(drafts: readonly EntryDraft[]): EntryDraft[] {
    const fresh = new Map<string, EntryDraft>();
    for (const draft of drafts) {
      const known = this.#find(draft.id) ?? placedTwice(fresh.get(draft.id));
      if (known === undefined) fresh.set(draft.id, draft);
      else if (!isSameEntry(known, draft)) throw entryIdReused(draft.id, known.seq);
    }
    return [...fresh.values()];
  }

  #find(id: string): Entry | undefined {
    const seq = this.#version.log.seqOf(id, this.#version.end);
    return seq === undefined ? undefined : this.#version.log.get(seq);
  }

  #pick(seqs: readonly number[]): Entry[] {
    const { log } = this.#version;
    const entries: Entry[] = [];
    for (const seq of seqs) {
      const entry = log.get(seq);
      if (entry !== undefined) entries.push(entry);
    }
    return entries;
  }

  #mustBeLoaded(seq: number): void {
    if (seq >= this.firstSeq) return;
    throw entryNotLoaded(seq, this.firstSeq);
  }

  #extent(): string {
    return `is not between -1 and ${this.lastSeq}, the last entry of thread ${this.id}`;
  }
}

function placedTwice(draft: EntryDraft | undefined): Entry | undefined {
  return draft && makeEntry(draft, -1);
}
