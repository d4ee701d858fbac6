import type { FailedSummary, Signal } from "../../../src/agent/signal.ts";

/** A summary up to a seq that was not written. */
export function summaryFailed(
  toSeq: number,
  more: Partial<FailedSummary & { readonly lane: string }> = {},
): Extract<Signal, { type: "summary_failed" }> {
  const { lane = "default", ...facts } = more;
  const failed = { fromSeq: 0, toSeq, code: "model_error", tokens: 100, ...facts };
  return { type: "summary_failed", lane, failed, reason: "No." };
}
