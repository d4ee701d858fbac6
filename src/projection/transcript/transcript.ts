import { activeLane } from "../../lanes/active-lane.ts";
import type { Entry } from "../../thread/entry.ts";
import { LaneReader, readBranch, readReplace, summaryReach, switchTarget } from "../../thread/lane-operations.ts";
import type { ToolCall } from "../../thread/message.ts";
import { checkLoaded } from "../../thread/queries.ts";
import { Thread } from "../../thread/thread.ts";
import { ProjectionError } from "../error.ts";
import { checkName, checkReaders, knownFields } from "../input/input.ts";
import { DEFAULT_KINDS } from "../policy/fields.ts";
import { type EntryMessage, type Readers, readEntryMessage, readerRegistry } from "./entry-reader.ts";

interface TranscriptPosition {
  readonly seq: number;
  readonly at: number;
  readonly lane: string;
  readonly callId?: string;
  readonly requestId?: string;
}

/** A message, a summary, or a change of the lane. */
export type TranscriptItem = TranscriptPosition &
  (
    | EntryMessage
    | { readonly type: "summary"; readonly fromSeq: number; readonly toSeq: number; readonly content: string }
    /** The lane's entries up to `baseSeq` are replaced with `messages` new messages. */
    | { readonly type: "boundary"; readonly operation: "replace"; readonly baseSeq: number; readonly messages: number }
    /** Another lane becomes the active one. */
    | { readonly type: "boundary"; readonly operation: "switch"; readonly from?: string; readonly atSeq?: number }
  );

/** The lane or call to read, the readers, and whether a loaded tail is enough. */
export interface TranscriptOptions {
  /** The lane to list. Default all lanes. */
  readonly lane?: string | undefined;
  /** List only the messages of one model call and the results of its tools. Default all. */
  readonly callId?: string | undefined;
  /** Readers of your own kinds. Default none. */
  readonly readers?: Readers | undefined;
  /**
   * Accepts a thread of which only the last entries are loaded, and lists those. Default false: throws
   * `entry_not_loaded`.
   */
  readonly partial?: boolean | undefined;
}

/**
 * Lists every message of a thread as it was written, whatever the kind of its entry. Entries without a message are left
 * out. A malformed entry throws a ProjectionError.
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
  const registry = readerRegistry([...DEFAULT_KINDS, ...Object.keys(readers)], readers);
  const reader = new LaneReader(thread.base);
  const items: TranscriptItem[] = [];
  for (const entry of thread.toArray({ partial: true })) {
    const lane = reader.read(entry);
    const isWanted =
      (wanted === undefined || lane === wanted) && (callId === undefined || entry.refs.callId === callId);
    const what = isWanted && !reader.isMalformed(entry) ? transcriptContentOf(entry, registry) : undefined;
    if (what !== undefined) items.push({ ...positionOf(entry, lane), ...what });
  }
  return items;
}

type TranscriptContent = TranscriptItem extends infer Item
  ? Item extends TranscriptPosition
    ? Omit<Item, keyof TranscriptPosition>
    : never
  : never;

function transcriptContentOf(entry: Entry, registry: ReturnType<typeof readerRegistry>): TranscriptContent | undefined {
  const { kind, payload, refs } = entry;
  if (kind === "summary") return summaryOf(entry);
  if (kind === "ai_context_operation") return boundaryOf(entry);
  const reader = registry.get(kind);
  if (reader === undefined) return undefined;
  return readEntryMessage(entry, payload, reader, refs);
}

function summaryOf(entry: Entry): TranscriptContent | undefined {
  const { fromSeq, content } = entry.payload;
  const toSeq = summaryReach(entry);
  if (toSeq === undefined || typeof content !== "string") return undefined;
  return { type: "summary", fromSeq: typeof fromSeq === "number" ? fromSeq : 0, toSeq, content };
}

function boundaryOf(entry: Entry): TranscriptContent | undefined {
  const replace = readReplace(entry);
  if (replace !== undefined) {
    return { type: "boundary", operation: "replace", baseSeq: replace.baseSeq, messages: replace.messages.length };
  }
  return switchTarget(entry) === undefined
    ? undefined
    : { type: "boundary", operation: "switch", ...readBranch(entry) };
}

function positionOf({ seq, at, refs, payload }: Entry, lane: string): TranscriptPosition {
  const requestId = refs.requestId ?? payload["requestId"];
  return {
    seq,
    at,
    lane,
    ...(typeof refs.callId === "string" && { callId: refs.callId }),
    ...(typeof requestId === "string" && { requestId }),
  };
}

/** A tool call of the last answer that has no result. */
export type OpenToolCall = ToolCall & {
  /** The seq of the entry that contains the tool call. */
  readonly seq: number;
  /** The model call that made it, if its entry names one. */
  readonly callId?: string;
};

/** Options of `openCalls`. The default `lane` is the one that is active at the end. */
export type OpenCallsOptions = Pick<TranscriptOptions, "lane" | "readers" | "partial">;

/**
 * Returns the tool calls at the end of a lane that have no result, in order. After a crash, run these or wait for their
 * approval. If there are none, the model or the user is next. A call with a later message behind it is not open,
 * because a projection shows it as interrupted.
 * @example
 * const call = { kind: "tool_call", payload: { id: "c1", name: "add", arguments: { a: 2, b: 2 } } };
 * const thread = Thread.create().append([{ kind: "message", payload: { role: "user", content: "What's 2+2?" } }, call]);
 * console.log(openCalls(thread).map(({ name }) => name)); // [ 'add' ]
 */
export function openCalls(thread: Thread, options: OpenCallsOptions = {}): readonly OpenToolCall[] {
  const { lane } = options;
  const items = transcript(thread, {
    ...options,
    lane: lane ?? (Thread.isThread(thread) ? activeLane(thread) : undefined),
  });
  let open: readonly OpenToolCall[] = [];
  let answerId: string | undefined;
  let isAnswered = false; // whether a result was read since the last call
  for (const item of items) {
    switch (item.type) {
      case "assistant": {
        const { seq, callId, toolCalls = [] } = item;
        const isSameAnswer = callId === undefined ? !isAnswered && toolCalls.length > 0 : callId === answerId;
        const calls = toolCalls.map((call) => ({ ...call, seq, ...(callId !== undefined && { callId }) }));
        open = [...(isSameAnswer ? open : []), ...calls];
        answerId = callId;
        isAnswered = false;
        break;
      }
      case "tool_result":
        open = open.filter(({ id }) => id !== item.toolCallId);
        isAnswered = true;
        break;
      case "summary":
        break;
      case "user":
      case "system":
      case "boundary":
        if (item.type !== "boundary" || item.operation === "replace") open = [];
        break;
      default:
        item satisfies never;
    }
  }
  return open;
}
