import { activeLane } from "../../lanes/active-lane.ts";
import type { ToolCall } from "../../thread/message.ts";
import { Thread } from "../../thread/thread.ts";
import { type TranscriptOptions, transcript } from "./transcript.ts";

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
