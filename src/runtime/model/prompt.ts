import { metadataKey, type ProviderModel, qualifiedModelName } from "../../agent/definition/language-model.ts";
import { type AISDKOptions, toAISDKPrompt } from "../../providers/ai-sdk/prompt.ts";
import type { AISDKAssistantPart, AISDKProviderOptions } from "../../providers/ai-sdk/types.ts";
import { familyOf } from "../../providers/files.ts";
import { assistantParts, partsOf } from "../../providers/message-parts.ts";
import type { MetadataOwner } from "../../providers/metadata.ts";
import { readableParts } from "../../providers/thinking.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import {
  type AssistantMessage,
  type Content,
  canReadProviderCall,
  type FileContentPart,
  fileNote,
  groupAdjacent,
  isProviderExecuted,
  type Message,
  type Part,
  type ToolMessage,
} from "../../thread/message.ts";
import { OURS } from "./answer.ts";
import type { ModelSettings } from "./settings.ts";
import type { ModelSpec, PromptMessage } from "./spec.ts";

/** The messages as this model takes them; nothing in them is shared with what was passed in. */
export function promptFor(
  model: ProviderModel,
  spec: ModelSpec,
  messages: readonly Message[],
  { cache, stored = false }: Pick<AISDKOptions, "cache" | "stored"> = {},
): object[] {
  const owner = metadataKey(model);
  const options = {
    stored,
    ...(isKnown(owner) && { provider: owner }),
    ...(cache !== undefined && readsMarks(model) && { cache }),
  };
  const name = qualifiedModelName(model);
  const readable = messages.map((message) => withReadableRuns(model, message));
  const prompt = toAISDKPrompt(withChatResults(model, readable), options).flatMap(
    (message): readonly PromptMessage[] => {
      if (message.role !== "assistant") return [message];
      const content = message.content.flatMap((part) => ownPart(part, name));
      return content.length === 0 ? [] : [{ ...message, content }]; // no provider takes a message without content
    },
  );
  return spec.prompt(prompt);
}

function isKnown(owner: string): owner is MetadataOwner {
  return owner === "anthropic" || owner === "openai" || owner === "google";
}

/** A call that another provider ran would become one without a result; chat APIs have no place for any. */
function withReadableRuns(model: ProviderModel, message: Message): Message {
  const { role, content } = message;
  if (role !== "assistant" || typeof content === "string" || !content.some(isProviderExecuted)) return message;
  const owner = isChat(model) ? undefined : metadataKey(model);
  const kept = content.filter(
    (part) => !isProviderExecuted(part) || (owner !== undefined && canReadProviderCall(part, owner)),
  );
  return { ...message, content: kept };
}

/** Claude is also behind gateways, which hand the marks on; its name gives it away. */
function readsMarks(model: ProviderModel): boolean {
  return metadataKey(model) === "anthropic" || /claude/i.test(model.modelId);
}

/** What the log knows of a part and the formatter does not: it stands under our own name, which no provider is to see. */
function ownPart(part: AISDKAssistantPart, model: string): readonly object[] {
  if (part.type === "custom" && part.kind.startsWith(`${OURS}.`)) return [];
  if (part.providerOptions?.[OURS] === undefined) return [part];
  const { providerOptions, ...bare } = part;
  const { [OURS]: ours, ...others }: AISDKProviderOptions = providerOptions;
  const kept = Object.keys(others).length === 0 ? bare : { ...bare, providerOptions: others };
  if (ours?.["reasoningOf"] === undefined) return [kept];
  // An image drawn while thinking is thinking: only the model that made it can read it.
  return ours["reasoningOf"] === model ? [{ ...kept, type: "reasoning-file" }] : [];
}

/** Chat APIs whose packages refuse an image from the user. */
const BLIND = /^(cohere|deepseek)\b/;

/**
 * Chat APIs take results as text, and their packages write the bytes of an image into it as JSON: dear, and nobody sees
 * it. So a result becomes its text, and its images follow as the user's, behind all results of the exchange.
 */
function withChatResults({ provider }: Pick<ProviderModel, "provider">, messages: readonly Message[]) {
  if (!isChat({ provider }) || !messages.some(hasParts)) return messages;
  const shows = (part: Part): part is FileContentPart =>
    part.type === "file" && familyOf(part) === "image" && !BLIND.test(provider);
  return groupAdjacent(messages, (a, b) => a.role === "tool" && b.role === "tool").flatMap(
    (group): readonly Message[] => {
      if (!group.some(hasParts)) return group;
      const images = group.flatMap((message) =>
        message.role === "tool" && message.isError !== true ? partsOf(message.content).filter(shows) : [],
      );
      const results = group.map((message) => (message.role === "tool" ? asText(message, shows) : message));
      return images.length === 0 ? results : [...results, { role: "user", content: images }];
    },
  );
}

/** Whether the model is behind a Chat Completions API. */
function isChat({ provider }: Pick<ProviderModel, "provider">): boolean {
  return /\.chat$/.test(provider);
}

function hasParts(message: Message): message is ToolMessage {
  return message.role === "tool" && typeof message.content !== "string";
}

function asText(message: ToolMessage, shows: (part: Part) => boolean): ToolMessage {
  if (message.isError === true) return message; // its files are notes already
  const content = partsOf(message.content).flatMap((part): readonly string[] => {
    if (part.type === "text") return [part.text];
    if (part.type !== "file") return [];
    return [shows(part) ? `[${part.mediaType}: see the message behind the results]` : fileNote(part)];
  });
  return { ...message, content: content.join("\n") };
}

/** A package's error for what its format has no place for; it is thrown before anything is sent. */
export function isUnsupported(error: unknown): boolean {
  return error instanceof Error && error.name === "AI_UnsupportedFunctionalityError";
}

/** What most packages take, then what nearly all take, then none. */
const TAKEN: readonly ((file: FileContentPart) => boolean)[] = [
  ({ mediaType, data }) =>
    mediaType.startsWith("image/") ||
    ("base64" in data && /^(application\/pdf|audio\/(wav|mp3|mpeg))$/.test(mediaType)),
  ({ mediaType, data }) => mediaType.startsWith("image/") && "base64" in data,
  () => false,
];

/** The messages with a note in the place of more and more files. */
export function withNotes(messages: readonly Message[]): readonly (readonly Message[])[] {
  const lists: (readonly Message[])[] = [];
  for (const isTaken of TAKEN) {
    const before = lists.at(-1) ?? messages;
    const list = before.map((message) => withoutFiles(message, isTaken));
    if (list.some((message, index) => message !== before[index])) lists.push(list);
  }
  return lists;
}

/** The media types of the files that one list has and the other has not. */
export function filesLeftOut(before: readonly Message[], after: readonly Message[]): readonly string[] {
  const kept = new Set(after.flatMap(filesOf));
  return [...new Set(before.flatMap(filesOf).flatMap((file) => (kept.has(file) ? [] : [file.mediaType])))];
}

function filesOf({ content }: Message): readonly FileContentPart[] {
  return typeof content === "string" ? [] : content.filter((part) => part.type === "file");
}

function withoutFiles(message: Message, isTaken: (file: FileContentPart) => boolean): Message {
  if (message.role === "system" || typeof message.content === "string") return message;
  const isLeftOut = (part: Part): part is FileContentPart => part.type === "file" && !isTaken(part);
  if (!message.content.some(isLeftOut)) return message;
  const content: Content = message.content.map(
    (part): Part => (isLeftOut(part) ? { type: "text", text: fileNote(part) } : part),
  );
  return { ...message, content };
}

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
