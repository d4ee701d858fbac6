import type { Content, ToolCall } from "../../thread/message.ts";
import type { Usage, UsageByModel } from "../answer.ts";

/** A completed exchange: an answer of the model with tool calls, and a result for every call. */
export interface CompletedExchange {
  /** The number of model calls of the request so far. */
  readonly iteration: number;
  /** The last text of the model. It becomes `result.text` when the request ends here. */
  readonly text: string;
  /** The tool calls of the last answer, in order. */
  readonly toolCalls: readonly ToolCall[];
  /** The results of the calls, in the same order. */
  readonly results: readonly CompletedCall[];
  /** The usage of all model calls of the request. */
  readonly usage: Usage;
  /** The usage per model. Summaries may use another model. */
  readonly usageByModel: UsageByModel;
}

export interface CompletedCall {
  readonly toolCallId: string;
  readonly name: string;
  readonly content: Content;
  readonly isError: boolean;
}

/**
 * Returns true to complete the request. Called after each exchange, before the next model call. After a crash between the
 * two it is called again with the same input. Must be synchronous. An error that it throws fails the request.
 */
export type StopCondition = (exchange: CompletedExchange) => boolean;

/**
 * A condition that is true when the last answer called one of these tools.
 *
 * @example
 * const agent = defineAgent({ model: scriptedModel([]), tools: {}, stopWhen: hasToolCall("done") });
 */
export function hasToolCall(...names: readonly string[]): StopCondition {
  return ({ toolCalls }) => toolCalls.some(({ name }) => names.includes(name));
}
