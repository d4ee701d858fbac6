import type { AgentEvent } from "heddle";
import type { EventDraft } from "heddle/core";
import { expectTypeOf, test } from "vitest";

declare const event: AgentEvent;

test("events of a tool's call name the call and the tool", () => {
  switch (event.kind) {
    case "tool_started":
    case "tool_completed":
    case "approval_requested":
    case "approval_resolved":
    case "answer_requested":
    case "tool_output":
    case "tool_data":
    case "tool_interrupted":
    case "keepalive":
      expectTypeOf(event.toolCallId).toEqualTypeOf<string>();
      expectTypeOf(event.toolName).toEqualTypeOf<string>();
      break;
    case "llm_started":
    case "llm_delta":
    case "llm_retried":
    case "llm_completed":
      expectTypeOf(event.callId).toEqualTypeOf<string>();
      expectTypeOf(event.toolCallId).toEqualTypeOf<string | undefined>();
      break;
    default:
      expectTypeOf(event.toolCallId).toEqualTypeOf<string | undefined>();
  }
});

test("an event of a tool's call without them does not compile", () => {
  expectTypeOf<{ kind: "keepalive"; data: { runningMs: 1 } }>().not.toExtend<EventDraft>();
  expectTypeOf<{
    kind: "keepalive";
    toolCallId: "1";
    toolName: "add";
    data: { runningMs: 1 };
  }>().toExtend<EventDraft>();
  expectTypeOf<{ kind: "llm_retried"; data: AgentEvent["data"] }>().not.toExtend<EventDraft>();
});
