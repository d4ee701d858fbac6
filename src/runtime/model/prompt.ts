import { metadataKey, type ProviderModel, qualifiedModelName } from "../../agent/definition/language-model.ts";
import { type AISDKOptions, promptOf } from "../../providers/ai-sdk/prompt.ts";
import type { AISDKAssistantPart, AISDKProviderOptions } from "../../providers/ai-sdk/types.ts";
import {
  assistantParts,
  familyOf,
  type MetadataOwner,
  messagesFor,
  partsOf,
  withFileNotes,
} from "../../providers/message-parts.ts";
import { readableParts } from "../../providers/thinking.ts";
import { portableSha256 } from "../../thread/encoding.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import {
  type AssistantMessage,
  canReadProviderCall,
  type FileContentPart,
  fileNote,
  groupAdjacent,
  isProviderExecuted,
  type Message,
  type Part,
  type ToolMessage,
} from "../../thread/message.ts";
import { HEDDLE } from "./answer.ts";
import type { ModelSettings, ModelSpec, PromptMessage } from "./specification.ts";

/** The messages in the form that the model takes. They are copies. */
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
    ...(cache !== undefined && usesCacheMarks(model) && { cache }),
  };
  const name = qualifiedModelName(model);
  const whole = metadataKey(model) === "anthropic" ? withWholeRuns(messages) : messages;
  const readable = whole.map((message) => withReadableCalls(model, withTakenIds(model, message)));
  const prompt = promptOf(withChatResults(model, readable), options).flatMap((message): readonly PromptMessage[] => {
    if (message.role !== "assistant") return [message];
    const content = message.content.flatMap((part) => ownPart(part, name));
    return content.length === 0 ? [] : [{ ...message, content }]; // no provider takes a message without content
  });
  return spec.prompt(prompt);
}

function isKnown(owner: string): owner is MetadataOwner {
  return owner === "anthropic" || owner === "openai" || owner === "google";
}

/** Removes calls that a provider ran and that this model cannot read. Chat APIs can read none. */
function withReadableCalls(model: ProviderModel, message: Message): Message {
  const { role, content } = message;
  if (role !== "assistant" || typeof content === "string" || !content.some(isProviderExecuted)) return message;
  const owner = isChat(model) ? undefined : metadataKey(model);
  const kept = content.filter(
    (part) => !isProviderExecuted(part) || (owner !== undefined && canReadProviderCall(part, owner)),
  );
  return { ...message, content: kept };
}

/**
 * Removes calls of Anthropic's own tools that were paused and got no result before the next message. A paused answer at the
 * end keeps its call: the provider resumes it.
 */
function withWholeRuns(messages: readonly Message[]): readonly Message[] {
  const end = messages.findLastIndex(({ role }) => role === "user");
  return messages.flatMap((message, index): readonly Message[] => {
    const { role, content } = message;
    if (index > end || role !== "assistant" || message.toolCalls || typeof content === "string") return [message];
    const done = new Set(content.flatMap((part) => (part.type === "provider_result" ? [part.id] : [])));
    const kept = content.filter((part) => part.type !== "provider_call" || done.has(part.id));
    if (kept.length === content.length) return [message];
    return kept.every(({ type }) => type === "thinking") ? [] : [{ ...message, content: kept }];
  });
}

/** Mistral takes call ids of nine letters and digits only, also those that another model of the thread has made. */
const SHORT_IDS = /mistral|mixtral|ministral|magistral|devstral|codestral|pixtral/i;
const SHORT_ID = /^[A-Za-z0-9]{9}$/;

function withTakenIds({ provider, modelId }: Pick<ProviderModel, "provider" | "modelId">, message: Message): Message {
  if (!SHORT_IDS.test(`${provider} ${modelId}`)) return message;
  if (message.role === "tool") return { ...message, toolCallId: shortId(message.toolCallId) };
  if (message.role !== "assistant" || message.toolCalls === undefined) return message;
  const toolCalls = message.toolCalls.map((call) => ({ ...call, id: shortId(call.id) }));
  const { content } = message;
  if (typeof content === "string") return { ...message, toolCalls };
  const parts = content.map((part) => (part.type === "tool_call" ? { ...part, id: shortId(part.id) } : part));
  return { ...message, content: parts, toolCalls };
}

function shortId(id: string): string {
  return SHORT_ID.test(id) ? id : portableSha256(id).replaceAll(/[-_]/g, "").slice(0, 9);
}

/** Whether the model uses cache marks. Gateways pass them to Claude, so the name of the model counts too. */
function usesCacheMarks(model: ProviderModel): boolean {
  return metadataKey(model) === "anthropic" || /claude/i.test(model.modelId);
}

/** Applies and removes the metadata of Heddle, which is never sent to a provider. */
function ownPart(part: AISDKAssistantPart, model: string): readonly object[] {
  if (part.type === "custom" && part.kind.startsWith(`${HEDDLE}.`)) return [];
  if (part.providerOptions?.[HEDDLE] === undefined) return [part];
  const { providerOptions, ...bare } = part;
  const { [HEDDLE]: own, ...others }: AISDKProviderOptions = providerOptions;
  const kept = Object.keys(others).length === 0 ? bare : { ...bare, providerOptions: others };
  if (own?.["reasoningOf"] === undefined) return [kept];
  // An image that belongs to thinking can be read only by the model that made it.
  return own["reasoningOf"] === model ? [{ ...kept, type: "reasoning-file" }] : [];
}

/** Chat APIs whose packages refuse images from the user. */
const REFUSES_IMAGES = /^(cohere|deepseek)\b/;

/**
 * Chat APIs take results as text. Their packages would write the bytes of an image as text, which costs tokens and shows
 * nothing. So results become text, with a note for each image. A user message with the images follows the results of the
 * exchange.
 */
function withChatResults({ provider }: Pick<ProviderModel, "provider">, messages: readonly Message[]) {
  if (!isChat({ provider }) || !messages.some(hasParts)) return messages;
  const shows = (part: Part): part is FileContentPart =>
    part.type === "file" && familyOf(part) === "image" && !REFUSES_IMAGES.test(provider);
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

/** The error of a package for content that its format does not support. It is thrown before anything is sent. */
export function isUnsupported(error: unknown): boolean {
  return error instanceof Error && error.name === "AI_UnsupportedFunctionalityError";
}

/**
 * The messages without the files that a known provider refuses for their type. Packages send most of them, and the refusal
 * would end the conversation. The package of OpenAI has an option to send any file.
 */
export function withKnownFiles(
  { provider, modelId }: Pick<ProviderModel, "provider" | "modelId">,
  messages: readonly Message[],
  { providerOptions }: ModelSettings,
): readonly Message[] {
  const key = metadataKey({ provider, modelId });
  const owner = key === "vertex" ? "google" : key;
  if (!isKnown(owner) || providerOptions?.[owner]?.["passThroughUnsupportedFiles"] === true) return messages;
  return messagesFor(owner === "openai" && isChat({ provider }) ? "openai-chat" : owner, messages);
}

/** Files that most packages take, then files that nearly all take, then none. */
const SUPPORTED_FILES: readonly ((file: FileContentPart) => boolean)[] = [
  ({ mediaType, data }) =>
    mediaType.startsWith("image/") ||
    ("base64" in data && /^(application\/pdf|audio\/(wav|mp3|mpeg))$/.test(mediaType)),
  ({ mediaType, data }) => mediaType.startsWith("image/") && "base64" in data,
  () => false,
];

/** Lists of the messages with notes in place of files. Each has fewer files than the one before. */
export function withNotes(messages: readonly Message[]): readonly (readonly Message[])[] {
  const lists: (readonly Message[])[] = [];
  if (messages.every((message) => filesOf(message).length === 0)) return lists;
  for (const isTaken of SUPPORTED_FILES) {
    const before = lists.at(-1) ?? messages;
    const list = withFileNotes(before, isTaken);
    if (list !== before) lists.push(list);
  }
  return lists;
}

/** Lists for a provider that refused a file: without those of the newest message that has some, then without all. */
export function withoutRefused(messages: readonly Message[]): readonly (readonly Message[])[] {
  const newest = messages.map(filesOf).findLast(({ length }) => length > 0) ?? [];
  const all = messages.flatMap(filesOf);
  const first = withFileNotes(messages, (file) => !newest.includes(file));
  return all.length === 0 ? [] : [first, ...(all.length > newest.length ? [withFileNotes(messages, () => false)] : [])];
}

/** The media types of the files that only the first list has. */
export function filesLeftOut(before: readonly Message[], after: readonly Message[]): readonly string[] {
  const kept = new Set(after.flatMap(filesOf));
  return [...new Set(before.flatMap(filesOf).flatMap((file) => (kept.has(file) ? [] : [file.mediaType])))];
}

function filesOf({ content }: Message): readonly FileContentPart[] {
  return typeof content === "string" ? [] : content.filter((part) => part.type === "file");
}

/** Messages and settings that the provider accepts, and warnings about changes that the caller should know. */
export interface ThinkingPlan {
  readonly messages: readonly Message[];
  readonly settings: ModelSettings;
  readonly warnings: readonly string[];
}

/** The facts of a model that thinking depends on. */
export type ThinkingModel = Pick<ProviderModel, "provider" | "modelId" | "specificationVersion">;

interface ThinkingInput {
  readonly model: ThinkingModel;
  readonly messages: readonly Message[];
  readonly settings: ModelSettings;
  /** Whether messages before some thinking have changed since it was made. */
  readonly isStale: boolean;
}

/**
 * Adapts a call to the rules of Anthropic for thinking. With a thinking budget, the last answer of a running tool loop must
 * begin with signed thinking. If it does not, the call is made without thinking. Newer models bind thinking to the messages
 * before it. The API then drops stale thinking if the package can ask for that; else it is dropped here.
 */
export function planThinking({ model, messages, settings, isStale }: ThinkingInput): ThinkingPlan {
  const plan = { messages, settings, warnings: [] };
  if (metadataKey(model) !== "anthropic") return plan;
  const bound = isStale && bindsThinking(model) ? withoutStale(model, plan) : plan;
  if (!wantsThinking(model, bound.settings) || !lacksThinking(bound.messages)) return bound;
  return {
    messages: withoutThinking(messages),
    settings: thinkingOff(settings),
    warnings: [
      `${qualifiedModelName(model)} is called without thinking. The last answer of the running tool loop has no thinking signed by ` +
        "this model, and Anthropic refuses such a list while thinking is on. The next ask is called with thinking.",
    ],
  };
}

/** The version of a Claude model, such as 4.6. A name without a version counts as new. */
function versionOf({ modelId }: ThinkingModel): number {
  const [, major, minor = "0"] = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2})(?!\d))?(?!\d)/.exec(modelId) ?? [];
  return major === undefined ? Number.POSITIVE_INFINITY : Number(`${major}.${minor}`);
}

/** From this version on, the signature of thinking covers the system prompt, the tools and the messages before it. */
const FIRST_BINDING_VERSION = 4.6;

export function bindsThinking(model: ThinkingModel): boolean {
  return versionOf(model) >= FIRST_BINDING_VERSION;
}

/** Whether the call has a thinking budget. A package may also make one from `reasoning`. */
function wantsThinking(model: ThinkingModel, { reasoning, providerOptions }: ModelSettings): boolean {
  const { type } = thinkingIn(providerOptions?.["anthropic"]);
  if (type !== undefined) return type === "enabled";
  return model.specificationVersion === "v4" && isOn(reasoning) && versionOf(model) < FIRST_BINDING_VERSION;
}

/** Whether the settings ask for a level of thinking, and not for the default of the provider. */
export function isOn(reasoning: ModelSettings["reasoning"]): boolean {
  return reasoning !== undefined && reasoning !== "provider-default" && reasoning !== "none";
}

function thinkingOff({ reasoning, ...others }: ModelSettings): ModelSettings {
  const { anthropic, ...owners } = others.providerOptions ?? {};
  const off = { ...anthropic, thinking: { type: "disabled" } };
  return { ...others, providerOptions: { ...owners, anthropic: off } };
}

/** Has the API drop stale thinking. Packages support that with adaptive thinking only; else stale thinking is removed here. */
function withoutStale(model: ThinkingModel, { messages, settings }: ThinkingPlan): ThinkingPlan {
  const anthropic = settings.providerOptions?.["anthropic"];
  const thinking = thinkingIn(anthropic);
  const { type = "adaptive" } = thinking;
  const isOffered = model.specificationVersion === "v4" && /^anthropic\b/.test(model.provider);
  if (!isOffered || type !== "adaptive" || settings.reasoning === "none") {
    return { messages: withoutThinking(messages), settings, warnings: [] };
  }
  // With `thinking` set, the package ignores `reasoning`. So the value that it would map `reasoning` to is set here.
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

/** Whether the messages end in a tool loop whose last answer does not begin with readable thinking. */
function lacksThinking(messages: readonly Message[]): boolean {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const answer = messages[last];
  if (answer?.role !== "assistant" || messages[last + 1]?.role !== "tool") return false;
  // A custom part, such as the message_start of a stream, is not a block of the answer.
  const first = readableParts(assistantParts(answer), "anthropic").find(({ type }) => type !== "custom");
  return first?.type !== "thinking";
}

/** Removes all thinking: Anthropic refuses it in the running tool loop of a call without thinking. */
function withoutThinking(messages: readonly Message[]): readonly Message[] {
  return messages.map((message) => (message.role === "assistant" ? bare(message) : message));
}

function bare(message: AssistantMessage): AssistantMessage {
  const { content } = message;
  if (typeof content === "string" || !content.some(({ type }) => type === "thinking")) return message;
  return { ...message, content: content.filter(({ type }) => type !== "thinking") };
}
