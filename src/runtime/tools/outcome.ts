import { ToolError } from "../../agent/definition/errors.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { Failure } from "../../agent/signal.ts";
import { describe, type JsonValue } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import { fieldOf } from "./schemas.ts";
import type { Stopped } from "./settle.ts";

/** What the model reads of a call. */
export interface ToolAnswer {
  readonly content: Content;
  readonly isError: boolean;
  /** There whenever `isError` is: why, for telemetry and callers. It holds nothing of arguments and results. */
  readonly failure?: Failure;
  /** The tool was stopped, and this is its last output. The content says so too. */
  readonly partial?: Stopped;
  /** What a marker has for people. No model is shown it. */
  readonly details?: JsonValue;
}

/** What became of a call; never an exception. */
export interface ToolRunResult extends ToolAnswer {
  /** How often `execute` was called. */
  readonly attempts: number;
  readonly durationMs: number;
}

/** An error as the model reads it; what only the model may read is in `told`. */
export function failed(failure: Failure, told: string = failure.message): ToolAnswer {
  const content = JSON.stringify({ error: { type: failure.code, message: told } });
  return { content, isError: true, failure };
}

/** The tool worked, and what it says is an error. */
export function reported(name: string, content: Content): ToolAnswer {
  return { content, isError: true, failure: { code: "tool_failed", message: `The tool ${name} reported an error.` } };
}

const PARTIAL: { readonly [Why in Stopped]: string } = {
  cancelled: "the request was cancelled while the tool ran",
  timed_out: "the tool took too long and was stopped",
};

/** The last output of a tool that was stopped. The model reads why. */
export function partialOf(answer: ToolAnswer, partial: Stopped): ToolAnswer {
  const note = `[Partial result: ${PARTIAL[partial]}.]`;
  const { content } = answer;
  const noted: Content =
    typeof content === "string" ? `${content}\n${note}` : [...content, { type: "text", text: note }];
  return { ...answer, content: noted, partial };
}

const NAMES = 50;
const NAME_LENGTH = 64;
const MESSAGE_LENGTH = 8_000;

export function unknownTool(name: string, tools: Tools): ToolAnswer {
  const names = Object.keys(tools);
  const known = names.slice(0, NAMES).join(", ") + (names.length > NAMES ? `, and ${names.length - NAMES} more` : "");
  const asked = JSON.stringify(name.slice(0, NAME_LENGTH).toWellFormed());
  const message = `There is no tool ${asked}. ${names.length === 0 ? "There are no tools." : `Known tools: ${known}.`}`;
  return failed({ code: "tool_unknown", message, retryable: false });
}

export function notExecutable(name: string): ToolAnswer {
  const message = `The tool ${name} has no execute: its calls are answered from outside.`;
  return failed({ code: "tool_not_executable", message, retryable: false });
}

export function timedOut(name: string, timeoutMs: number): ToolAnswer {
  const message = `The tool ${name} gave nothing within ${timeoutMs} ms; whether it has acted is unknown.`;
  return failed({ code: "tool_timeout", message, retryable: true });
}

export function aborted(name: string, started: boolean): ToolAnswer {
  const fate = started ? "was interrupted; its outcome is unknown" : "was cancelled before it began";
  return failed({ code: "tool_aborted", message: `The call of ${name} ${fate}.`, retryable: false });
}

/** The tool ran, and its result can not be shown as its `toModelOutput` would have it. The raw result may hold what was to be hidden. */
export function notShown(name: string, why: string): ToolAnswer {
  const told = `The tool ${name} ran, but its result can not be shown: ${why} Do not call it again only for this.`;
  const message = `The tool ${name} ran, but its toModelOutput failed.`;
  return failed({ code: "tool_output_failed", message, retryable: false }, told);
}

/** What a tool threw. The failure, which telemetry and streams to users are made of, has only the words of a ToolError: others may say anything. */
export function thrown(name: string, error: unknown): ToolAnswer {
  const said = messageOf(error);
  const retryable = read(error, "retryable") === true;
  if (!ToolError.isInstance(error)) {
    const message = `The tool ${name} threw ${described(error)}; the model was told its message.`;
    return failed({ code: "tool_failed", message, retryable }, said);
  }
  const { code, retryAfterMs } = error;
  const failure: Failure = { code, message: said, retryable };
  return failed(retryAfterMs === undefined ? failure : { ...failure, retryAfterMs });
}

export function messageOf(error: unknown): string {
  const said = typeof error === "string" ? error : read(error, "message");
  if (typeof said !== "string" || said.trim() === "") return `It threw ${described(error)} without a message.`;
  const text = said.length > MESSAGE_LENGTH ? `${said.slice(0, MESSAGE_LENGTH)}...` : said;
  return text.toWellFormed();
}

function described(error: unknown): string {
  return typeof error === "string" ? "a text" : describe(error);
}

/** Anything can be thrown, also a proxy whose traps throw. */
function read(error: unknown, field: string): unknown {
  try {
    return fieldOf(error, field);
  } catch {
    return undefined;
  }
}
