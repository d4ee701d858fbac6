import { limitsOf } from "../../projection/policy/model-limits.ts";
import type { CallRecord } from "../call-record.ts";
import type { Failure } from "../failure.ts";
import type { ReactAgent } from "./agent.ts";
import { reportedShare } from "./counter.ts";

/** A little less than what the numbers allow: texts of the next call may have more tokens than those of the last. */
const MARGIN = 0.95;

/**
 * What a prompt may be estimated at after one was refused as too long: by the numbers of the refusal, else by what earlier calls
 * of the model have really used. Undefined where neither says why it was refused.
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
