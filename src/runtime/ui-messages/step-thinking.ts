import type { Projection } from "../../projection/projection.ts";
import type { AISDKProviderOptions } from "../../providers/ai-sdk/types.ts";
import { thawObject } from "../../providers/metadata.ts";
import { bindsThinking, planThinking, type ThinkingModel } from "../model/prompt.ts";
import type { ModelSettings } from "../model/settings.ts";
import type { StepModel } from "./model-log.ts";

/** What is known of the settings of a step's call. Without both fields nothing is known. */
export interface StepSettings {
  readonly providerOptions?: AISDKProviderOptions | undefined;
  readonly reasoning?: ModelSettings["reasoning"] | undefined;
}

/** The changes that a step needs, so that its provider takes the thinking among its messages. */
export interface StepThinking {
  /** For `prepareStep`: the AI SDK merges it into the options of the call. */
  readonly providerOptions?: AISDKProviderOptions;
  /** Whether the messages are sent without thinking. */
  readonly isBare: boolean;
  readonly warnings: readonly string[];
}

const UNCHANGED: StepThinking = { isBare: false, warnings: [] };

/** `hasThinking`: whether any model has thought in the conversation. A model that is only a name is left as it is. */
export function stepThinking(
  model: StepModel,
  { messages, meta }: Projection,
  known: StepSettings,
  hasThinking: boolean,
): StepThinking {
  if (!isWhole(model) || !hasThinking) return UNCHANGED;
  const settings = settingsOf(model, known);
  const plan = planThinking({ model, messages, settings, isStale: meta.view.thinkingStale !== undefined });
  const thinking = plan.settings === settings ? undefined : plan.settings.providerOptions?.["anthropic"]?.["thinking"];
  return {
    ...(thinking !== undefined && { providerOptions: { anthropic: thawObject({ thinking }) } }),
    isBare: plan.messages !== messages,
    warnings: plan.warnings,
  };
}

function isWhole(model: StepModel): model is ThinkingModel {
  return typeof model !== "string" && /^v[234]$/.test(model.specificationVersion ?? "");
}

/**
 * Without known settings, a Claude that has thought is taken to think adaptively if it is new, which is then what the
 * step asks for; an older one to think with a budget, because it has no other way.
 */
function settingsOf(model: ThinkingModel, { providerOptions, reasoning }: StepSettings): ModelSettings {
  if (providerOptions === undefined && reasoning === undefined) {
    return { providerOptions: { anthropic: { thinking: { type: bindsThinking(model) ? "adaptive" : "enabled" } } } };
  }
  return { ...(providerOptions && { providerOptions }), ...(reasoning && { reasoning }) };
}

/** A message without thinking; undefined if nothing else is in it. */
export function withoutReasoning<M extends object>(message: M): M | undefined {
  const content = "content" in message && Array.isArray(message.content) ? message.content : undefined;
  if (content === undefined) return message;
  const rest = content.filter((part: { readonly type?: unknown }) => part.type !== "reasoning");
  if (rest.length === content.length) return message;
  return rest.length === 0 ? undefined : { ...message, content: rest };
}
