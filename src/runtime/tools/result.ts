import type { AnyTool } from "../../agent/definition/tool.ts";
import { ThreadError } from "../../thread/errors.ts";
import type { Content } from "../../thread/message.ts";
import { resultText } from "../../thread/results.ts";
import { utf8Length } from "../../tokens/utf8.ts";
import { contentParts, isContentOutput, outputAnswer } from "./ai-sdk-output.ts";
import { isLonger, jsonOf } from "./json-result.ts";
import { isMcpResult, mcpAnswer } from "./mcp-result.ts";
import { failed, reported, type ToolAnswer } from "./outcome.ts";

export interface Given {
  readonly name: string;
  readonly toolCallId: string;
  readonly input: unknown;
  readonly output: unknown;
}

/** What the model reads of what a tool gave. A tool's own toModelOutput may throw: that is for the caller. */
export async function answerOf(given: Given, tool: AnyTool, maxBytes: number): Promise<ToolAnswer> {
  const { name, toolCallId, input, output } = given;
  if (tool.toModelOutput === undefined) return bounded(name, output, maxBytes, () => plainAnswer(name, output));
  const options = { toolCallId, input, output } as never; // AnyTool does not know its own types
  const made = await tool.toModelOutput(options);
  return bounded(name, made, maxBytes, () => outputAnswer(name, made));
}

function plainAnswer(name: string, output: unknown): ToolAnswer {
  if (isMcpResult(output)) return mcpAnswer(name, output);
  if (isContentOutput(output)) return { content: contentParts(output.value), isError: false };
  const { content, isError } = resultText(jsonOf(output));
  return isError ? reported(name, content) : { content, isError };
}

/** Nothing is cut here: the log keeps results whole, and a policy may shorten them in what a model is shown. */
function bounded(name: string, output: unknown, maxBytes: number, make: () => ToolAnswer): ToolAnswer {
  const bytes = sizeOf(output);
  if (bytes > maxBytes || isLonger(output, maxBytes))
    return tooLarge(name, bytes > maxBytes ? bytes : undefined, maxBytes);
  const answer = jsonAnswer(name, make);
  const size = contentSize(answer.content);
  return size > maxBytes ? tooLarge(name, size, maxBytes) : answer;
}

/** Of text and bytes the size is known at once. */
function sizeOf(output: unknown): number {
  if (typeof output === "string") return utf8Length(output);
  return output instanceof Uint8Array ? output.byteLength : 0;
}

function contentSize(content: Content): number {
  if (typeof content === "string") return utf8Length(content);
  return utf8Length(JSON.stringify(content));
}

function tooLarge(name: string, bytes: number | undefined, maxBytes: number): ToolAnswer {
  const size = bytes === undefined ? `more than ${maxBytes}` : String(bytes);
  const message = `The result of ${name} has ${size} bytes; the limit is ${maxBytes}. Ask for less, or in pages.`;
  return failed({ code: "tool_result_too_large", message, retryable: false });
}

function jsonAnswer(name: string, make: () => ToolAnswer): ToolAnswer {
  try {
    return make();
  } catch (error) {
    if (!ThreadError.isInstance(error)) throw error;
    const message = `The tool ${name} gave something that is no JSON: ${error.message}`;
    return failed({ code: "tool_result_not_json", message, retryable: false });
  }
}
