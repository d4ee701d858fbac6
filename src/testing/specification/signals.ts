import type { ModelAnswer } from "../../agent/answer.ts";
import type { Signal } from "../../agent/signal.ts";
import type { JsonValue } from "../../thread/json.ts";

type Of<Type extends Signal["type"]> = Extract<Signal, { type: Type }>;

/**
 * An ask.
 *
 * @example
 * specify().when(asked("What's 2+2?")).then([{ payload: { role: "user" } }], [{ type: "llm_stream" }]);
 */
export function asked(content: Of<"ask">["content"], more: Omit<Of<"ask">, "type" | "content"> = {}): Of<"ask"> {
  return { type: "ask", content, ...more };
}

/**
 * A text answer of the model. The model calls of a specification are call_1, call_2, ...
 *
 * @example
 * specify().given([asked("What's 2+2?")]).when(modelSaid("call_1", "4")).then([{ payload: { content: "4" } }]);
 */
export function modelSaid(callId: string, text: string, more: Partial<ModelAnswer> = {}): Of<"llm_result"> {
  const answer = { content: text, toolCalls: [], usage: {}, finishReason: "stop", ...more } as const;
  return { type: "llm_result", callId, answer };
}

/** A tool call of the model. `arguments` default to {}. */
export interface CalledTool {
  readonly id: string;
  readonly name: string;
  readonly arguments?: JsonValue;
}

/**
 * An answer of the model with tool calls.
 *
 * @example
 * specify({ tools: [{ name: "now", inputSchema: { type: "object" } }] })
 *   .given([asked("What time is it?")])
 *   .when(modelCalled("call_1", [{ id: "a", name: "now" }]))
 *   .then([{ payload: { role: "assistant" } }], [{ type: "tool_exec" }]);
 */
export function modelCalled(
  callId: string,
  calls: readonly CalledTool[],
  more: Partial<ModelAnswer> = {},
): Of<"llm_result"> {
  const toolCalls = calls.map((call) => ({ ...call, arguments: call.arguments ?? {} }));
  return modelSaid(callId, "", { toolCalls, finishReason: "tool-calls", ...more });
}

/**
 * The result of a tool.
 *
 * @example
 * specify({ tools: [{ name: "now", inputSchema: { type: "object" } }] })
 *   .given([asked("What time is it?"), modelCalled("call_1", [{ id: "a", name: "now" }])])
 *   .when(toolGave("call_1", "a", "Noon."))
 *   .then([{ payload: { role: "tool", content: "Noon." } }], [{ type: "llm_stream" }]);
 */
export function toolGave(callId: string, toolCallId: string, content: string, isError = false): Of<"tool_result"> {
  return { type: "tool_result", callId, toolCallId, outcome: { content, isError } };
}
