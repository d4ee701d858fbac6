import { activeLane } from "../../lanes/active-lane.ts";
import type { ToolCall } from "../../thread/message.ts";
import { Thread } from "../../thread/thread.ts";
import { type TranscriptOptions, transcript } from "./transcript.ts";

/** A call of the last answer that has no result. */
export type OpenToolCall = ToolCall & {
  /** The entry that holds the call. */
  readonly seq: number;
  /** Of the model call that made it, where its entry says so. */
  readonly callId?: string;
};

/** `lane`: default the one that is active at the end. */
export type OpenCallsOptions = Pick<TranscriptOptions, "lane" | "readers" | "partial">;

/**
 * The tool calls at the end of a lane that have no result yet, in their order. Run these after a crash, or wait for their
 * approval; when there is none, it is the model's turn, or the user's. A call that something was said after is not open: a
 * projection has closed it as interrupted.
 *
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
  let isAnswered = false; // whether a result came since the last call
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
