import type { Content, ToolCall } from "../../thread/message.ts";
import type { Usage, UsageByModel } from "../answer.ts";

/** An exchange that is over: the model has answered with calls, and every call has its result. */
export interface CompletedExchange {
  /** The model calls that the request has made. */
  readonly iteration: number;
  /** The last text of the model; what `result.text` is when the request ends here. */
  readonly text: string;
  /** What the last answer called, in its order. */
  readonly toolCalls: readonly ToolCall[];
  /** What came of it, in the same order. */
  readonly results: readonly CompletedCall[];
  /** Of all calls of the request together. */
  readonly usage: Usage;
  /** The same for each model; summaries may be written by another one. */
  readonly usageByModel: UsageByModel;
}

export interface CompletedCall {
  readonly toolCallId: string;
  readonly name: string;
  readonly content: Content;
  readonly isError: boolean;
}

/**
 * Whether a request is to end with what there is. Asked when the results of an exchange are in, before the next model call, and
 * once more with the same facts when a crash came between the two. Must answer at once; what it throws fails the request.
 */
export type StopCondition = (exchange: CompletedExchange) => boolean;

/**
 * Says that the last answer called one of these tools.
 *
 * @example
 * const agent = defineAgent({ model: scriptedModel([]), tools: {}, stopWhen: hasToolCall("done") });
 */
export function hasToolCall(...names: readonly string[]): StopCondition {
  return ({ toolCalls }) => toolCalls.some(({ name }) => names.includes(name));
}
