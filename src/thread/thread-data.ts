import { draftEntry, type Entry, makeEntry } from "./entry.ts";
import { ThreadError } from "./errors.ts";
import { copyJsonObject, fieldsOf, type JsonObject, readSafely } from "./json.ts";
import { checkName } from "./options.ts";
import type { Ports } from "./ports.ts";

/** Facts about the entries before `firstSeq`, for a thread of which only a tail is loaded. */
export interface ThreadBase {
  readonly activeLane: string;
  /** These entries include a malformed operation. The base then holds for projector heddle/1 only, which applied it. */
  readonly malformed?: true;
  readonly lanes: { readonly [lane: string]: LaneBase };
  /** The newest setting of each name of the thread, in order. Absent when there is none. */
  readonly settings?: readonly Entry[];
  /**
   * Lanes without entries before `firstSeq`, of those that were looked up. Nothing is known of a lane that is neither here nor
   * in `lanes`. Absent when `lanes` has all lanes.
   */
  readonly unwritten?: readonly string[];
}

/** Facts about the entries of one lane before `firstSeq`. */
export interface LaneBase {
  /** Sum over the lane's entries: a quarter of the UTF-8 bytes of the payload's JSON, rounded down for each entry. */
  readonly measure: number;
  /** The latest `replace` operation of the lane. */
  readonly replace?: Entry;
  /** The summary in effect: the one that reaches furthest. */
  readonly summary?: Entry;
  /** The lane began as a branch, and no replace has replaced its beginning. */
  readonly branched?: true;
  /** Where the lane began as a branch. Absent when it is not a branch, or when it began in a store of version 0.1. */
  readonly origin?: LaneBaseOrigin;
  /** The newest setting of each name of this lane, in order. Absent when there is none. */
  readonly settings?: readonly Entry[];
}

/** The beginning of a branch: the position that it left, and what it inherited from there. */
export interface LaneBaseOrigin {
  /** The lane whose own entries hold the position. */
  readonly lane: string;
  /** The position: the branch inherits the entries of that lane up to this seq. -1 for none. */
  readonly seq: number;
  /** The measure of that lane at the position, plus that of its own origin. */
  readonly measure: number;
  /** The inherited `replace` operation, while the branch has none of its own. */
  readonly replace?: Entry;
  /** The inherited summary, while the branch has no `replace` of its own. */
  readonly summary?: Entry;
  /**
   * The position was before the beginning of the lane that the branch names, so it was looked up in that lane's origin.
   * Projector heddle/1 does not do that.
   */
  readonly followed?: true;
}

/** A thread as plain data. */
export interface ThreadData {
  readonly format: "heddle.thread/1";
  readonly id: string;
  readonly rev: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly metadata: JsonObject;
  /** Only when a tail of the thread was loaded. */
  readonly firstSeq?: number;
  readonly base?: ThreadBase;
  readonly entries: readonly Entry[];
}

/** The parts that a store loads to assemble a thread. */
export interface ThreadParts {
  readonly id: string;
  readonly createdAt: number;
  readonly metadata: JsonObject;
  readonly firstSeq: number;
  readonly base: ThreadBase | undefined;
  readonly entries: readonly Entry[];
}

/** Checks and copies untrusted data. */
export function readThread(data: unknown, ports: Ports): ThreadParts {
  try {
    return read(data, ports);
  } catch (cause) {
    if (!ThreadError.isInstance(cause)) throw cause;
    const { path = "data", message } = cause;
    const index = /^entries\[(\d+)\]/.exec(path)?.[1];
    throw new ThreadError({
      code: "thread_corrupt",
      path,
      message: `The thread data is damaged: ${message}`,
      cause,
      ...(index !== undefined && { index: Number(index) }),
    });
  }
}

function read(data: unknown, ports: Ports): ThreadParts {
  const fields = fieldsOf(data, "data", "thread_corrupt");
  const { format, id, createdAt, metadata = {}, firstSeq = 0 } = fields;
  if (format !== "heddle.thread/1")
    throw bad("format", 'must be "heddle.thread/1", the only format this version reads');
  checkName("id", id);
  if (!Number.isSafeInteger(createdAt)) throw bad("createdAt", "must be whole milliseconds since 1970");
  if (!isSeq(firstSeq)) throw bad("firstSeq", "must be a seq");
  const base = fields["base"] === undefined ? undefined : readBase(fields["base"], firstSeq, ports);
  if (firstSeq > 0 && base === undefined) throw bad("base", "is missing; it is required when firstSeq is above 0");
  const entries = readEntries(fields["entries"], firstSeq, ports);
  checkRev(fields["rev"], firstSeq, entries.length);
  return {
    id,
    createdAt: createdAt as number,
    metadata: copyJsonObject(metadata, "metadata"),
    firstSeq,
    base,
    entries,
  };
}

function readEntries(value: unknown, firstSeq: number, ports: Ports): readonly Entry[] {
  const ids = new Set<string>();
  return listOf(value).map((value, index) => {
    const path = `entries[${index}]`;
    const entry = readEntry(value, path, ports);
    if (entry.seq !== firstSeq + index) throw bad(`${path}.seq`, `is ${entry.seq}, not ${firstSeq + index}`);
    if (ids.has(entry.id)) throw bad(`${path}.id`, "repeats the id of an earlier entry");
    ids.add(entry.id);
    return entry;
  });
}

function listOf(value: unknown): readonly unknown[] {
  const list = readSafely("entries", "thread_corrupt", () =>
    Array.isArray(value) ? Array.from<unknown>(value) : value,
  );
  if (Array.isArray(list)) return list;
  throw bad("entries", "must be an array");
}

function checkRev(rev: unknown, firstSeq: number, count: number): void {
  if (rev === undefined || rev === firstSeq + count) return;
  if (!isSeq(rev) || rev < firstSeq) throw bad("rev", "must be firstSeq plus the number of entries");
  const said = rev - firstSeq;
  throw said > count ? bad(`entries[${count}]`, "is missing") : bad(`entries[${said}]`, "goes beyond rev");
}

function readEntry(value: unknown, path: string, ports: Ports): Entry {
  const fields = fieldsOf(value, path, "thread_corrupt");
  for (const field of ["id", "seq", "at", "kind", "payload", "refs"]) {
    if (fields[field] === undefined) throw bad(`${path}.${field}`, "is missing");
  }
  if (!isSeq(fields["seq"])) throw bad(`${path}.seq`, "must be a whole number from 0");
  return makeEntry(draftEntry(fields, path, ports), fields["seq"]);
}

function readBase(value: unknown, firstSeq: number, ports: Ports): ThreadBase {
  const { activeLane, malformed, lanes, settings, unwritten } = fieldsOf(value, "base", "thread_corrupt");
  if (typeof activeLane !== "string") throw bad("base.activeLane", "must be the name of a lane");
  if (malformed !== undefined && malformed !== true) throw bad("base.malformed", "must be true or absent");
  const read = Object.entries(fieldsOf(lanes, "base.lanes", "thread_corrupt")).map(
    ([lane, value]): [string, LaneBase] => [lane, readLane(value, `base.lanes.${lane}`, firstSeq, ports)],
  );
  return Object.freeze({
    activeLane,
    ...(malformed && { malformed }),
    lanes: Object.freeze(Object.fromEntries(read)),
    ...(settings !== undefined && { settings: readSettings(settings, "base", firstSeq, ports) }),
    ...(unwritten !== undefined && { unwritten: readNames(unwritten) }),
  });
}

function readNames(value: unknown): readonly string[] {
  const names = readSafely("base.unwritten", "thread_corrupt", () =>
    Array.isArray(value) ? Array.from<unknown>(value) : [undefined],
  );
  return Object.freeze(
    names.map((name) => {
      if (typeof name === "string") return name;
      throw bad("base.unwritten", "must be a list of lanes");
    }),
  );
}

function readLane(value: unknown, path: string, firstSeq: number, ports: Ports): LaneBase {
  const { measure, branched, origin, settings, ...marks } = fieldsOf(value, path, "thread_corrupt");
  if (!isSeq(measure)) throw bad(`${path}.measure`, "must be a whole number from 0");
  if (branched !== undefined && branched !== true) throw bad(`${path}.branched`, "must be true or absent");
  return Object.freeze({
    measure,
    ...readMarks(marks, path, firstSeq, ports),
    ...(branched && { branched }),
    ...(origin !== undefined && { origin: readOrigin(origin, `${path}.origin`, firstSeq, ports) }),
    ...(settings !== undefined && { settings: readSettings(settings, path, firstSeq, ports) }),
  });
}

function readSettings(value: unknown, path: string, firstSeq: number, ports: Ports): readonly Entry[] {
  const list = readSafely(`${path}.settings`, "thread_corrupt", () =>
    Array.isArray(value) ? Array.from<unknown>(value) : [undefined],
  );
  return Object.freeze(list.map((one, index) => readEarlier(one, `${path}.settings[${index}]`, firstSeq, ports)));
}

function readOrigin(value: unknown, path: string, firstSeq: number, ports: Ports): LaneBaseOrigin {
  const { lane, seq, measure, followed, ...marks } = fieldsOf(value, path, "thread_corrupt");
  if (typeof lane !== "string") throw bad(`${path}.lane`, "must be the name of a lane");
  if (seq !== -1 && !isSeq(seq)) throw bad(`${path}.seq`, "must be a seq or -1");
  if (!isSeq(measure)) throw bad(`${path}.measure`, "must be a whole number from 0");
  if (followed !== undefined && followed !== true) throw bad(`${path}.followed`, "must be true or absent");
  return Object.freeze({
    lane,
    seq,
    measure,
    ...readMarks(marks, path, firstSeq, ports),
    ...(followed && { followed }),
  });
}

interface Marks {
  readonly replace?: Entry;
  readonly summary?: Entry;
}

/** The last replace and the last summary of a lane, if they are before the tail. */
function readMarks(marks: Readonly<Record<string, unknown>>, path: string, firstSeq: number, ports: Ports): Marks {
  const earlier = (mark: keyof Marks): Marks => {
    if (marks[mark] === undefined) return {};
    return { [mark]: readEarlier(marks[mark], `${path}.${mark}`, firstSeq, ports) };
  };
  return { ...earlier("replace"), ...earlier("summary") };
}

/** Reads an entry of the value that lies before the tail of the thread. */
function readEarlier(value: unknown, path: string, firstSeq: number, ports: Ports): Entry {
  const entry = readEntry(value, path, ports);
  if (entry.seq < firstSeq) return entry;
  throw bad(`${path}.seq`, `is not before ${firstSeq}, where the entries begin`);
}

/** The base of a lane. Undefined when it has no entries before the tail. Throws `lane_not_loaded` when it was not looked up. */
export function laneBaseOf(base: ThreadBase | undefined, lane: string): LaneBase | undefined {
  if (base === undefined) return undefined;
  if (Object.hasOwn(base.lanes, lane)) return base.lanes[lane]; // a lane may be named "constructor"
  if (base.unwritten === undefined || base.unwritten.includes(lane)) return undefined;
  throw laneNotLoaded(lane);
}

function laneNotLoaded(lane: string): ThreadError {
  const name = JSON.stringify(lane);
  const message = `The state of lane ${name} before the loaded entries is not loaded. Load the thread with \`lanes: [${name}]\`.`;
  return new ThreadError({ code: "lane_not_loaded", lane, message });
}

function isSeq(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function bad(path: string, trouble: string): ThreadError {
  return new ThreadError({ code: "thread_corrupt", path, message: `${path} ${trouble}.` });
}
