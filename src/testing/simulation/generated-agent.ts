import type { AnyAgent } from "../../agent/definition/config.ts";
import { defineAgent } from "../../agent/definition/define-agent.ts";
import { ToolError } from "../../agent/definition/errors.ts";
import type { ProviderModel } from "../../agent/definition/language-model.ts";
import { jsonSchema } from "../../agent/definition/schema.ts";
import type { AnyTool, ToolOptions } from "../../agent/definition/tool.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { RuntimePorts } from "../../runtime/ports.ts";
import type { Random } from "../random.ts";

/** The parts from which an agent for the simulation is made. */
export interface AgentParts {
  readonly model: ProviderModel;
  readonly tools: { readonly [name: string]: AnyTool };
  /** The clock and random source of the simulated process, for your own code. */
  readonly ports: RuntimePorts;
}

/** Creates the agent. Called for each process of the simulation. */
export type AgentFactory = (parts: AgentParts) => AnyAgent;

/** Returns a factory of a random agent. It depends only on the seed, so all processes have the same agent. */
export function generatedAgent(random: Random): AgentFactory {
  const isAboutOutput = random.oneIn(5);
  const common = {
    name: "simulated",
    systemPrompt: random.pick(["Be brief.", "You are an office assistant. ".repeat(20)]),
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
    ...(isAboutOutput && { output: ANSWER_OUTPUT, outputRetries: random.below(3) }),
    ...(random.oneIn(5) && {
      transformRequest: ({ messages }: { readonly messages: readonly object[] }) => ({
        messages: [...messages.slice(0, -1), ...messages.slice(-1).map((message) => ({ ...message }))] as never, // the copied messages have the same content
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

const ANSWER_OUTPUT = {
  jsonSchema: { type: "object", properties: { answer: { type: "number" } }, required: ["answer"] },
  validate: (value: unknown) =>
    typeof Object(value).answer === "number"
      ? { success: true as const, value }
      : { success: false as const, error: new Error("answer must be a number") },
};

type ToolInput = { readonly serial: number };

/** The tools of a simulation. */
export const TOOL_NAMES = ["look", "pay", "send", "sign", "ask_user", "slow", "broken", "odd"] as const;

/** Tools that may run twice for one call. */
export const REPEATABLE_TOOLS: ReadonlySet<string> = new Set(["look"]);
/** Tools that need approval for each call. */
export const APPROVED_TOOLS: ReadonlySet<string> = new Set(["send"]);
export const CLIENT_TOOLS: ReadonlySet<string> = new Set(["ask_user"]);

export interface ToolEnvironment {
  readonly random: Random;
  readonly after: RuntimePorts["after"];
  readonly isAlive: () => boolean;
  /** Records a run of a tool. */
  readonly ran: (tool: string, serial: number) => void;
}

/** Makes typical tools. Each has its effect at once and returns later. */
export function generatedTools(environment: ToolEnvironment): { readonly [name: string]: AnyTool } {
  const tool = (name: string, answer: (given: ToolRunInput) => unknown, more: Partial<AnyTool> = {}): AnyTool => ({
    inputSchema: INPUT,
    execute: async ({ serial }: ToolInput, { abortSignal }: ToolOptions) => {
      if (!environment.isAlive()) return new Promise(() => undefined); // a killed process runs nothing
      environment.ran(name, serial);
      if (environment.random.oneIn(3)) await pause(environment, environment.random.below(400));
      return answer({ serial, abortSignal });
    },
    ...more,
  });
  return {
    look: tool("look", ({ serial }) => ({ seen: serial }), { repeatable: true }),
    pay: tool("pay", ({ serial }) => `paid ${serial}`),
    send: tool("send", ({ serial }) => ["sent", serial], { needsApproval: true }),
    sign: tool("sign", () => null, { needsApproval: ({ serial }: ToolInput) => serial % 2 === 1 }),
    ask_user: { inputSchema: INPUT },
    slow: tool("slow", async ({ abortSignal }) => {
      await pause(environment, environment.random.pick([100, 900, 5_000]), abortSignal);
      return "at last ".repeat(environment.random.pick([1, 1, 400]));
    }),
    broken: tool("broken", ({ serial }) => {
      if (serial % 2 === 0) throw new ToolError({ message: "Too many at once.", retryable: true, retryAfterMs: 50 });
      throw new Error("secret words of a driver");
    }),
    odd: tool("odd", () => environment.random.pick(ODD_RESULTS)()),
  };
}

interface ToolRunInput extends ToolInput {
  readonly abortSignal: AbortSignal;
}

const INPUT = jsonSchema<ToolInput>(
  { type: "object", properties: { serial: { type: "number" } }, required: ["serial"] },
  {
    validate: (value) => {
      const { serial } = Object(value) as Partial<ToolInput>;
      if (typeof serial === "number") return { success: true, value: { serial } };
      return { success: false, error: new Error("serial must be a number") };
    },
  },
);

/** Results that are not JSON, or are unusual JSON. */
const ODD_RESULTS: readonly [() => unknown, ...(() => unknown)[]] = [
  () => undefined,
  () => new Date(0),
  () => () => 1,
  () => 10n,
  () => Number.NaN,
  () => ({ when: undefined, set: new Set([1]) }),
  () => "\ud800 half an emoji",
  () => {
    const loop: { self?: object } = {};
    loop.self = loop;
    return loop;
  },
];

function pause({ after }: ToolEnvironment, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = after(ms, resolve);
    signal?.addEventListener("abort", () => {
      cancel();
      reject(signal.reason);
    });
  });
}
