import { type AnyTool, isToolResult, type ToolResult } from "../../agent/definition/tool.ts";
import type { ToolOutcome } from "../../agent/signal.ts";
import { utf8Length } from "../../thread/encoding.ts";
import { ThreadError } from "../../thread/errors.ts";
import { copyJsonRepaired, type JsonValue } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import { contentParts, errorText, outputAnswer } from "./ai-sdk-output.ts";
import { convertResult, jsonOf, TooLongError } from "./json-result.ts";
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
  if (tool.toModelOutput === undefined)
    return bounded(name, output, maxBytes, () => plainAnswer(name, output, maxBytes));
  const options = { toolCallId, input, output } as never; // AnyTool does not know its own types
  const made = await tool.toModelOutput(options);
  const answer = bounded(name, made, maxBytes, () => outputAnswer(name, made, maxBytes));
  return { ...answer, ...detailsOf(output, maxBytes) };
}

/** Data, unless it carries our mark: data that only looks like parts or an error stays data. */
function plainAnswer(name: string, output: unknown, limit: number): ToolAnswer {
  if (!isToolResult(output)) return dataAnswer(output, limit);
  return { ...markedAnswer(name, output, limit), ...detailsOf(output, limit) };
}

function markedAnswer(name: string, { type, value }: ToolResult, limit: number): ToolAnswer {
  switch (type) {
    case "ok":
      return dataAnswer(value, limit);
    case "content":
      return { content: contentParts(Array.isArray(value) ? value : []), isError: false };
    case "fail":
      return reported(name, errorText(value, limit));
    case "mcp":
      return isMcpResult(value) ? mcpAnswer(name, value) : dataAnswer(value, limit);
    default:
      return type satisfies never;
  }
}

/** What people may see of a result. It must not cost the result: where it cannot be stored, a text says why. */
function detailsOf(output: unknown, limit: number): { readonly details?: JsonValue } {
  try {
    if (!isToolResult(output) || output.details === undefined) return {};
    const details = jsonOf(output.details, limit);
    return { details };
  } catch (error) {
    const why =
      error instanceof TooLongError ? `longer than ${limit}.` : ThreadError.isInstance(error) ? error.message : "";
    return { details: `[The details were not stored: ${why || "they could not be read."}]` };
  }
}

/** The result of a call that somebody outside gives. What can not be converted is a ThreadError, since nothing is lost yet. */
export function answeredWith(output: unknown): ToolOutcome {
  const { content, isError, details } = storable(plainAnswer("", output, Number.POSITIVE_INFINITY));
  return { content, isError, ...(details !== undefined && { details }) };
}

function dataAnswer(value: unknown, limit: number): ToolAnswer {
  const { text, files, isFile } = convertResult(value, limit);
  if (files.length === 0) return { content: text, isError: false };
  return { content: isFile ? files : [{ type: "text", text }, ...files], isError: false };
}

/** Nothing is cut here: the log keeps results whole, and a policy may shorten them in what a model is shown. */
function bounded(name: string, output: unknown, maxBytes: number, make: () => ToolAnswer): ToolAnswer {
  try {
    const bytes = sizeOf(output);
    if (bytes > maxBytes) return tooLarge(name, bytes, maxBytes);
    const answer = storable(make());
    const size = contentSize(answer.content);
    return size > maxBytes ? tooLarge(name, size, maxBytes) : answer;
  } catch (error) {
    if (error instanceof TooLongError) return tooLarge(name, undefined, maxBytes);
    const why = ThreadError.isInstance(error) ? error.message : "it could not be read.";
    const message = `The tool ${name} ran, and its result could not be converted to JSON: ${why} Do not call it again only for this.`;
    return failed({ code: "tool_result_not_json", message, retryable: false });
  }
}

/** Names and addresses of parts are the tool's own words, and an entry takes only text that UTF-8 can hold. */
function storable(answer: ToolAnswer): ToolAnswer {
  const { content } = answer;
  if (typeof content === "string")
    return content.isWellFormed() ? answer : { ...answer, content: content.toWellFormed() };
  return { ...answer, content: copyJsonRepaired(content, "result") as Content }; // parts stay parts
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
