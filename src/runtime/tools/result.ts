import { timeOf } from "../../agent/definition/time.ts";
import { type AnyTool, type ChildAsk, isToolResult, type Sleep, type ToolResult } from "../../agent/definition/tool.ts";
import type { ToolOutcome } from "../../agent/signal.ts";
import { readablePart } from "../../projection/transcript/payload.ts";
import { utf8Length } from "../../thread/encoding.ts";
import { ThreadError } from "../../thread/errors.ts";
import { copyJsonRepaired, isPlainObject, type JsonValue } from "../../thread/json.ts";
import type { Content, Part } from "../../thread/message.ts";
import type { RuntimePorts } from "../ports.ts";
import { RequestError } from "../request/request-error.ts";
import { convertResult, jsonOf, resultTextOf, TooLongError } from "./json-result.ts";
import { errorAnswer, messageOf, returnedError, type ToolAnswer } from "./outcome.ts";
import { contentParts, errorText, isMcpResult, mcpAnswer, outputAnswer } from "./result-parts.ts";

export interface ToolOutput {
  /** When the tool has returned, in milliseconds since 1970. */
  readonly at: number;
  readonly name: string;
  readonly toolCallId: string;
  readonly input: unknown;
  readonly output: unknown;
}

/** Converts the output of a tool to a result. Rethrows the errors of `toModelOutput`. */
export async function convertOutput(returned: ToolOutput, tool: AnyTool, maxBytes: number): Promise<ToolAnswer> {
  const { at, name, toolCallId, input, output } = returned;
  // An output that cannot be read throws here, and its error is only that of `toModelOutput` where there is one.
  if (tool.toModelOutput === undefined || isWait(output))
    return checkSize(name, output, maxBytes, () => plainAnswer(name, output, maxBytes, at));
  const options = { toolCallId, input, output } as never; // AnyTool has no exact types
  const made = await tool.toModelOutput(options);
  const answer = checkSize(name, made, maxBytes, () => outputAnswer(name, made, maxBytes));
  const marked = detailsOf(output, maxBytes);
  return { ...answer, ...("details" in marked ? marked : rawDetails(output, answer.content, maxBytes)) };
}

function isWait(output: unknown): boolean {
  return isToolResult(output) && (output.type === "suspend" || output.type === "sleep" || output.type === "child");
}

/** The value before `toModelOutput`, for people. Absent if it cannot be stored, or if the model is shown the same. */
function rawDetails(output: unknown, shown: Content, limit: number): { readonly details?: JsonValue } {
  try {
    const value = isToolResult(output) ? output.value : output;
    if (value === undefined || resultTextOf(value, limit) === shown) return {};
    return { details: jsonOf(value, limit) };
  } catch {
    return {};
  }
}

/** Data, unless it has the mark of `ok`, `content` or `fail`. Unmarked data of the same form stays data. */
function plainAnswer(name: string, output: unknown, limit: number, at: number = 0): ToolAnswer {
  if (output instanceof Error) return returnedError(name, messageOf(output));
  if (typeof Response === "function" && output instanceof Response) {
    const message = `The tool ${name} ran and returned a Response, whose body was not read. It must return the text: await response.text(). Do not call it again only for this.`;
    return errorAnswer({ code: "tool_result_not_json", message, retryable: false });
  }
  if (!isToolResult(output)) return dataAnswer(output, limit);
  return { ...markedAnswer(name, output, limit, at), ...detailsOf(output, limit) };
}

function markedAnswer(name: string, { type, value }: ToolResult, limit: number, at: number): ToolAnswer {
  switch (type) {
    case "ok":
      return dataAnswer(value, limit);
    case "content":
      return { content: contentParts(Array.isArray(value) ? value : []), isError: false };
    case "fail":
      return returnedError(name, errorText(value, limit));
    case "suspend":
      return { content: "", isError: false, question: jsonOf(value, limit) };
    case "child": {
      const { agent, content } = value as ChildAsk; // `agentTool` has made it
      const prompt = jsonOf(content, limit) as Content; // `prompt` of a caller without types: the ask is checked as any other
      return { content: "", isError: false, child: { agent, content: prompt } };
    }
    case "sleep": {
      const { until: given, result } = value as Sleep; // `sleep` has made and checked it
      const until = timeOf(given, at) ?? at;
      const plain = result === undefined ? `Slept until ${new Date(until).toISOString()}.` : result;
      return { ...plainAnswer(name, plain, limit), until };
    }
    case "mcp":
      return isMcpResult(value) ? mcpAnswer(name, value) : dataAnswer(value, limit);
    default:
      return type satisfies never;
  }
}

/** The details of a result. If they cannot be stored, a text with the reason replaces them, and the result stays. */
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

/** The outcome for a value passed to `server.answer`. Throws if it cannot be converted, or waits itself: the caller can correct it. */
export function outcomeOf(output: unknown): ToolOutcome {
  if (isWait(output)) {
    const message = "An answer from outside is the result of its call. It cannot be a question, a sleep or an ask.";
    throw new RequestError({ code: "invalid_options", message });
  }
  const { content, isError, details } = makeWellFormed(plainAnswer("", output, Number.POSITIVE_INFINITY));
  return { content, isError, ...(details !== undefined && { details }) };
}

/** The result that `afterToolCall` returns. Throws if it is not one. */
export function shownContent(
  shown: unknown,
  { content, isError }: ToolOutcome,
): Pick<ToolOutcome, "content" | "isError"> {
  const { content: changed = content, isError: failed = isError } = Object(shown ?? {}) as Partial<ToolOutcome>; // checked below
  const isContent = typeof changed === "string" || Array.isArray(changed);
  const isChange = isPlainObject(shown) && (shown["content"] !== undefined || shown["isError"] !== undefined);
  if ((shown !== undefined && !isChange) || !isContent || typeof failed !== "boolean") {
    throw new TypeError("afterToolCall must return { content?: text or parts, isError?: boolean }, or undefined.");
  }
  if (changed === content) return { content, isError: failed };
  const made: ToolAnswer = { content: typeof changed === "string" ? changed : contentParts(changed), isError: failed };
  return { content: makeWellFormed(made).content, isError: failed };
}

function dataAnswer(value: unknown, limit: number): ToolAnswer {
  const { text, files, isFile } = convertResult(value, limit);
  if (files.length === 0) return { content: text, isError: false };
  return { content: isFile ? files : [{ type: "text", text }, ...files], isError: false };
}

/** Checks the size. Nothing is cut: the log keeps whole results, and a policy may shorten them in the context. */
function checkSize(name: string, output: unknown, maxBytes: number, make: () => ToolAnswer): ToolAnswer {
  try {
    const bytes = sizeOf(output);
    if (bytes > maxBytes) return tooLarge(name, bytes, maxBytes);
    const answer = makeWellFormed(make());
    const size = contentSize(answer.content);
    return size > maxBytes ? tooLarge(name, size, maxBytes) : answer;
  } catch (error) {
    if (error instanceof TooLongError) return tooLarge(name, undefined, maxBytes);
    const why = ThreadError.isInstance(error) ? error.message : "it could not be read.";
    const message = `The tool ${name} ran, and its result could not be converted to JSON: ${why} Do not call it again only for this.`;
    return errorAnswer({ code: "tool_result_not_json", message, retryable: false });
  }
}

/** Makes all texts well-formed, because entries take no others. A file that no provider can read becomes a note. */
function makeWellFormed(answer: ToolAnswer): ToolAnswer {
  const { content } = answer;
  if (typeof content === "string")
    return content.isWellFormed() ? answer : { ...answer, content: content.toWellFormed() };
  const parts = copyJsonRepaired(content, "result") as readonly Part[]; // parts stay parts
  return { ...answer, content: parts.map(readablePart) };
}

/** The size of text or bytes, before any conversion. */
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
  const message = `The tool ${name} ran. Its result was not kept: it has ${size} bytes, and the limit is ${maxBytes}. Ask for less, or in pages.`;
  return errorAnswer({ code: "tool_result_too_large", message, retryable: false });
}

/** A generator that never waits would block all timers, also its own timeout. So it is paused after so many values. */
const PAUSE_EVERY = 256;

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  if (typeof value !== "object" || value === null) return false;
  try {
    return Symbol.asyncIterator in value;
  } catch {
    return false; // a proxy whose traps throw; the conversion then fails with an error result
  }
}

/** Reads the values of a generator, and remembers the last one. */
export class GeneratorOutput {
  /** The last output. Undefined if there was none. */
  last: { readonly value: unknown } | undefined;

  /**
   * The last yielded value, or the returned value if nothing was yielded. A stopped generator gets a call of `return()`; a
   * value that it still returns is its last output.
   */
  async read(
    values: AsyncIterable<unknown>,
    signal: AbortSignal,
    ports: RuntimePorts,
    onValue: (value: unknown) => void,
  ): Promise<unknown> {
    const iterator = values[Symbol.asyncIterator]();
    const close = (): void => {
      Promise.resolve()
        .then(() => iterator.return?.())
        .catch(() => undefined); // its result is not used
    };
    signal.addEventListener("abort", close, { once: true });
    for (let count = 0; ; ) {
      const { done, value } = await iterator.next();
      if (done === true) {
        signal.removeEventListener("abort", close);
        const isOutput = signal.aborted ? value !== undefined : count === 0;
        if (isOutput) this.last = { value };
        if (this.last === undefined) signal.throwIfAborted();
        return this.last?.value;
      }
      this.last = { value };
      if (!signal.aborted) onValue(value);
      signal.throwIfAborted(); // `return()` was called
      if (++count % PAUSE_EVERY === 0) await new Promise<void>((resolve) => ports.after(0, resolve));
    }
  }
}
