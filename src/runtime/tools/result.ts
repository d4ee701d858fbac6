import { type AnyTool, isToolResult } from "../../agent/definition/tool.ts";
import type { ToolOutcome } from "../../agent/signal.ts";
import { utf8Length } from "../../thread/encoding.ts";
import { ThreadError } from "../../thread/errors.ts";
import type { Content } from "../../thread/message.ts";
import { valueText } from "../../thread/result-text.ts";
import { contentParts, errorText, outputAnswer } from "./ai-sdk-output.ts";
import { convertResult, isLonger, jsonOf } from "./json-result.ts";
import { isMcpResult, mcpAnswer } from "./mcp-result.ts";
import { failed, reported, type ToolAnswer } from "./outcome.ts";

export interface Given {
  readonly name: string;
  readonly toolCallId: string;
  readonly input: unknown;
  readonly output: unknown;
}

/** What the model reads of what a tool returned. A tool's own toModelOutput may throw: that is for the caller. */
export async function answerOf(given: Given, tool: AnyTool, maxBytes: number): Promise<ToolAnswer> {
  const { name, toolCallId, input, output } = given;
  if (tool.toModelOutput === undefined) return bounded(name, output, maxBytes, () => plainAnswer(name, output));
  const options = { toolCallId, input, output } as never; // AnyTool does not know its own types
  const made = await tool.toModelOutput(options);
  return bounded(name, made, maxBytes, () => outputAnswer(name, made));
}

/** Data, unless it carries our mark: data that only looks like parts or an error stays data. */
function plainAnswer(name: string, output: unknown): ToolAnswer {
  if (!isToolResult(output)) return dataAnswer(output);
  const { type, value } = output;
  switch (type) {
    case "ok":
      return dataAnswer(value);
    case "content":
      return { content: contentParts(Array.isArray(value) ? value : []), isError: false };
    case "fail":
      return reported(name, errorText(jsonOf(value)));
    case "mcp":
      return isMcpResult(value) ? mcpAnswer(name, value) : dataAnswer(value);
    default:
      return type satisfies never;
  }
}

/** The result of a call that somebody outside gives. What can not be converted is a ThreadError, since nothing is lost yet. */
export function answeredWith(output: unknown): ToolOutcome {
  const { content, isError } = plainAnswer("", output);
  return { content, isError };
}

function dataAnswer(value: unknown): ToolAnswer {
  const { json, files } = convertResult(value);
  const text = valueText(json);
  if (files.length === 0) return { content: text, isError: false };
  const isFile = typeof json === "string" && typeof value !== "string"; // nothing but bytes
  return { content: isFile ? files : [{ type: "text", text }, ...files], isError: false };
}

/** Nothing is cut here: the log keeps results whole, and a policy may shorten them in what a model is shown. */
function bounded(name: string, output: unknown, maxBytes: number, make: () => ToolAnswer): ToolAnswer {
  const bytes = sizeOf(output);
  const data = isToolResult(output) ? output.value : output;
  if (bytes > maxBytes || isLonger(data, maxBytes))
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
  const message = `The tool ${name} ran. Its result has ${size} bytes, the limit is ${maxBytes}, so it was not kept. Ask for less, or in pages.`;
  return failed({ code: "tool_result_too_large", message, retryable: false });
}

function jsonAnswer(name: string, make: () => ToolAnswer): ToolAnswer {
  try {
    return make();
  } catch (error) {
    const why = ThreadError.isInstance(error) ? error.message : "it could not be read.";
    const message = `The tool ${name} ran, and its result could not be converted to JSON: ${why} Do not call it again only for this.`;
    return failed({ code: "tool_result_not_json", message, retryable: false });
  }
}
