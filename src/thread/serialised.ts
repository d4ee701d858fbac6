import type { LaneBase, ThreadBase } from "./base.ts";
import { draftEntries, type Entry, type EntryInput, placeEntry } from "./entry.ts";
import { ThreadError } from "./errors.ts";
import { copyJsonObject, isPlainObject, type JsonObject } from "./json.ts";
import { checkName } from "./names.ts";
import type { Ports } from "./ports.ts";

/** A thread as plain data. */
export interface ThreadData {
  readonly format: "heddle.thread/1";
  readonly id: string;
  readonly rev: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly metadata: JsonObject;
  /** Only in a thread of which a tail was loaded. */
  readonly firstSeq?: number;
  readonly base?: ThreadBase;
  readonly entries: readonly Entry[];
}

export interface ThreadParts {
  readonly id: string;
  readonly createdAt: number;
  readonly metadata: JsonObject;
  readonly firstSeq: number;
  readonly base: ThreadBase | undefined;
  readonly entries: readonly Entry[];
}

/** Checks data from outside; nothing in it is trusted, nothing of it is kept by reference. */
export function readThread(data: unknown, ports: Ports): ThreadParts {
  if (!isPlainObject(data)) throw corrupt("The data is not an object. Pass what Thread.toJSON() gave, parsed.");
  const { format, id, createdAt, metadata = {}, entries, firstSeq = 0 } = data;
  if (format !== "heddle.thread/1") throw corrupt(`Its format is not "heddle.thread/1", the one this version reads.`);
  if (!isWhole(createdAt)) throw corrupt("createdAt is not whole milliseconds.");
  if (!isWhole(firstSeq) || firstSeq < 0) throw corrupt("firstSeq is not a seq.");
  if (!Array.isArray(entries)) throw corrupt("entries is not an array.");
  const read = reading(() => {
    checkName("thread id", id);
    return { id, metadata: copyJsonObject(metadata, "metadata"), base: readBase(data["base"], ports) };
  });
  if (firstSeq > 0 && read.base === undefined) throw corrupt("It begins in the middle of a thread but has no base.");
  const placed = readEntries(entries, firstSeq, ports);
  const { rev = firstSeq + placed.length } = data;
  if (rev !== firstSeq + placed.length) {
    throw corrupt(`It should have ${String(rev)} entries but ends at ${firstSeq + placed.length}.`, placed.length);
  }
  return { ...read, createdAt, firstSeq, entries: placed };
}

function readEntries(entries: readonly unknown[], firstSeq: number, ports: Ports): readonly Entry[] {
  const ids = new Set<string>();
  return entries.map((value, index) => {
    const entry = reading(() => readEntry(value, ports), index);
    if (entry.seq !== firstSeq + index)
      throw corrupt(`Entry ${index} has seq ${entry.seq}, not ${firstSeq + index}.`, index);
    if (ids.has(entry.id)) throw corrupt(`Entry ${index} has the id of an earlier one.`, index);
    ids.add(entry.id);
    return entry;
  });
}

function readEntry(value: unknown, ports: Ports): Entry {
  if (!isPlainObject(value)) throw invalid("It is not an object.");
  for (const field of ["id", "seq", "at", "kind", "payload", "refs"]) {
    if (value[field] === undefined) throw invalid(`It has no ${field}.`);
  }
  const [draft] = draftEntries(value as EntryInput, ports); // draftEntries checks every field itself
  if (draft === undefined || !isWhole(value["seq"])) throw invalid("Its seq is not a whole number.");
  return placeEntry(draft, value["seq"]);
}

function readBase(base: unknown, ports: Ports): ThreadBase | undefined {
  if (base === undefined) return undefined;
  if (!isPlainObject(base) || typeof base["activeLane"] !== "string" || !isPlainObject(base["lanes"])) {
    throw corrupt("Its base has no activeLane or no lanes.");
  }
  const lanes = Object.entries(base["lanes"]).map(([lane, value]) => [lane, readLane(lane, value, ports)] as const);
  return Object.freeze({ activeLane: base["activeLane"], lanes: Object.freeze(Object.fromEntries(lanes)) });
}

function readLane(lane: string, value: unknown, ports: Ports): LaneBase {
  if (!isPlainObject(value) || !isWhole(value["measure"])) throw corrupt(`The base of lane ${lane} has no measure.`);
  const { measure, replace, summary } = value;
  return Object.freeze({
    measure,
    ...(replace !== undefined && { replace: readEntry(replace, ports) }),
    ...(summary !== undefined && { summary: readEntry(summary, ports) }),
  });
}

/** Turns any trouble inside into a corruption error that says at which entry it happened. */
function reading<T>(read: () => T, index?: number): T {
  try {
    return read();
  } catch (error) {
    if (!ThreadError.isInstance(error)) throw error;
    if (index === undefined && error.code === "thread_corrupt") throw error;
    throw corrupt(index === undefined ? error.message : `Entry ${index}: ${error.message}`, index);
  }
}

function invalid(message: string): ThreadError {
  return new ThreadError({ code: "invalid_entry", message });
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function corrupt(trouble: string, index?: number): ThreadError {
  const message = `This is not an intact thread. ${trouble}`;
  return new ThreadError({ code: "thread_corrupt", message, ...(index !== undefined && { index }) });
}
