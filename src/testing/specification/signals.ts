import type { ModelAnswer } from "../../agent/model-call.ts";
import type { Signal } from "../../agent/signal.ts";
import type { JsonValue } from "../../thread/json.ts";

type SignalOf<Type extends Signal["type"]> = Extract<Signal, { type: Type }>;

/**
 * Makes the signal of a request with this content.
 * @example
 * specify().when(askSignal("What's 2+2?")).then([{ payload: { role: "user" } }], [{ type: "llm_stream" }]);
 */
export function askSignal(
  content: SignalOf<"ask">["content"],
  more: Omit<SignalOf<"ask">, "type" | "content"> = {},
): SignalOf<"ask"> {
  return { type: "ask", content, ...more };
}

/**
 * Makes the signal of a text answer of the model. The model calls of a specification are call_1, call_2 and so on.
 * @example
 * specify().given([askSignal("What's 2+2?")]).when(modelTextSignal("call_1", "4")).then([{ payload: { content: "4" } }]);
 */
export function modelTextSignal(callId: string, text: string, more: Partial<ModelAnswer> = {}): SignalOf<"llm_result"> {
  const answer = { content: text, toolCalls: [], usage: {}, finishReason: "stop", ...more } as const;
  return { type: "llm_result", callId, answer };
}

/** A tool call of the model. */
export interface ModelToolCall {
  readonly id: string;
  readonly name: string;
  /** The arguments of the call. Default `{}`. */
  readonly arguments?: JsonValue;
}

/**
 * Makes the signal of a model answer with tool calls.
 * @example
 * specify({ tools: [{ name: "now", inputSchema: { type: "object" } }] })
 *   .given([askSignal("What time is it?")])
 *   .when(modelCallsSignal("call_1", [{ id: "a", name: "now" }]))
 *   .then([{ payload: { role: "assistant" } }], [{ type: "tool_exec" }]);
 */
export function modelCallsSignal(
  callId: string,
  calls: readonly ModelToolCall[],
  more: Partial<ModelAnswer> = {},
): SignalOf<"llm_result"> {
  const toolCalls = calls.map((call) => ({ ...call, arguments: call.arguments ?? {} }));
  return modelTextSignal(callId, "", { toolCalls, finishReason: "tool-calls", ...more });
}

/**
 * Makes the signal of a tool result.
 * @example
 * specify({ tools: [{ name: "now", inputSchema: { type: "object" } }] })
 *   .given([askSignal("What time is it?"), modelCallsSignal("call_1", [{ id: "a", name: "now" }])])
 *   .when(toolResultSignal("call_1", "a", "Noon."))
 *   .then([{ payload: { role: "tool", content: "Noon." } }], [{ type: "llm_stream" }]);
 */
export function toolResultSignal(
  callId: string,
  toolCallId: string,
  content: string,
  isError = false,
): SignalOf<"tool_result"> {
  return { type: "tool_result", callId, toolCallId, outcome: { content, isError } };
}
