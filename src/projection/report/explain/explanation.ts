import type { Entry } from "../../../thread/entry.ts";
import { namedLane } from "../../../thread/lane-operation.ts";
import { LaneReader } from "../../../thread/lane-reader.ts";
import { isOfContext } from "../../history/block.ts";
import type { ExplainedEntry } from "../../projection.ts";
import { rulesOf } from "../../rules.ts";
import type { Run } from "../../run/run.ts";
import { fatesOfDropped } from "./dropped.ts";
import type { Fate } from "./fate.ts";
import { fatesOfBlocks } from "./in-blocks.ts";
import { fateOfContext, fateOfSummary, fateOnLane } from "./on-lane.ts";

/** The status of every entry, in order. Entries before a loaded tail are listed as ranges. */
export function explanationOf(run: Run): ExplainedEntry[] {
  const { engine, thread } = run;
  const fates = new Map([...fatesOfBlocks(run), ...fatesOfDropped(run)]);
  const contexts = new Set(engine.history.blocks.filter(isOfContext).map(({ seq }) => seq));
  // A branch also shows the summary and the context of the lane it left.
  const fateElsewhere = (entry: Entry): Fate => {
    if (entry === engine.history.coverage.summary) return fateOfSummary(run, entry);
    if (contexts.has(entry.seq)) return fateOfContext(run, entry);
    return { status: "other_lane", rule: "lane_not_projected", tokens: 0 };
  };
  const reader = new LaneReader(thread.base, rulesOf(run.settings.rules));
  const explained = (entry: Entry, lane: string): ExplainedEntry => {
    const fate = fates.get(entry.seq) ?? (lane === engine.lane ? fateOnLane(run, entry) : fateElsewhere(entry));
    return { seq: entry.seq, kind: entry.kind, ...fate };
  };
  const loaded = thread.toArray().map((entry) => explained(entry, reader.read(entry)));
  const known = entriesOfBase(run).map((entry) => explained(entry, namedLane(entry) ?? engine.lane));
  return thread.firstSeq === 0 ? loaded : [...withGaps(known, thread.firstSeq), ...loaded];
}

/** The entries that the base of a tail holds and this lane uses: its first replace and its summary. */
function entriesOfBase({ engine, thread: { firstSeq } }: Run): readonly Entry[] {
  const used = [engine.log.anchor, engine.history.coverage.summary];
  const known = new Map(used.flatMap((entry) => (entry && entry.seq < firstSeq ? [[entry.seq, entry] as const] : [])));
  return [...known.values()].sort((a, b) => a.seq - b.seq);
}

/** The rows up to `end`, with one more row for each gap of entries that are not loaded. */
function withGaps(rows: readonly ExplainedEntry[], end: number): readonly ExplainedEntry[] {
  const all: ExplainedEntry[] = [];
  let next = 0;
  const gapTo = (seq: number): void => {
    if (next < seq) all.push({ seq: next, kind: "", fromSeq: next, toSeq: seq - 1, ...NOT_LOADED });
    next = seq + 1;
  };
  for (const row of rows) {
    gapTo(row.seq);
    all.push(row);
  }
  gapTo(end);
  return all;
}

const NOT_LOADED = { status: "not_loaded", rule: "before_loaded", tokens: 0 } as const;
