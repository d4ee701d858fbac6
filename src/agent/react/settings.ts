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

/** What is asked, before it is in the thread. */
export interface PendingAsk {
  readonly content: Content;
  readonly requestId: string;
}

/** How a call of a tool may be treated when nobody knows whether it has run. */
export interface ToolTraits {
  /** Running it twice does no harm. */
  readonly repeatable?: boolean;
  /** It never runs before somebody has approved it. */
  readonly needsApproval?: boolean;
  /** It is answered from outside. */
  readonly client?: boolean;
  /** Whether somebody has to approve it is asked of each call. */
  readonly guarded?: boolean;
}

/** What a ReAct agent is, as plain data and pure functions. */
export interface ReactSettings {
  readonly name: string;
  /** The model as `provider:model`. */
  readonly model?: string | undefined;
  readonly systemPrompt?: string | undefined;
  readonly contextPolicy?: ContextPolicyInput | undefined;
  readonly tools: readonly ToolSpec[];
  readonly traits: { readonly [tool: string]: ToolTraits };
  /** Whether any call of a tool is asked about before it runs. */
  readonly guards?: boolean | undefined;
  /** Model calls of one request. */
  readonly maxIterations: number;
  /** How long a request may be at work. */
  readonly totalTimeoutMs?: number | undefined;
  /** How often the work of one request may begin, where a crash ends it each time. Default: not counted. */
  readonly maxAttempts?: number | undefined;
  /** How often an answer of the wrong shape is sent back. */
  readonly outputRetries: number;
  /** What goes to the model beside messages and tools: maxOutputTokens, temperature, toolChoice, responseFormat. */
  readonly call: JsonObject;
  readonly projector: Projector;
  readonly readers?: Readers | undefined;
  readonly exactCounter?: TokenCounter | undefined;
  /** Whether there is somebody to write summaries. */
  readonly summarizes: boolean;
  /** The window of the summarizer, by the name that the policy gives as summarizationModel. Default: the policy's window. */
  readonly summaryWindow?: ((summarizationModel: string | undefined) => number | undefined) | undefined;
  /** Says that a request has used up what it may cost. */
  readonly isSpent?: ((usage: Usage, usageByModel: UsageByModel) => boolean) | undefined;
  /** Whether a run is to end behind an exchange with what there is: any of these may say so. */
  readonly stopWhen?: StopCondition | readonly StopCondition[] | undefined;
  /** The caller's own word on an ask: a reason to refuse it. */
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

/** What somebody meant for an agent with a model would do nothing here. */
function checkFields(given: Partial<ReactSettings>): void {
  const unknown = Object.keys(given).find((field) => !Object.hasOwn(FIELDS, field));
  if (unknown !== undefined) throw invalid(unknown, `is no setting. There are: ${Object.keys(FIELDS).join(", ")}`);
  if (given.model !== undefined && typeof given.model !== "string") {
    throw invalid("model", "must be text, as provider:model. An agent that calls a model is made by defineAgent");
  }
  if (given.tools !== undefined && !Array.isArray(given.tools)) {
    throw invalid("tools", "must be a list of tool specs. An agent that runs tools is made by defineAgent");
  }
}

function invalid(path: string, trouble: string): AgentError {
  return new AgentError({ code: "invalid_agent", path, message: `${path} ${trouble}.` });
}

/**
 * Settings, complete: what is not given has its default.
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
