import type { Failure } from "../../agent/failure.ts";
import type { Content } from "../../thread/message.ts";
import { resultText } from "../../thread/results.ts";

/** What the model reads of a call. */
export interface ToolAnswer {
  readonly content: Content;
  readonly isError: boolean;
  /** There whenever `isError` is: why, for telemetry and callers. It holds nothing of arguments and results. */
  readonly failure?: Failure;
}

/** What became of a call; never an exception. */
export interface ToolRunResult extends ToolAnswer {
  /** How often `execute` was called. */
  readonly attempts: number;
  readonly durationMs: number;
}

/** An error as the model reads it; what only the model may read is in `told`. */
export function failed(failure: Failure, told: string = failure.message): ToolAnswer {
  const { content } = resultText({ ok: false, error: { type: failure.code, message: told } });
  return { content, isError: true, failure };
}

/** The tool worked, and what it says is an error. */
export function reported(name: string, content: Content): ToolAnswer {
  return { content, isError: true, failure: { code: "tool_failed", message: `The tool ${name} reported an error.` } };
}
