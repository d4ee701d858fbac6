import type { ContextPolicy } from "../../projection/policy/fields.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { Thread } from "../../thread/thread.ts";
import { type CallSample, calibrate } from "../../tokens/calibrate.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import { heuristic } from "../../tokens/heuristic.ts";
import type { ReactSettings } from "./settings.ts";

/** Entries looked at for what calls have cost: a bound, so that a long thread costs no more than a short one. */
const LOOK_BACK = 200;

/** The counter a policy asks for, corrected by the last calls of this model where it is to be. */
export function counterFor(policy: ContextPolicy, settings: ReactSettings, thread: Thread): TokenCounter {
  const { exactCounter = heuristic, model } = settings;
  switch (policy.tokenEstimator) {
    case "heuristic":
      return heuristic;
    case "exact":
      return exactCounter;
    case "calibrated":
      return calibrate(heuristic, samplesOf(thread, model));
    default:
      return policy.tokenEstimator satisfies never;
  }
}

/** What calls of this model have used of what was estimated, for estimates made with a factor; undefined before the first. */
export function reportedShare(settings: ReactSettings, thread: Thread, factor: number): number | undefined {
  const samples = samplesOf(thread, settings.model);
  return samples.length === 0 ? undefined : calibrate(heuristic, samples).factor / factor;
}

function samplesOf(thread: Thread, model: string | undefined): readonly CallSample[] {
  const from = Math.max(thread.firstSeq, thread.rev - LOOK_BACK);
  return thread.slice(from, Math.max(from, thread.lastSeq)).flatMap(({ payload }) => {
    const call = (payload as JsonObject)["call"]; // payloads are JSON
    if (!isPlainObject(call) || call["model"] !== model) return [];
    const { estimatedTokens: estimated, calibration: factor, usage } = call;
    const reported = isPlainObject(usage) ? usage["inputTokens"] : undefined;
    if (typeof estimated !== "number" || typeof reported !== "number" || typeof factor !== "number") return [];
    return [{ estimated, reported, factor }];
  });
}
