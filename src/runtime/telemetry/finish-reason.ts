import type { FinishReason } from "../../agent/answer.ts";

const NAMES: { readonly [Reason in FinishReason]?: string } = {
  "content-filter": "content_filter",
  "tool-calls": "tool_call",
};

/** Why a model stopped, in the words of the conventions. */
export function finishReasonOf(reason: FinishReason): string {
  return NAMES[reason] ?? reason;
}
