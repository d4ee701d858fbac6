import type { LaneTrack } from "../../lanes/track.ts";
import type { LaneBase, ThreadBase } from "../../thread/base.ts";
import type { Entry } from "../../thread/entry.ts";
import { checkName } from "../../thread/names.ts";
import { Thread } from "../../thread/thread.ts";
import type { StoredRow, ThreadHead } from "../driver.ts";
import { CorruptionError, StoreError } from "../errors.ts";
import { checkHead } from "../format/head.ts";
import { readRow, trackBefore } from "../format/row.ts";
import { checkSeq } from "../options.ts";
import type { LoadOptions } from "../port.ts";
import type { StoreContext } from "./context.ts";
import { rowsOf } from "./read.ts";
import { steadily } from "./steadily.ts";

export async function load(context: StoreContext, threadId: string, options: LoadOptions): Promise<Thread | undefined> {
  checkName("threadId", threadId);
  checkSeq("last", options.last);
  checkSeq("upToSeq", options.upToSeq);
  return steadily(context, threadId, async (head) => head && loadAt(context, threadId, head, options));
}

async function loadAt(
  context: StoreContext,
  threadId: string,
  head: ThreadHead,
  options: LoadOptions,
): Promise<Thread> {
  const { ports } = context;
  const { createdAt, metadata } = checkHead(threadId, head, ports.sha256);
  const end = options.upToSeq === undefined ? head.rev : options.upToSeq + 1;
  if (end > head.rev) throw beyond(threadId, end - 1, head.rev);
  const firstSeq = Math.max(0, end - (options.last ?? end));
  const entries: Entry[] = [];
  let first: StoredRow | undefined;
  for await (const row of rowsOf(context, threadId, { from: firstSeq, to: end - 1, limit: end - firstSeq })) {
    first ??= row;
    entries.push(readRow(threadId, row, ports.sha256));
  }
  checkExtent(threadId, entries, firstSeq, end);
  const base = firstSeq === 0 ? undefined : await baseAt(context, threadId, firstSeq, head, first);
  return Thread.assemble({ id: threadId, createdAt, metadata, entries, firstSeq, base }, ports);
}

/** Row `seq` of a thread. A missing row is damage. */
export async function rowAt({ driver }: StoreContext, threadId: string, seq: number): Promise<StoredRow> {
  const [row] = await driver.rows(threadId, { from: seq, to: seq, limit: 1 });
  if (row === undefined) throw new CorruptionError({ threadId, seq, trouble: "it is missing" });
  return row;
}

export async function markOf(context: StoreContext, threadId: string, row: StoredRow): Promise<StoredRow | undefined> {
  if (row.mark === null) return undefined;
  return row.mark === row.seq ? row : rowAt(context, threadId, row.mark);
}

function checkExtent(threadId: string, entries: readonly Entry[], firstSeq: number, end: number): void {
  const begins = (entries[0]?.seq ?? firstSeq) === firstSeq;
  if (begins && entries.length === end - firstSeq) return;
  const seq = begins ? firstSeq + entries.length : firstSeq;
  throw new CorruptionError({ threadId, seq, trouble: "it is missing" });
}

/** The facts about earlier entries that a tail needs. */
async function baseAt(
  context: StoreContext,
  threadId: string,
  seq: number,
  head: ThreadHead,
  first: StoredRow | undefined,
): Promise<ThreadBase> {
  const track = await trackAt(context, threadId, seq, head, first);
  const lanes = await Promise.all(
    Object.entries(track.lanes).map(
      async ([lane, { measure, replaceSeq, summarySeq, branched }]): Promise<[string, LaneBase]> => {
        const replace = await entryAt(context, threadId, replaceSeq);
        const summary = await entryAt(context, threadId, summarySeq);
        const known = { ...(replace && { replace }), ...(summary && { summary }), ...(branched && { branched }) };
        return [lane, Object.freeze({ measure, ...known })];
      },
    ),
  );
  const { active: activeLane, malformed } = track;
  return Object.freeze({
    activeLane,
    ...(malformed && { malformed }),
    lanes: Object.freeze(Object.fromEntries(lanes)),
  });
}

async function trackAt(
  context: StoreContext,
  threadId: string,
  seq: number,
  head: ThreadHead,
  first: StoredRow | undefined,
): Promise<LaneTrack> {
  if (seq === head.rev) return head.track;
  const row = first ?? (await rowAt(context, threadId, seq));
  return trackBefore(threadId, row, await markOf(context, threadId, row));
}

async function entryAt(context: StoreContext, threadId: string, seq: number | undefined): Promise<Entry | undefined> {
  return seq === undefined ? undefined : readRow(threadId, await rowAt(context, threadId, seq), context.ports.sha256);
}

function beyond(threadId: string, seq: number, rev: number): StoreError {
  const message = `Thread ${threadId} ends at seq ${rev - 1}; there is no entry ${seq} yet.`;
  return new StoreError({ code: "seq_out_of_range", threadId, message });
}
