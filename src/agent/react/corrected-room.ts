import { limitsOf } from "../../projection/policy/model-limits.ts";
import type { CallRecord } from "../call-record.ts";
import type { Failure } from "../failure.ts";
import type { ReactAgent } from "./agent.ts";
import { reportedShare } from "./counter.ts";

/** A safety margin: the texts of the next call may need more tokens per character. */
const MARGIN = 0.95;

/**
 * The largest estimate for the next prompt, after one was refused as too long. Uses the numbers of the refusal, else the
 * usage of earlier calls. Undefined when neither explains the refusal.
 */
export function correctedRoom(
  { settings, thread }: ReactAgent,
  { estimatedTokens, calibration, model }: CallRecord,
  { promptTokens, maxPromptTokens }: Failure,
): number | undefined {
  const share =
    promptTokens !== undefined && maxPromptTokens !== undefined
      ? promptTokens / estimatedTokens
      : reportedShare(settings, thread, calibration);
  const limit = maxPromptTokens ?? (model === undefined ? undefined : limitsOf(model)?.window);
  if (share === undefined || limit === undefined) return undefined;
  const room = Math.floor((MARGIN * limit) / share);
  return room >= 1 && room < estimatedTokens ? room : undefined;
}
