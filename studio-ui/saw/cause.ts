import type { CallDetail, CauseRule, FirstChange } from "../data/contract.ts";
import { sameMessages } from "./diff.ts";

/** The rule that ended the common prefix, derived from the records of the two calls. */
export function causeOf(before: CallDetail, after: CallDetail): FirstChange | undefined {
  const index = sameMessages(before.messages, after.messages);
  const tools = JSON.stringify(before.toolSpec) !== JSON.stringify(after.toolSpec);
  if (tools)
    return {
      index: 0,
      rule: "tools_changed",
      why: "The tools changed. They precede all messages, so nothing could be read from the cache.",
    };
  if (index >= before.messages.length) return undefined;
  const rule = ruleOf(before, after, index);
  return { index, rule, why: WHY[rule] };
}

const WHY = {
  system_changed: "The system prompt changed.",
  lane_changed: "Another lane was projected.",
  policy_changed: "The policy changed between the two calls.",
  summary_replaced: "A newer summary replaced older history.",
  context_replaced: "The context of the lane was replaced.",
  window_moved: "The window moved: older history was cut to fit the budget.",
  result_cleared: "Results of older exchanges were cleared.",
  thinking_dropped: "Thinking was dropped that the provider no longer accepts.",
  result_shortened: "Results of the newest block were shortened to fit.",
  transformed: "The messages were transformed before they were sent.",
  history_changed: "The message itself changed.",
} as const satisfies { readonly [Rule in CauseRule]?: string };

function ruleOf(before: CallDetail, after: CallDetail, index: number): keyof typeof WHY {
  const [a, b] = [before.record, after.record];
  const segment = after.provenance[index]?.segment ?? before.provenance[index]?.segment;
  if (a.lane !== b.lane) return "lane_changed";
  if (segment === "system") return "system_changed";
  if (a.view.summarySeq !== b.view.summarySeq) return "summary_replaced";
  if (a.sent !== undefined || b.sent !== undefined) return "transformed";
  if (a.policy !== b.policy) return "policy_changed";
  if (after.explained.some(({ seq, rule }) => rule === "context_in_use" && seq > a.basisLastSeq))
    return "context_replaced";
  if (a.view.startSeq !== b.view.startSeq || a.view.startItem !== b.view.startItem) return "window_moved";
  if (String(a.view.cleared) !== String(b.view.cleared)) return "result_cleared";
  if (String(a.view.thinkingDropped) !== String(b.view.thinkingDropped)) return "thinking_dropped";
  if (JSON.stringify(a.view.shrunk) !== JSON.stringify(b.view.shrunk)) return "result_shortened";
  return "history_changed";
}
