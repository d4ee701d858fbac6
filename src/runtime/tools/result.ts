import { type AnyTool, isToolResult, type ToolResult } from "../../agent/definition/tool.ts";
import type { ToolOutcome } from "../../agent/signal.ts";
import { utf8Length } from "../../thread/encoding.ts";
import { ThreadError } from "../../thread/errors.ts";
import { copyJsonRepaired, type JsonValue } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import type { RuntimePorts } from "../ports.ts";
import { contentParts, errorText, isMcpResult, mcpAnswer, outputAnswer } from "./foreign-results.ts";
import { convertResult, jsonOf, TooLongError } from "./json-result.ts";
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

/** A generator that never waits would keep every timer from firing, its own timeout too. */
const BREATHE_EVERY = 256;

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  if (typeof value !== "object" || value === null) return false;
  try {
    return Symbol.asyncIterator in value;
  } catch {
    return false; // a proxy whose traps throw: the conversion says that the tool ran
  }
}

/** The values of a generator, as far as it came. */
export class Outputs {
  /** The last output so far; absent when there was none. */
  last: { readonly value: unknown } | undefined;

  /**
   * The last value that is yielded; what is returned counts when nothing is. A generator that is stopped is told to return,
   * and what it returns by itself is its last output.
   */
  async of(
    values: AsyncIterable<unknown>,
    signal: AbortSignal,
    ports: RuntimePorts,
    onValue: () => void,
  ): Promise<unknown> {
    const iterator = values[Symbol.asyncIterator]();
    const close = (): void => {
      Promise.resolve()
        .then(() => iterator.return?.())
        .catch(() => undefined); // nobody waits for it any more
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
      onValue();
      signal.throwIfAborted(); // it has been told to return
      if (++count % BREATHE_EVERY === 0) await new Promise<void>((resolve) => ports.after(0, resolve));
    }
  }
}
