import type { ModelFinishReason } from "../../agent/model-call.ts";

const NAMES: { readonly [Reason in ModelFinishReason]?: string } = {
  "content-filter": "content_filter",
  "tool-calls": "tool_call",
};

/** Why a model stopped, in the words of the conventions. */
export function finishReasonOf(reason: ModelFinishReason): string {
  return NAMES[reason] ?? reason;
}
