import type { Entry } from "../../thread/entry.ts";
import { branchOf, replaceOf, summaryReach, switchTarget } from "../../thread/lane-operation.ts";
import { LaneReader } from "../../thread/lane-reader.ts";
import { checkLoaded } from "../../thread/refusals.ts";
import { Thread } from "../../thread/thread.ts";
import { ProjectionError } from "../error.ts";
import { checkName, checkReaders, knownFields } from "../input/check.ts";
import { DEFAULT_KINDS } from "../policy/kinds.ts";
import { readSaid } from "./read.ts";
import type { Readers, Said } from "./reader.ts";
import { registryOf } from "./registry.ts";

interface Place {
  readonly seq: number;
  readonly at: number;
  readonly lane: string;
  readonly callId?: string;
  readonly requestId?: string;
}

/** A message, a summary, or a change of the lane. */
export type TranscriptItem = Place &
  (
    | Said
    | { readonly type: "summary"; readonly fromSeq: number; readonly toSeq: number; readonly content: string }
    /** The lane's entries up to `baseSeq` are replaced with this number of messages. */
    | { readonly type: "boundary"; readonly operation: "replace"; readonly baseSeq: number; readonly messages: number }
    /** Another lane becomes the active one. */
    | { readonly type: "boundary"; readonly operation: "switch"; readonly from?: string; readonly atSeq?: number }
  );

export interface TranscriptOptions {
  /** The lane to list. Default all lanes. */
  readonly lane?: string | undefined;
  /** List only the messages of one model call and the results of its tools. Default all. */
  readonly callId?: string | undefined;
  /** Readers of your own kinds. Default none. */
  readonly readers?: Readers | undefined;
  /** Accepts a thread of which only the tail is loaded, and lists the tail. Default false: throws `entry_not_loaded`. */
  readonly partial?: boolean | undefined;
}

/**
 * Every message of a thread as it was written, independent of the entry's kind. Entries without a message are left out. A
 * malformed entry throws a ProjectionError.
 *
 * @example
 * const thread = Thread.create().append({ kind: "message", payload: { role: "user", content: "What's 2+2?" } });
 * transcript(thread).map(({ type }) => type); // ["user"]
 */
export function transcript(thread: Thread, options: TranscriptOptions = {}): TranscriptItem[] {
  if (!Thread.isThread(thread)) {
    throw new ProjectionError({ code: "invalid_input", message: "The first argument of transcript must be a Thread." });
  }
  const fields = knownFields(options, "options", ["lane", "callId", "readers", "partial"]);
  const { lane: wanted, callId, readers = {}, partial } = fields;
  checkLoaded(thread, partial);
  checkName("lane", wanted);
  checkName("callId", callId);
  checkReaders(readers);
  const registry = registryOf([...DEFAULT_KINDS, ...Object.keys(readers)], readers);
  const reader = new LaneReader(thread.base);
  const items: TranscriptItem[] = [];
  for (const entry of thread.toArray()) {
    const lane = reader.read(entry);
    const isWanted =
      (wanted === undefined || lane === wanted) && (callId === undefined || entry.refs.callId === callId);
    const what = isWanted && !reader.isMalformed(entry) ? whatOf(entry, registry) : undefined;
    if (what !== undefined) items.push({ ...placeOf(entry, lane), ...what });
  }
  return items;
}

type What = TranscriptItem extends infer Item ? (Item extends Place ? Omit<Item, keyof Place> : never) : never;

function whatOf(entry: Entry, registry: ReturnType<typeof registryOf>): What | undefined {
  const { kind, payload, refs } = entry;
  if (kind === "summary") return summaryOf(entry);
  if (kind === "ai_context_operation") return boundaryOf(entry);
  const reader = registry.get(kind);
  if (reader === undefined) return undefined;
  return readSaid(entry, payload, reader, refs);
}

function summaryOf(entry: Entry): What | undefined {
  const { fromSeq, content } = entry.payload;
  const toSeq = summaryReach(entry);
  if (toSeq === undefined || typeof content !== "string") return undefined;
  return { type: "summary", fromSeq: typeof fromSeq === "number" ? fromSeq : 0, toSeq, content };
}

function boundaryOf(entry: Entry): What | undefined {
  const replace = replaceOf(entry);
  if (replace !== undefined) {
    return { type: "boundary", operation: "replace", baseSeq: replace.baseSeq, messages: replace.messages.length };
  }
  return switchTarget(entry) === undefined ? undefined : { type: "boundary", operation: "switch", ...branchOf(entry) };
}

function placeOf({ seq, at, refs, payload }: Entry, lane: string): Place {
  const requestId = refs.requestId ?? payload["requestId"];
  return {
    seq,
    at,
    lane,
    ...(typeof refs.callId === "string" && { callId: refs.callId }),
    ...(typeof requestId === "string" && { requestId }),
  };
}
