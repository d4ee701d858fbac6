import type { CallDetail, FirstChange } from "../data/contract.ts";
import { sameMessages } from "./diff.ts";

/** Which rule moved the shared beginning, told by what is recorded with the two calls. */
export function causeOf(before: CallDetail, after: CallDetail): FirstChange | undefined {
  const index = sameMessages(before.messages, after.messages);
  const tools = JSON.stringify(before.toolSpec) !== JSON.stringify(after.toolSpec);
  if (tools)
    return {
      index: 0,
      rule: "tools",
      why: "The tools changed. They stand before all messages, so nothing could be read from the cache.",
    };
  if (index >= before.messages.length) return undefined;
  const rule = ruleOf(before, after, index);
  return { index, rule, why: WHY[rule] };
}

const WHY = {
  system: "The system prompt changed.",
  lane: "Another lane was projected.",
  policy: "The policy changed between the two calls.",
  summary: "A newer summary took the place of older history.",
  replace: "The lane was replaced: its context is what somebody put there.",
  window: "The window moved: older history was cut to fit the budget.",
  cleared: "Results of older exchanges were cleared.",
  thinking: "Thinking was left out that the provider would not accept any more.",
  shrunk: "Results of the newest block were shortened to fit.",
  sent: "The messages were transformed before they were sent.",
  content: "The message itself is another one.",
} as const;

function ruleOf(before: CallDetail, after: CallDetail, index: number): keyof typeof WHY {
  const [a, b] = [before.record, after.record];
  const segment = after.provenance[index]?.segment ?? before.provenance[index]?.segment;
  if (a.lane !== b.lane) return "lane";
  if (segment === "system") return "system";
  if (a.view.summarySeq !== b.view.summarySeq) return "summary";
  if (a.sent !== undefined || b.sent !== undefined) return "sent";
  if (a.policy !== b.policy) return "policy";
  if (after.explained.some(({ seq, rule }) => rule === "context_in_use" && seq > a.basisLastSeq)) return "replace";
  if (a.view.startSeq !== b.view.startSeq || a.view.startItem !== b.view.startItem) return "window";
  if (String(a.view.cleared) !== String(b.view.cleared)) return "cleared";
  if (String(a.view.thinkingDropped) !== String(b.view.thinkingDropped)) return "thinking";
  if (JSON.stringify(a.view.shrunk) !== JSON.stringify(b.view.shrunk)) return "shrunk";
  return "content";
}
