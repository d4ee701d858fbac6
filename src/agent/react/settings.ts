import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import { createProjector, type Projector } from "../../projection/projector.ts";
import type { Readers } from "../../projection/transcript/reader.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { Content, ToolSpec } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import type { Usage, UsageByModel } from "../answer.ts";
import { AgentError } from "../definition/agent-error.ts";
import type { StopCondition } from "../definition/stop-when.ts";

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
}

/** The definition of a ReAct agent, as plain data and pure functions. */
export interface ReactSettings {
  readonly name: string;
  /** The model name as `provider:model`. Default: unknown. */
  readonly model?: string | undefined;
  readonly systemPrompt?: string | undefined;
  readonly contextPolicy?: ContextPolicyInput | undefined;
  readonly tools: readonly ToolSpec[];
  readonly traits: { readonly [tool: string]: ToolTraits };
  /** Whether a guard checks each tool call before it runs. Default false. */
  readonly guards?: boolean | undefined;
  /** The most model calls of one request. Default 100. */
  readonly maxIterations: number;
  /** The most milliseconds of work of a request. Default: no limit. */
  readonly totalTimeoutMs?: number | undefined;
  /** The most attempts of one request; each crash starts another attempt. Default: not counted. */
  readonly maxAttempts?: number | undefined;
  /** How often an answer that does not match the output schema is sent back. Default 1. */
  readonly outputRetries: number;
  /** The call settings of the model: maxOutputTokens, temperature, toolChoice, responseFormat. Default: none. */
  readonly call: JsonObject;
  readonly projector: Projector;
  readonly readers?: Readers | undefined;
  readonly exactCounter?: TokenCounter | undefined;
  /** Whether a summarizer is available. Default false. */
  readonly summarizes: boolean;
  /** The window of the summarizer, by the policy's `summarizationModel`. Default: the policy's window. */
  readonly summaryWindow?: ((summarizationModel: string | undefined) => number | undefined) | undefined;
  /** Whether a request has reached its limits of tokens or cost. Default: no limits. */
  readonly isSpent?: ((usage: Usage, usageByModel: UsageByModel) => boolean) | undefined;
  /** Completes a run after an exchange when any of these conditions is true. Default: none. */
  readonly stopWhen?: StopCondition | readonly StopCondition[] | undefined;
  /** Returns a reason to refuse an ask, or undefined. Default: none. */
  readonly accept?: ((agent: { readonly thread: Thread }, pending: PendingAsk) => string | undefined) | undefined;
}

const FIELDS: { readonly [Field in keyof Required<ReactSettings>]: true } = {
  name: true,
  model: true,
  systemPrompt: true,
  contextPolicy: true,
  tools: true,
  traits: true,
  guards: true,
  maxIterations: true,
  totalTimeoutMs: true,
  maxAttempts: true,
  outputRetries: true,
  call: true,
  projector: true,
  readers: true,
  exactCounter: true,
  summarizes: true,
  summaryWindow: true,
  isSpent: true,
  stopWhen: true,
  accept: true,
};

/** Refuses fields of `defineAgent` that have no effect here. */
function checkFields(given: Partial<ReactSettings>): void {
  const unknown = Object.keys(given).find((field) => !Object.hasOwn(FIELDS, field));
  if (unknown !== undefined)
    throw invalid(unknown, `is not a setting. The settings are: ${Object.keys(FIELDS).join(", ")}`);
  if (given.model !== undefined && typeof given.model !== "string") {
    throw invalid("model", "must be text, as provider:model. Use defineAgent for an agent that calls a model");
  }
  if (given.tools !== undefined && !Array.isArray(given.tools)) {
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
export function reactSettings(given: Partial<ReactSettings> = {}): ReactSettings {
  checkFields(given);
  return {
    name: "agent",
    tools: [],
    traits: {},
    maxIterations: 100,
    outputRetries: 1,
    call: {},
    summarizes: false,
    ...given,
    projector: given.projector ?? createProjector(),
  };
}
