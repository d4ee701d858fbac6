import type { LaneTrack } from "../../lanes/track.ts";
import type { Entry } from "../../thread/entry.ts";
import { checkName } from "../../thread/names.ts";
import { Thread } from "../../thread/thread.ts";
import type { LaneBase, ThreadBase } from "../../thread/thread-data.ts";
import type { StoredRow, ThreadHead } from "../driver.ts";
import { CorruptionError, StoreError } from "../errors.ts";
import { checkOptions, checkSeq, invalidOption } from "../options.ts";
import type { LoadOptions, ThreadStore } from "../port.ts";
import { checkRefs } from "../refs-filter.ts";
import { checkHead, readRow, trackBefore } from "../row-format.ts";
import { asJsonText, lowerAscii } from "../search-text.ts";
import { markOf, rowAt, rowsOf, type StoreContext, withConsistentHead } from "./context.ts";

/** `load` and `read`: the entries of one thread. */
export function readMethods(context: StoreContext): Pick<ThreadStore, "load" | "read"> {
  return {
    async load(threadId, options = {}) {
      const copy = checkOptions(options, ["last", "upToSeq", "signal"]);
      context.checkOpen();
      checkName("threadId", threadId);
      checkSeq("last", copy.last);
      checkSeq("upToSeq", copy.upToSeq);
      const call = context.withSignal(copy.signal);
      return withConsistentHead(call, threadId, async (head) => head && loadAt(call, threadId, head, copy));
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
      for await (const row of rowsOf(context.withSignal(signal), threadId, range)) {
        yield readRow(threadId, row, context.ports.sha256);
      }
    },
  };
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
  if (end > head.rev) throw beyondEnd(threadId, end - 1, head.rev);
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

function beyondEnd(threadId: string, seq: number, rev: number): StoreError {
  const message = `Thread ${threadId} ends at seq ${rev - 1}; there is no entry ${seq} yet.`;
  return new StoreError({ code: "seq_out_of_range", threadId, message });
}
