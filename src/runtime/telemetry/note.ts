import type { AgentEvent } from "../../agent/event.ts";
import type { Attributes } from "./api.ts";

/** What a reader of a trace would miss of a request's events, without a word of what was said; the rest has its own spans. */
export function noteOf(event: AgentEvent): readonly [name: string, attributes: Attributes] | undefined {
  const tool = { "gen_ai.tool.name": event.toolName, "gen_ai.tool.call.id": event.toolCallId };
  switch (event.kind) {
    case "llm_retried": {
      const { failure, attempt } = event.data;
      const said = { "heddle.call.id": event.callId, "error.type": failure.code, "heddle.attempt": attempt };
      return ["heddle.llm_retried", said];
    }
    case "approval_requested":
    case "answer_requested":
      return [`heddle.${event.kind}`, tool];
    case "approval_resolved":
      return ["heddle.approval_resolved", { ...tool, "heddle.approved": event.data.approved }];
    case "input_injected":
      return ["heddle.input_injected", { "heddle.steer": event.data.steer }];
    case "output_repaired":
      return ["heddle.output_repaired", { "heddle.attempt": event.data.attempt }];
    default:
      return undefined;
  }
}
