import type { Failure } from "../../agent/signal.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
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
