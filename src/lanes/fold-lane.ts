import type { Entry } from "../thread/entry.ts";
import { ThreadError } from "../thread/errors.ts";
import { fieldsOf, freezeJson } from "../thread/json.ts";
import type { Thread } from "../thread/thread.ts";
import { type ContextEntry, contextEntries } from "./context-entry.ts";
import { type Inherited, type LaneItem, LaneLog, laneBaseOf } from "./lane-log.ts";
import { type Branch, branchOf, namedLane, switchTarget } from "./operation.ts";
import { DEFAULT_LANE } from "./track.ts";

/** One lane as it was at a seq. */
export interface Context {
  readonly lane: string;
  readonly atSeq: number;
  /** The system prompt that the latest replace brought. */
  readonly systemPrompt?: string;
  /** Its messages, as a replace takes them: what it folds to can be put in its place, or on another lane. */
  readonly entries: readonly ContextEntry[];
  /** What it is made of: messages of the latest replace, then the entries of the lane after its base, in order. */
  readonly items: readonly LaneItem[];
  /** The latest replace: what the lane begins with. */
  readonly anchor?: Entry;
  /** The lane's running measure. */
  readonly measure: number;
  /** Whether the beginning of the lane is among the items; not when it lies before a loaded tail. */
  readonly complete: boolean;
}

/**
 * Folds one lane: the latest replace at or before `atSeq`, then the lane's entries after its base.
 *
 * @example
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "hi" } });
 * foldLane(thread, "default").entries; // [{ role: "user", content: "hi" }]
 */
export function foldLane(thread: Thread, lane: string, options: { readonly atSeq?: number } = {}): Context {
  const { atSeq = thread.lastSeq } = fieldsOf(options, "options", "invalid_options");
  if (typeof lane !== "string" || lane === "") {
    throw new ThreadError({ code: "invalid_id", path: "lane", message: "lane must be the name of a lane." });
  }
  const { items, anchor, systemPrompt, measure, complete } = foldedLog(thread, lane, atSeq);
  return Object.freeze({
    lane,
    atSeq,
    ...(systemPrompt !== undefined && { systemPrompt }),
    entries: freezeJson(contextEntries(items)),
    items: Object.freeze(items),
    measure,
    complete,
    ...(anchor && { anchor }),
  });
}

function foldedLog(thread: Thread, lane: string, atSeq: number): LaneLog {
  const version = thread.upTo(atSeq);
  const log = laneLogOf(version, lane);
  for (const entry of version.toArray()) log.push(entry);
  return log;
}

/** A log of one lane that knows what the thread's base says, and nothing of its entries yet; `latest` is the thread as it has grown. */
export function laneLogOf(thread: Thread, lane: string, latest: () => Thread = () => thread): LaneLog {
  return new LaneLog(lane, thread.firstSeq, thread.base, (from, atSeq) => originOf(latest(), { from, atSeq }));
}

/**
 * What a branch begins with. The lane it leaves may be a branch itself, and so on, further than a stack is deep: the oldest
 * is folded first and goes on as the next.
 */
function originOf(thread: Thread, branch: Branch): Inherited {
  if (!isLoaded(thread, branch)) return NOT_LOADED;
  const entries = entriesByLane(thread.upTo(branch.atSeq));
  const origins = [branch];
  for (let at = leftBy(thread, branch, entries); at !== undefined; at = leftBy(thread, at, entries)) origins.push(at);
  const log = laneLogOf(thread, origins.at(-1)?.from ?? branch.from);
  for (const { from, atSeq } of origins.toReversed()) {
    if (from !== log.lane) log.goOnAs(from);
    for (const entry of entries.get(from) ?? []) {
      if (entry.seq > atSeq) break;
      log.add(entry);
    }
  }
  return log;
}

/** The branch that the origin of another is, if all of it can be seen. */
function leftBy(thread: Thread, { from, atSeq }: Branch, entries: EntriesByLane): Branch | undefined {
  const first = laneBaseOf(thread.base, from) === undefined ? entries.get(from)?.[0] : undefined;
  const branch = first !== undefined && first.seq <= atSeq ? branchOf(first) : undefined;
  return branch !== undefined && isLoaded(thread, branch) ? branch : undefined;
}

/** A branch that leaves its lane before what is loaded has a beginning nobody can see yet. */
function isLoaded({ firstSeq }: Thread, { atSeq }: Branch): boolean {
  return firstSeq === 0 || atSeq >= firstSeq;
}

const NOT_LOADED: Inherited = { items: [], measure: 0, complete: false };

type EntriesByLane = ReadonlyMap<string, readonly Entry[]>;

function entriesByLane(thread: Thread): EntriesByLane {
  const entries = new Map<string, Entry[]>();
  let active = thread.base?.activeLane ?? DEFAULT_LANE;
  for (const entry of thread.toArray()) {
    const lane = namedLane(entry) ?? active;
    active = switchTarget(entry) ?? active;
    const own = entries.get(lane);
    if (own === undefined) entries.set(lane, [entry]);
    else own.push(entry);
  }
  return entries;
}
