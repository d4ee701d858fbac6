import type { AgentConfig, AnyAgent } from "../../agent/definition/config.ts";
import { modelNames, staticModels } from "../../agent/definition/language-model.ts";
import type { ToolChoiceSetting } from "../../agent/definition/prepare.ts";
import { objectSchemaOf } from "../../agent/definition/schema.ts";
import type { AnyTool, Tools } from "../../agent/definition/tool.ts";
import type { ReactSettings, ToolTraits } from "../../agent/react/settings.ts";
import { limitsOf, UNKNOWN_WINDOW } from "../../projection/policy/policy.ts";
import { createProjector } from "../../projection/projector.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { ToolSpec } from "../../thread/message.ts";
import { loadExactCounter } from "../../tokens/exact.ts";
import { type RuntimePorts, systemRuntimePorts } from "../ports.ts";
import { outputSchemaOf } from "../structured-output.ts";
import { type HookLimit, summaryWaitMs } from "../time-limits.ts";
import { toolSpecsOf } from "../tools/schemas.ts";

interface SettingsOptions {
  readonly ports?: RuntimePorts | undefined;
  readonly warn?: (message: string) => void;
}

/** The settings of an agent for the pure core: its definition without functions. */
export async function settingsFor(
  definition: AnyAgent,
  { ports = systemRuntimePorts, warn = () => undefined }: SettingsOptions = {},
): Promise<ReactSettings> {
  const limit = { ports, timeoutMs: definition.hookTimeoutMs };
  const { name, model, systemPrompt, contextPolicy, maxIterations, outputRetries, tools, output, readers } = definition;
  const { limits } = definition;
  const wantsExact = contextPolicy?.tokenEstimator === "exact" && definition.tokenCounter === undefined;
  const [fullName, ...fallbacks] = modelNames(staticModels(model));
  if (fullName !== undefined) warnOfUnknownWindow(definition, fullName, warn);
  return {
    name,
    model: fullName,
    ...(fallbacks.length > 0 && { fallbacks }),
    systemPrompt: typeof systemPrompt === "string" ? systemPrompt : undefined,
    ...(definition.modes && { modes: definition.modes }),
    contextPolicy,
    ...(await toolSettings(tools, limit)),
    guards: definition.guardTools !== undefined,
    maxIterations,
    approval: definition.approval,
    totalTimeoutMs: definition.totalTimeoutMs,
    modelMaxRetries: definition.modelMaxRetries,
    maxAttempts: definition.maxAttempts,
    outputRetries,
    call: callSettings(
      { ...definition, toolChoice: definition.toolChoice === "auto" ? undefined : definition.toolChoice },
      output === undefined ? undefined : objectSchemaOf(await outputSchemaOf(output, limit)),
    ),
    projector: definition.projector ?? createProjector({ keep: 2 }),
    readers,
    exactCounter: wantsExact ? await loadExactCounter(fullName ?? "") : definition.tokenCounter,
    summarizes: true,
    requestsSummaries: summaryWaitMs(definition) > 0,
    summaryWindow: (name) => {
      const { summarizer, models } = definition;
      if (summarizer?.maxInputTokens !== undefined) return summarizer.maxInputTokens;
      const isOwn = name === undefined || summarizer !== undefined;
      const [own] = isOwn ? modelNames(staticModels(definition.model)) : modelNames(models?.[name] ?? []);
      return own === undefined ? undefined : limitsOf(own)?.window;
    },
    isSpent: ({ inputTokens = 0, outputTokens = 0 }, _byModel, asked) => {
      const { maxTokens = Number.POSITIVE_INFINITY } = { ...limits, ...asked };
      return inputTokens + outputTokens >= maxTokens;
    },
    isChecked: definition.stopWhen !== undefined || limits?.costUsd !== undefined,
    repeatedCalls: limits?.repeatedCalls,
    steering: definition.steering,
    followUps: definition.followUps,
    maxPending: definition.maxPending,
  };
}

/** Agents with a warning so far. Each is warned of once in this process, for all its threads. */
const warned = new WeakSet<AnyAgent>();

/** A scripted model has no window of its own. */
const WITHOUT_WINDOW = /^scripted:/;

function warnOfUnknownWindow(agent: AnyAgent, model: string, warn: (message: string) => void): void {
  const isSet = agent.contextPolicy?.maxInputTokens !== undefined;
  if (isSet || limitsOf(model) !== undefined || WITHOUT_WINDOW.test(model) || warned.has(agent)) return;
  warned.add(agent);
  warn(
    `Heddle does not know the window of ${model}: agent "${agent.name}" shows it ${UNKNOWN_WINDOW} tokens at most. Set contextPolicy: { maxInputTokens } to what the model can read.`,
  );
}

/** The specifications of tools for the model, and the rules for their calls. */
export async function toolSettings(tools: Tools, limit?: HookLimit): Promise<Pick<ReactSettings, "tools" | "traits">> {
  const specs: readonly ToolSpec[] = await toolSpecsOf(tools, { limit });
  const traits = Object.entries(tools).map(([name, tool]) => [name, traitsOf(tool)] as const);
  return { tools: specs, traits: Object.fromEntries(traits) };
}

/** The rules for the calls of a tool. A function may decide that a call needs no approval, so only `true` is certain. */
export function traitsOf({ repeatable, needsApproval, execute, approval }: AnyTool): ToolTraits {
  return {
    repeatable: repeatable === true,
    needsApproval: needsApproval === true,
    client: execute === undefined,
    guarded: typeof needsApproval === "function",
    ...(approval && { approval }),
  };
}

/** The fields of an agent, and of an ask, that are settings of each model call. */
export const CALL_FIELDS = [
  "maxOutputTokens",
  "temperature",
  "reasoning",
  "toolChoice",
  "providerOptions",
  "topP",
  "stopSequences",
  "seed",
] as const;

/** The settings of a model call, in an order that never changes: their text has a hash. */
export function callSettings(
  given: Pick<AgentConfig, (typeof CALL_FIELDS)[number]>,
  schema: JsonObject | undefined,
): JsonObject {
  const { maxOutputTokens, temperature, toolChoice, providerOptions, reasoning, topP, stopSequences, seed } = given;
  return {
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(reasoning !== undefined && { reasoning }),
    ...(toolChoice !== undefined && { toolChoice: choiceOf(toolChoice) }),
    ...(schema !== undefined && { responseFormat: { type: "json", schema } }),
    ...(providerOptions !== undefined && { providerOptions }),
    ...(topP !== undefined && { topP }),
    ...(stopSequences !== undefined && { stopSequences }),
    ...(seed !== undefined && { seed }),
  };
}

function choiceOf(choice: ToolChoiceSetting): string | JsonObject {
  return typeof choice === "string" ? choice : { type: "tool", toolName: choice.tool };
}
