import { ToolError } from "../../agent/definition/errors.ts";
import type { ChildAsk, Tools } from "../../agent/definition/tool.ts";
import type { Failure, ToolOutcome } from "../../agent/signal.ts";
import { describe, type JsonValue } from "../../thread/json.ts";
import { type Content, contentText } from "../../thread/message.ts";
import { parseStructure } from "../../thread/messages/to-messages.ts";
import type { StopReason } from "./limits.ts";
import { fieldOf } from "./schemas.ts";

/** The result of a tool call, as the model is shown it. */
export interface ToolAnswer {
  readonly content: Content;
  readonly isError: boolean;
  /** Set if `isError` is true, for telemetry and callers. It never quotes arguments or results. */
  readonly failure?: Failure;
  /** The tool was stopped, and `content` has its last output and a note about the stop. */
  readonly partial?: StopReason;
  /** The tool has suspended its call with this question. Nothing is shown to the model before the answer. */
  readonly question?: JsonValue;
  /** The call waits for the answer of another agent. */
  readonly child?: ChildAsk;
  /** The call sleeps until this time, in milliseconds since 1970. This is its result then. */
  readonly until?: number;
  /** The `details` of a marker, for people. No model is shown them. */
  readonly details?: JsonValue;
}

/** The outcome of `runTool`, which never throws. */
export interface ToolRunResult extends ToolAnswer {
  /** How often `execute` was called. */
  readonly attempts: number;
  readonly durationMs: number;
}

/** An error result. `forModel` is a text that only the model may get. Default: the message of the failure. `last` is an output before it. */
export function errorAnswer(failure: Failure, forModel: string = failure.message, last?: ToolAnswer): ToolAnswer {
  const { content: shown = "", details } = last?.isError === false ? last : {};
  const text = contentText(shown);
  const output = text === "" ? {} : { output: parseStructure(text) ?? text };
  const content = JSON.stringify({ error: { type: failure.code, message: forModel, ...output } });
  return { content, isError: true, failure, ...(details !== undefined && { details }) };
}

/** An error that the tool returned, and did not throw. */
export function returnedError(name: string, content: Content): ToolAnswer {
  return { content, isError: true, failure: { code: "tool_failed", message: `The tool ${name} reported an error.` } };
}

const PARTIAL: { readonly [Reason in StopReason]: string } = {
  cancelled: "the request was cancelled while the tool ran",
  timed_out: "the tool took too long and was stopped",
};

/** The last output of a stopped tool, with a note that gives the model the reason. */
export function partialAnswer(answer: ToolAnswer, partial: StopReason): ToolAnswer {
  const note = `${NOTE}${PARTIAL[partial]}.]`;
  const { content } = answer;
  const noted: Content =
    typeof content === "string" ? `${content}\n${note}` : [...content, { type: "text", text: note }];
  return { ...answer, content: noted, partial };
}

const NOTE = "[Partial result: ";

/** An output of a stopped tool that is an object or a list stays one on the page, so it is kept without the note too. */
export function withPartialOutput(outcome: ToolOutcome): ToolOutcome {
  const { content, partial, details } = outcome;
  if (partial === undefined || details !== undefined || typeof content !== "string") return outcome;
  const [text = ""] = content.split(`\n${NOTE}`);
  const output = parseStructure(text);
  return output === undefined ? outcome : { ...outcome, details: output };
}

const NAMES = 50;
const NAME_LENGTH = 64;
const MESSAGE_LENGTH = 8_000;

export function unknownToolAnswer(name: string, tools: Tools): ToolAnswer {
  const names = Object.keys(tools);
  const known = names.slice(0, NAMES).join(", ") + (names.length > NAMES ? `, and ${names.length - NAMES} more` : "");
  const asked = JSON.stringify(name.slice(0, NAME_LENGTH).toWellFormed());
  const message = `There is no tool ${asked}. ${names.length === 0 ? "There are no tools." : `Known tools: ${known}.`}`;
  return errorAnswer({ code: "tool_unknown", message, retryable: false });
}

export function notExecutableAnswer(name: string): ToolAnswer {
  const message = `The tool ${name} has no execute. Its calls are answered with server.answer.`;
  return errorAnswer({ code: "tool_not_executable", message, retryable: false });
}

export function timeoutAnswer(name: string, timeoutMs: number): ToolAnswer {
  const message = `The tool ${name} did not end within ${timeoutMs} ms. Whether it has acted is unknown.`;
  return errorAnswer({ code: "tool_timeout", message, retryable: true });
}

export function abortedAnswer(name: string, started: boolean): ToolAnswer {
  const fate = started ? "was interrupted; its outcome is unknown" : "was cancelled before it started";
  return errorAnswer({ code: "tool_aborted", message: `The call of ${name} ${fate}.`, retryable: false });
}

/** The tool ran, but its `toModelOutput` failed. Its output is not shown instead, because it may hold what was to be hidden. */
export function hiddenAnswer(name: string, why: string): ToolAnswer {
  const forModel = `The tool ${name} ran, but its result cannot be shown: ${why} Do not call it again only for this.`;
  const message = `The tool ${name} ran, but its toModelOutput failed.`;
  return errorAnswer({ code: "tool_output_failed", message, retryable: false }, forModel);
}

/** The tool ran, but the agent's `afterToolCall` failed. */
export function withheldAnswer(name: string): ToolAnswer {
  const message = `The tool ${name} ran, but its result is withheld because afterToolCall failed. Do not call it again only for this.`;
  return errorAnswer({ code: "result_withheld", message, retryable: false });
}

/** The answer for a thrown error. Telemetry and streams to users get the failure, so it has the message of a ToolError only. */
export function thrownAnswer(name: string, error: unknown, last?: ToolAnswer): ToolAnswer {
  const text = messageOf(error);
  const retryable = read(error, "retryable") === true;
  if (!ToolError.isInstance(error)) {
    const message = `The tool ${name} threw ${describeError(error)}. The model was shown its message.`;
    return errorAnswer({ code: "tool_failed", message, retryable }, text, last);
  }
  const { code, retryAfterMs } = error;
  const failure: Failure = { code, message: text, retryable };
  return errorAnswer(retryAfterMs === undefined ? failure : { ...failure, retryAfterMs }, text, last);
}

export function messageOf(error: unknown): string {
  const text = typeof error === "string" ? error : read(error, "message");
  if (typeof text !== "string" || text.trim() === "") return `It threw ${describeError(error)} without a message.`;
  const short = text.length > MESSAGE_LENGTH ? `${text.slice(0, MESSAGE_LENGTH)}...` : text;
  return short.toWellFormed();
}

function describeError(error: unknown): string {
  return typeof error === "string" ? "a text" : describe(error);
}

/** A tool can throw anything, also a proxy whose traps throw. */
function read(error: unknown, field: string): unknown {
  try {
    return fieldOf(error, field);
  } catch {
    return undefined;
  }
}
