import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import { createProjector, type Projector } from "../../projection/projector.ts";
import type { Readers } from "../../projection/transcript/entry-reader.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { Content, ToolSpec } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import type { Mode } from "../definition/config.ts";
import { AgentError } from "../definition/errors.ts";
import type { StopWhenCondition } from "../definition/stop-when.ts";
import type { ApprovalLimit } from "../definition/tool.ts";
import type { Usage, UsageByModel } from "../model-call.ts";
import type { RequestLimits } from "../signal.ts";

/** An ask that is not in the thread yet. */
export interface PendingAsk {
  readonly content: Content;
  readonly requestId: string;
}

/** How to resume a call of this tool when it is unknown whether the call has run. */
export interface ToolTraits {
  /** Running it twice is safe. Default false. */
  readonly repeatable?: boolean;
  /** Every call needs approval. Default false. */
  readonly needsApproval?: boolean;
  /** The tool has no `execute`; a caller answers its calls. Default false. */
  readonly client?: boolean;
  /** A function decides for each call whether it needs approval. Default false. */
  readonly guarded?: boolean;
  /** How long a call waits for an approval. Default: the agent's limit. */
  readonly approval?: ApprovalLimit | undefined;
}

/** The definition of a ReAct agent, as plain data and pure functions. */
export interface ReactSettings {
  /** The name of the agent. Default "agent". */
  readonly name: string;
  /** The model name as `provider:model`. Default: unknown. */
  readonly model?: string | undefined;
  /** The models that are called in order when calls of `model` have failed permanently. Default: none. */
  readonly fallbacks?: readonly string[] | undefined;
  /** The system prompt. Default: none. */
  readonly systemPrompt?: string | undefined;
  /** Named bundles of settings. Default: none. */
  readonly modes?: { readonly [name: string]: Omit<Mode, "model"> } | undefined;
  /** How much of the thread the model is shown. Default: fits the model, at most 100,000 tokens. */
  readonly contextPolicy?: ContextPolicyInput | undefined;
  /** The tools that the model may call. Default: none. */
  readonly tools: readonly ToolSpec[];
  /** How to resume the calls of each tool, by its name. Default `{}`. */
  readonly traits: { readonly [tool: string]: ToolTraits };
  /** Whether a guard checks each tool call before it runs. Default false. */
  readonly guards?: boolean | undefined;
  /** The most model calls of one request. Default 100. */
  readonly maxIterations: number;
  /** How long a call waits for an approval. Default: no limit. */
  readonly approval?: ApprovalLimit | undefined;
  /** The most milliseconds of work of a request. Default: no limit. */
  readonly totalTimeoutMs?: number | undefined;
  /** The most retries of one model call by each model, over all processes. Default 4. */
  readonly modelMaxRetries?: number | undefined;
  /** The most attempts of one request; each crash starts another attempt. Default: not counted. */
  readonly maxAttempts?: number | undefined;
  /** How often an answer that does not match the output schema is sent back. Default 1. */
  readonly outputRetries: number;
  /** The call settings of the model: maxOutputTokens, temperature, toolChoice, responseFormat. Default: none. */
  readonly call: JsonObject;
  /** The projector that builds the context. Default: a new one. */
  readonly projector: Projector;
  /** Readers for your own kinds of entries. Default: none. */
  readonly readers?: Readers | undefined;
  /** The counter for `tokenEstimator: "exact"`. Default `heuristic`. */
  readonly exactCounter?: TokenCounter | undefined;
  /** Whether a summarizer is available. Default false. */
  readonly summarizes: boolean;
  /** Whether a call waits for a summary from outside, where the policy says `request_new`. Default false. */
  readonly requestsSummaries?: boolean | undefined;
  /** The window of the summarizer, by the policy's `summarizationModel`. Default: the policy's window. */
  readonly summaryWindow?: ((summarizationModel: string | undefined) => number | undefined) | undefined;
  /** Whether a request has reached its limits of tokens or cost. `limits` are those of its ask. Default: no limits. */
  readonly isSpent?: ((usage: Usage, usageByModel: UsageByModel, limits?: RequestLimits) => boolean) | undefined;
  /** How often a request may call a tool with equal arguments. Default: no limit. */
  readonly repeatedCalls?: number | undefined;
  /** Completes a run after an exchange when any of these conditions is true. Default: none. */
  readonly stopWhen?: StopWhenCondition | readonly StopWhenCondition[] | undefined;
  /** Whether the runtime also checks each exchange, by the directive `check`. Default false. */
  readonly isChecked?: boolean | undefined;
  /** Whether the steers that wait are delivered together before the next model call, or one before each call. Default "all". */
  readonly steering?: "one" | "all" | undefined;
  /** The same for follow-ups, at the end of the request. Default "all". */
  readonly followUps?: "one" | "all" | undefined;
  /** The most messages that wait for delivery. Default 64. */
  readonly maxPending?: number | undefined;
  /** Returns a reason to refuse an ask, or undefined. Default: none. */
  readonly accept?: ((agent: { readonly thread: Thread }, pending: PendingAsk) => string | undefined) | undefined;
}

const FIELDS: { readonly [Field in keyof Required<ReactSettings>]: true } = {
  name: true,
  model: true,
  fallbacks: true,
  systemPrompt: true,
  modes: true,
  contextPolicy: true,
  tools: true,
  traits: true,
  guards: true,
  maxIterations: true,
  approval: true,
  totalTimeoutMs: true,
  modelMaxRetries: true,
  maxAttempts: true,
  outputRetries: true,
  call: true,
  projector: true,
  readers: true,
  exactCounter: true,
  summarizes: true,
  requestsSummaries: true,
  summaryWindow: true,
  isSpent: true,
  repeatedCalls: true,
  stopWhen: true,
  isChecked: true,
  steering: true,
  followUps: true,
  maxPending: true,
  accept: true,
};

/** Refuses fields of `defineAgent` that have no effect here. */
function checkFields(settings: Partial<ReactSettings>): void {
  const unknown = Object.keys(settings).find((field) => !Object.hasOwn(FIELDS, field));
  if (unknown !== undefined)
    throw invalid(unknown, `is not a setting. The settings are: ${Object.keys(FIELDS).join(", ")}`);
  if (settings.model !== undefined && typeof settings.model !== "string") {
    throw invalid("model", "must be text, as provider:model. Use defineAgent for an agent that calls a model");
  }
  if (settings.tools !== undefined && !Array.isArray(settings.tools)) {
    throw invalid("tools", "must be a list of tool specs. Use defineAgent for an agent that runs tools");
  }
}

function invalid(path: string, trouble: string): AgentError {
  return new AgentError({ code: "invalid_agent", path, message: `${path} ${trouble}.` });
}

/**
 * Completes settings with the defaults.
 *
 * @example
 * const settings = reactSettings({ tools: [{ name: "add", inputSchema: { type: "object" } }] });
 * settings.maxIterations; // 100
 */
export function reactSettings(settings: Partial<ReactSettings> = {}): ReactSettings {
  checkFields(settings);
  return {
    name: "agent",
    tools: [],
    traits: {},
    maxIterations: 100,
    outputRetries: 1,
    call: {},
    summarizes: false,
    ...settings,
    projector: settings.projector ?? createProjector(),
  };
}
