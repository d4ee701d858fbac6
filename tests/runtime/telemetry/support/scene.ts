import type { AgentConfig, AnyAgent } from "../../../../src/agent/definition/config.ts";
import { defineAgent } from "../../../../src/agent/definition/define-agent.ts";
import type { LlmStream, ToolExec } from "../../../../src/agent/directive.ts";
import type { AgentEvent, EventDraft } from "../../../../src/agent/event.ts";
import type { ModelAnswer } from "../../../../src/agent/model-call.ts";
import { systemRuntimePorts } from "../../../../src/runtime/ports.ts";
import type { TelemetryScene } from "../../../../src/runtime/telemetry/telemetry.ts";
import type { ToolRunResult } from "../../../../src/runtime/tools/outcome.ts";
import { fake } from "../../model/support/fakes.ts";

export const asked = { requestId: "req_1", runId: "run_1" } as const;
const weather = { inputSchema: { type: "object" }, execute: () => "18 degrees" } as const;

interface Given extends Partial<AgentConfig> {
  readonly provider?: string;
  /** What the clock shows, one reading after the other; then the last. */
  readonly times?: readonly number[];
}

/** An agent called support, with a tool called weather, on a thread of its own. */
export function scene({ provider = "openai.responses", times = [0], ...config }: Given = {}): TelemetryScene {
  const model = fake(() => [], { provider, modelId: "gpt-5" });
  const definition: AnyAgent = defineAgent({ name: "support", model, tools: { weather }, ...config });
  const left = [...times];
  const clock = (): number => (left.length > 1 ? left.shift() : left[0]) ?? 0;
  const ports = { ...systemRuntimePorts, clock };
  return {
    definition,
    threadId: "thread_1",
    ports,
    tools: () => definition.tools,
    transient: () => ({ models: [model] }),
  };
}

export function llmStream(changes: Partial<LlmStream> = {}): LlmStream {
  return {
    type: "llm_stream",
    ...asked,
    callId: "call_1",
    iteration: 1,
    messages: [{ role: "user", content: "How warm is it in Ghent?" }],
    toolSpec: [],
    settings: { maxOutputTokens: 500, temperature: 0.2, seed: 7, stopSequences: ["END"] },
    blobs: [],
    basis: {
      basisRev: 3,
      basisLastSeq: 2,
      lane: "default",
      policy: "hash",
      environment: "hash",
      fingerprint: "hash",
      projector: "heddle/1",
      counter: { id: "heuristic", version: "1" },
      calibration: 1,
      view: { startSeq: 2, headSeqs: [], cleared: [], thinkingDropped: [] },
      estimatedTokens: 321,
    },
    ...changes,
  };
}

export function toolExec(name = "weather"): ToolExec {
  const call = { id: "tool_1", name, arguments: { city: "Ghent" } };
  return { type: "tool_exec", ...asked, callId: "call_1", iteration: 1, call, approved: false };
}

export const answer: ModelAnswer = {
  content: "It is 18 degrees in Ghent.",
  toolCalls: [],
  usage: { inputTokens: 100, outputTokens: 20, cacheReadTokens: 60, cacheWriteTokens: 10, reasoningTokens: 5 },
  finishReason: "stop",
  response: { id: "resp_1", modelId: "gpt-5-2026" },
};

export function outcome(changes: Partial<ToolRunResult> = {}): ToolRunResult {
  return { content: "18 degrees", isError: false, attempts: 1, durationMs: 5, ...changes };
}

export function event(draft: EventDraft): AgentEvent {
  return { ...draft, ...asked, id: "run_1.1", seq: 1, at: 0, iteration: 1 };
}

export const completed = event({
  kind: "request_completed",
  data: {
    text: "It is 18 degrees in Ghent.",
    terminationReason: "final_answer",
    finishReason: "stop",
    usage: { inputTokens: 200, outputTokens: 40 },
    usageByModel: {},
  },
});
