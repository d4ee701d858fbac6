import type { LaneOrigin, SettingSeqs } from "../../lanes/track.ts";
import type { Entry } from "../../thread/entry.ts";
import { namedLane, readBranch } from "../../thread/lane-operations.ts";
import { checkName } from "../../thread/options.ts";
import { Thread } from "../../thread/thread.ts";
import type { LaneBase, LaneBaseOrigin, ThreadBase } from "../../thread/thread-data.ts";
import { NeighborCheck } from "../earlier-rows.ts";
import { CorruptionError, StoreError } from "../errors.ts";
import { checkOptions, checkSeq, invalidOption } from "../options.ts";
import type { LoadOptions, ThreadStore } from "../port.ts";
import { asJsonText, checkRefs, lowerAscii } from "../row-filter.ts";
import { ANY_TEXTS, checkHead, damagedColumn, firstChecked, readRow } from "../row-format.ts";
import type { StoredRow, ThreadHead } from "../stored-records.ts";
import { blobTexts, newestTexts } from "./blobs.ts";
import {
  entryOf,
  linked,
  PAGE_SIZE,
  pagesOf,
  readablePagesOf,
  rowAt,
  type StoreContext,
  withConsistentHead,
} from "./context.ts";
import { lanesAfter } from "./lane-tips.ts";

/** `load` and `read`: the entries of one thread. */
export function readMethods(context: StoreContext): Pick<ThreadStore, "load" | "read"> {
  return {
    async load(threadId, options = {}) {
      const copy = checkOptions(options, ["last", "maxChars", "upToSeq", "lanes", "signal"]);
      context.checkOpen();
      checkName("threadId", threadId);
      checkSeq("last", copy.last);
      checkSeq("maxChars", copy.maxChars);
      checkSeq("upToSeq", copy.upToSeq);
      checkLanes(copy.lanes);
      const call = context.withSignal(copy.signal);
      const early = newestRows(call, threadId, copy);
      return withConsistentHead(call, threadId, async (head) => head && loadAt(call, threadId, head, copy, early));
    },

    async *read(threadId, options = {}) {
      checkName("threadId", threadId);
      checkOptions(options, ["fromSeq", "toSeq", "kinds", "search", "refs", "reverse", "limit", "signal"]);
      const {
        fromSeq = 0,
        toSeq = Number.MAX_SAFE_INTEGER,
        kinds,
        search = "",
        reverse = false,
        limit = Number.MAX_SAFE_INTEGER,
        signal,
      } = options;
      checkSeq("fromSeq", fromSeq);
      checkSeq("toSeq", toSeq);
      checkSeq("limit", limit);
      if (kinds !== undefined && !Array.isArray(kinds)) throw invalidOption("kinds", "an array of kinds");
      if (typeof search !== "string") throw invalidOption("search", "text");
      const jsonText = search === "" ? undefined : asJsonText(lowerAscii(search));
      const refs = checkRefs(options.refs);
      const range = { from: fromSeq, to: toSeq, kinds, search: jsonText, refs, reverse, limit };
      const isWhole = kinds === undefined && jsonText === undefined && refs === undefined && !reverse;
      const neighbors = isWhole ? new NeighborCheck(threadId) : undefined;
      for await (const { rows, blobs } of readablePagesOf(context.withSignal(signal), threadId, range)) {
        for (const row of rows) {
          const entry = readRow(threadId, row, context.ports.sha256, blobs);
          neighbors?.push(row, entry);
          yield entry;
        }
      }
    },
  };
}

/** The most entries that a load with `maxChars` has: with the one before them, one page. */
const MOST_LIMITED = PAGE_SIZE - 1;

/** The rows that a load of one page needs, newest first, read beside the head. They may be those of another head. */
async function newestRows(
  { driver }: StoreContext,
  threadId: string,
  { last = PAGE_SIZE, maxChars, upToSeq: to = Number.MAX_SAFE_INTEGER }: LoadOptions,
): Promise<readonly StoredRow[]> {
  const limit = 1 + (maxChars === undefined ? last : Math.min(last, MOST_LIMITED));
  if (limit > PAGE_SIZE) return [];
  try {
    return await driver.rows(threadId, { from: 0, to, reverse: true, limit });
  } catch {
    return []; // they are read again, and the caller gets that error
  }
}

async function loadAt(
  context: StoreContext,
  threadId: string,
  head: ThreadHead,
  options: LoadOptions,
  early: Promise<readonly StoredRow[]>,
): Promise<Thread> {
  const { ports } = context;
  const { createdAt, metadata } = checkHead(threadId, head, ports.sha256);
  const end = options.upToSeq === undefined ? head.rev : options.upToSeq + 1;
  if (end > head.rev) throw beyondEnd(threadId, end - 1, head.rev);
  const { last = end, maxChars } = options;
  let firstSeq = Math.max(0, end - (maxChars === undefined ? last : Math.min(last, MOST_LIMITED)));
  let from = Math.max(0, firstSeq - 1); // the row before the tail has the active lane
  const rows: StoredRow[] = [];
  const entries: Entry[] = [];
  const neighbors = new NeighborCheck(threadId);
  const read = (await early).filter(({ seq }) => seq >= from);
  const isOfHead = end < head.rev || read[0]?.hash === head.hash;
  const isRead = isOfHead && read[0]?.seq === end - 1 && read.length === end - from;
  const range = { from, to: end - 1, limit: end - from };
  const pages = isRead ? [linked(threadId, read.reverse())] : pagesOf(context, threadId, range);
  const isInTail = ({ seq }: StoredRow): boolean => seq >= firstSeq;
  for await (const whole of pages) {
    const tail = whole.filter(isInTail);
    const newest = maxChars === undefined ? undefined : await newestTexts(context, tail, maxChars);
    const blobs = newest?.texts ?? (await blobTexts(context, tail));
    firstSeq = newest?.firstSeq ?? firstSeq;
    from = Math.max(0, firstSeq - 1);
    for (const row of whole.filter(({ seq }) => seq >= from)) {
      const entry = readRow(threadId, row, ports.sha256, isInTail(row) ? blobs : ANY_TEXTS);
      if ((row.checkSum === null) !== row.seq < firstChecked(head)) throw damagedColumn(threadId, row, "check_sum");
      neighbors.push(row, entry);
      rows.push(row);
      entries.push(entry);
    }
  }
  checkExtent(threadId, entries, from, end);
  const before = firstSeq === 0 ? undefined : rows.shift();
  if (before !== undefined) entries.shift();
  const tail = before && { threadId, head, before, rows, entries };
  const base = tail && (await tailBase(context, tail, options.lanes ?? []));
  if (before !== undefined) await checkSameThread(context, threadId, before);
  return Thread.assemble({ id: threadId, createdAt, metadata, entries, firstSeq, base }, ports);
}

/**
 * Throws when the thread was deleted and recreated after the row was read: the lanes may be those of the new thread. Each entry
 * has a random salt, so the new thread has other hashes.
 */
async function checkSameThread(context: StoreContext, threadId: string, row: StoredRow): Promise<void> {
  const { hash } = await rowAt(context, threadId, row.seq);
  if (hash !== row.hash) throw new CorruptionError({ threadId, seq: row.seq, trouble: "it was replaced" });
}

function checkLanes(lanes: unknown): void {
  const isList = Array.isArray(lanes) && lanes.every((lane) => typeof lane === "string" && lane !== "");
  if (lanes !== undefined && lanes !== "all" && !isList) throw invalidOption("lanes", '"all" or a list of lanes');
}

function checkExtent(threadId: string, entries: readonly Entry[], firstSeq: number, end: number): void {
  const begins = (entries[0]?.seq ?? firstSeq) === firstSeq;
  if (begins && entries.length === end - firstSeq) return;
  const seq = begins ? firstSeq + entries.length : firstSeq;
  throw new CorruptionError({ threadId, seq, trouble: "it is missing" });
}

interface Tail {
  readonly threadId: string;
  readonly head: ThreadHead;
  /** The row before the tail. */
  readonly before: StoredRow;
  readonly rows: readonly StoredRow[];
  readonly entries: readonly Entry[];
}

/** The facts about earlier entries that a tail needs, for the lanes it uses and those asked for. */
async function tailBase(
  context: StoreContext,
  { threadId, head, before, rows, entries }: Tail,
  asked: readonly string[] | "all",
): Promise<ThreadBase> {
  const used = asked === "all" ? undefined : new Set([...asked, ...lanesUsedBy(rows, entries)]);
  const place = { threadId, head, row: before, next: rows };
  const { active, tips } = await lanesAfter(context, place, (lane) => used?.add(lane) ?? "all");
  const lanes = await Promise.all(
    [...tips].map(async ([lane, { record }]): Promise<[string, LaneBase]> => {
      const { measure, origin, replaceSeq, laneSettings } = record;
      const marks = await marksOf(context, threadId, record);
      const branched = record.branched === true || (origin !== undefined && replaceSeq === undefined);
      return [
        lane,
        Object.freeze({
          measure,
          ...marks,
          ...(branched && { branched }),
          ...(origin && { origin: await originBase(context, threadId, origin, branched) }),
          ...(await settingsAt(context, threadId, laneSettings)),
        }),
      ];
    }),
  );
  const { active: activeLane, malformed } = active;
  return Object.freeze({
    activeLane,
    ...(malformed && { malformed }),
    lanes: Object.freeze(Object.fromEntries(lanes)),
    ...(await settingsAt(context, threadId, tips.get(activeLane)?.record.settings)),
    ...(used && { unwritten: Object.freeze([...used].filter((lane) => !tips.has(lane))) }),
  });
}

/** The entries of the settings in a record, in order. Most records have none. */
async function settingsAt(
  context: StoreContext,
  threadId: string,
  seqs: SettingSeqs | undefined,
): Promise<Pick<LaneBase, "settings">> {
  if (seqs === undefined) return {};
  const sorted = Object.values(seqs).sort((a, b) => a - b);
  const entries = await Promise.all(
    sorted.map(async (seq) => entryOf(context, threadId, await rowAt(context, threadId, seq))),
  );
  return { settings: Object.freeze(entries) };
}

/** Loads the inherited entries only while the branch has no replace of its own. */
async function originBase(
  context: StoreContext,
  threadId: string,
  origin: LaneOrigin,
  branched: boolean,
): Promise<LaneBaseOrigin> {
  const { lane, seq, measure, followed } = origin;
  const marks = branched ? await marksOf(context, threadId, origin) : {};
  return Object.freeze({ lane, seq, measure, ...marks, ...(followed && { followed }) });
}

async function marksOf(
  context: StoreContext,
  threadId: string,
  { replaceSeq, summarySeq }: Pick<LaneOrigin, "replaceSeq" | "summarySeq">,
): Promise<Pick<LaneBase, "replace" | "summary">> {
  const replace = await entryAt(context, threadId, replaceSeq);
  const summary = await entryAt(context, threadId, summarySeq);
  return { ...(replace && { replace }), ...(summary && { summary }) };
}

/** The lanes of the rows, and those that their operations leave. */
function lanesUsedBy(rows: readonly StoredRow[], entries: readonly Entry[]): ReadonlySet<string> {
  const lanes = new Set(rows.map(({ lane }) => lane));
  for (const entry of entries) {
    const left = namedLane(entry) === undefined ? undefined : readBranch(entry)?.from;
    if (left !== undefined) lanes.add(left);
  }
  return lanes;
}

async function entryAt(context: StoreContext, threadId: string, seq: number | undefined): Promise<Entry | undefined> {
  return seq === undefined ? undefined : entryOf(context, threadId, await rowAt(context, threadId, seq));
}

function beyondEnd(threadId: string, seq: number, rev: number): StoreError {
  const message = `Thread ${threadId} ends at seq ${rev - 1}; there is no entry ${seq} yet.`;
  return new StoreError({ code: "seq_out_of_range", threadId, message });
}
