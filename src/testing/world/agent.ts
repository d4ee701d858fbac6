import type { AnyAgent } from "../../agent/definition/agent.ts";
import { defineAgent } from "../../agent/definition/define-agent.ts";
import type { LanguageModel } from "../../agent/definition/language-model.ts";
import type { AnyTool } from "../../agent/definition/tool.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { RuntimePorts } from "../../runtime/ports.ts";
import type { Random } from "../random.ts";

/** The parts of a simulated agent. */
export interface AgentParts {
  readonly model: LanguageModel;
  readonly tools: { readonly [name: string]: AnyTool };
  /** Clock and random source of the process, for your own code. */
  readonly ports: RuntimePorts;
}

/** Creates the agent. Called for each process of the simulation. */
export type MakeAgent = (parts: AgentParts) => AnyAgent;

/** A generated agent, which depends only on the seed and is the same in all processes. */
export function generatedAgent(random: Random): MakeAgent {
  const isAboutOutput = random.oneIn(5);
  const common = {
    name: "simulated",
    systemPrompt: random.pick(["Be brief.", "You are a clerk. ".repeat(20)]),
    maxIterations: random.pick([1, 3, 6]),
    toolTimeoutMs: 1_000,
    toolMaxRetries: 0,
    modelMaxRetries: random.below(3),
    toolConcurrency: random.pick([1, 2, 4]),
    toolHeartbeatMs: 300,
    streamIdleTimeoutMs: 2_000,
    busy: random.pick(["reject", "queue"] as const),
    streaming: !random.oneIn(4),
    captureDeltas: !random.oneIn(4),
    recover: random.pick(["resume", "resume", "fail"] as const),
    contextPolicy: generatedPolicy(random),
    ...(random.oneIn(4) && { totalTimeoutMs: 3_000 }),
    ...(random.oneIn(6) && { limits: { maxTokens: 1_500 } }),
    ...(isAboutOutput && { output: ANSWER, outputRetries: random.below(3) }),
    ...(random.oneIn(5) && {
      transformRequest: ({ messages }: { readonly messages: readonly object[] }) => ({
        messages: [...messages.slice(0, -1), ...messages.slice(-1).map((message) => ({ ...message }))] as never, // a copy, the same to read
        settings: { temperature: 0.5 },
      }),
    }),
  };
  return ({ model, tools }) => defineAgent({ ...common, model, tools });
}

export function generatedPolicy(random: Random): ContextPolicyInput {
  return {
    maxInputTokens: random.pick([1_600, 3_000, 20_000]),
    reserveOutputTokens: 500,
    keepLastTurns: random.below(3),
    overflow: random.pick(["error", "shrink"] as const),
    window: { mode: random.pick(["stable", "sliding"] as const), step: 0.5 },
    tokenEstimator: random.pick(["heuristic", "calibrated"] as const),
    summarization: random.pick(["use_existing", "request_new"] as const),
    autoSummarize: random.oneIn(2),
    maxThreadTokens: random.pick([0, 400]),
  };
}

const ANSWER = {
  jsonSchema: { type: "object", properties: { answer: { type: "number" } }, required: ["answer"] },
  validate: (value: unknown) =>
    typeof Object(value).answer === "number"
      ? { success: true as const, value }
      : { success: false as const, error: new Error("answer must be a number") },
};
