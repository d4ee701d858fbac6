import { metadataKey, type ProviderModel, qualifiedModelName } from "../../agent/definition/language-model.ts";
import { assistantParts } from "../../providers/message-parts.ts";
import { readableParts } from "../../providers/thinking.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { AssistantMessage, Message } from "../../thread/message.ts";
import type { ModelSettings } from "./settings.ts";

/** Messages and settings of one call that its provider takes, and what the caller should know of the changes. */
export interface ThinkingPlan {
  readonly messages: readonly Message[];
  readonly settings: ModelSettings;
  readonly warnings: readonly string[];
}

/** What of a model decides how it takes thinking. */
export type ThinkingModel = Pick<ProviderModel, "provider" | "modelId" | "specificationVersion">;

interface Asked {
  readonly model: ThinkingModel;
  readonly messages: readonly Message[];
  readonly settings: ModelSettings;
  /** Whether some thinking stands behind other messages than it was made behind. */
  readonly isStale: boolean;
}

/**
 * Adapts a call to what Anthropic accepts of thinking. With a thinking budget, the last answer of a running tool loop must
 * begin with thinking that Anthropic signed; without it, the call is made without thinking. Newer models bind thinking to
 * the messages before it; stale thinking is then dropped by the API where the package can ask for that, else here.
 */
export function planThinking({ model, messages, settings, isStale }: Asked): ThinkingPlan {
  const plan = { messages, settings, warnings: [] };
  if (metadataKey(model) !== "anthropic") return plan;
  const bound = isStale && bindsThinking(model) ? withoutStale(model, plan) : plan;
  if (!wantsThinking(model, bound.settings) || !goesOn(bound.messages)) return bound;
  return {
    messages: withoutThinking(messages),
    settings: thinkingOff(settings),
    warnings: [
      `${qualifiedModelName(model)} is called without thinking: the last answer of the running tool loop has no thinking that ` +
        "this model signed, and Anthropic refuses such a list while thinking is on. The next ask thinks again.",
    ],
  };
}

/** A model's version as a number, such as 4.6; a Claude that says none is taken for a new one. */
function versionOf({ modelId }: ThinkingModel): number {
  const [, major, minor = "0"] = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2})(?!\d))?(?!\d)/.exec(modelId) ?? [];
  return major === undefined ? Number.POSITIVE_INFINITY : Number(`${major}.${minor}`);
}

/** From 4.6 on thinking is adaptive and preserved: its signature covers the system prompt, the tools and the messages before it. */
const FIRST_BOUND = 4.6;

export function bindsThinking(model: ThinkingModel): boolean {
  return versionOf(model) >= FIRST_BOUND;
}

/** Whether the call asks for thinking with a budget, also by the package's own mapping of `reasoning`. */
function wantsThinking(model: ThinkingModel, { reasoning, providerOptions }: ModelSettings): boolean {
  const { type } = thinkingIn(providerOptions?.["anthropic"]);
  if (type !== undefined) return type === "enabled";
  return model.specificationVersion === "v4" && isOn(reasoning) && versionOf(model) < FIRST_BOUND;
}

/** Whether a call asks for a level of thinking that is not the provider's own choice. */
export function isOn(reasoning: ModelSettings["reasoning"]): boolean {
  return reasoning !== undefined && reasoning !== "provider-default" && reasoning !== "none";
}

function thinkingOff({ reasoning, ...others }: ModelSettings): ModelSettings {
  const { anthropic, ...owners } = others.providerOptions ?? {};
  const off = { ...anthropic, thinking: { type: "disabled" } };
  return { ...others, providerOptions: { ...owners, anthropic: off } };
}

/** Leaves stale thinking to the API, which drops what no longer fits; packages offer that with adaptive thinking only. */
function withoutStale(model: ThinkingModel, { messages, settings }: ThinkingPlan): ThinkingPlan {
  const anthropic = settings.providerOptions?.["anthropic"];
  const thinking = thinkingIn(anthropic);
  const { type = "adaptive" } = thinking;
  const isOffered = model.specificationVersion === "v4" && /^anthropic\b/.test(model.provider);
  if (!isOffered || type !== "adaptive" || settings.reasoning === "none") {
    return { messages: withoutThinking(messages), settings, warnings: [] };
  }
  // The package maps `reasoning` only where no thinking is set, so its mapping is written out.
  const mapped =
    isOn(settings.reasoning) && anthropic?.["effort"] === undefined && anthropic?.["thinking"] === undefined;
  const own = mapped ? { type: "adaptive", display: "summarized" } : thinking;
  const dropping = { ...own, blockBinding: { prefixMismatchBehavior: "drop_block" } };
  const providerOptions = { ...settings.providerOptions, anthropic: { ...anthropic, thinking: dropping } };
  return { messages, settings: { ...settings, providerOptions }, warnings: [] };
}

function thinkingIn(anthropic: JsonObject | undefined): JsonObject {
  const thinking = anthropic?.["thinking"];
  return isPlainObject(thinking) ? (thinking as JsonObject) : {}; // options are JSON
}

/** Whether the list ends in results, with or without a user message behind them, of an answer that begins otherwise than with thinking. */
function goesOn(messages: readonly Message[]): boolean {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const answer = messages[last];
  if (answer?.role !== "assistant" || messages[last + 1]?.role !== "tool") return false;
  // A part of the provider's own, such as the message_start of a stream, is no block of the answer.
  const first = readableParts(assistantParts(answer), "anthropic").find(({ type }) => type !== "custom");
  return first?.type !== "thinking";
}

/** Anthropic refuses thinking in the running loop of a call that does not think. */
function withoutThinking(messages: readonly Message[]): readonly Message[] {
  return messages.map((message) => (message.role === "assistant" ? bare(message) : message));
}

function bare(message: AssistantMessage): AssistantMessage {
  const { content } = message;
  if (typeof content === "string" || !content.some(({ type }) => type === "thinking")) return message;
  return { ...message, content: content.filter(({ type }) => type !== "thinking") };
}
