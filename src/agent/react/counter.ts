import type { ContextPolicy } from "../../projection/policy/fields.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { Thread } from "../../thread/thread.ts";
import { type CallSample, calibrate } from "../../tokens/calibrate.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import { heuristic } from "../../tokens/heuristic.ts";
import type { ReactSettings } from "./settings.ts";

/** The most entries to search for the usage of earlier calls. The limit keeps the cost constant for long threads. */
const LOOK_BACK = 200;

/** The counter that a policy names. "calibrated" is corrected by the usage of this model's last calls. */
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

/** Reported tokens divided by estimated tokens, for estimates with this factor. Undefined before the first call. */
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
