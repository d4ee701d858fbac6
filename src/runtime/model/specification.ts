import { metadataKey, type ProviderModel } from "../../agent/definition/language-model.ts";
import type { ModelFinishReason, Usage } from "../../agent/model-call.ts";
import type { AISDKFile, AISDKMessage, AISDKText, AISDKToolResult } from "../../providers/ai-sdk/types.ts";
import { thawObject } from "../../providers/message-parts.ts";
import type { JsonObject } from "../../thread/json.ts";
import { type FileContentPart, fileNote, type PartMetadata, type ToolSpec } from "../../thread/message.ts";
import { ModelError } from "./failure.ts";
import { base64Of, fieldsIn, type RawPart } from "./provider-values.ts";

/** A message of a prompt. Assistant messages may have parts of V4 that the formatter does not know. */
export type PromptMessage = AISDKMessage | { readonly role: "assistant"; readonly content: readonly object[] };

/** The differences between the versions of the language model specification of the AI SDK. */
export interface ModelSpec {
  /** Converts a prompt of V4 to this version. Parts that the version lacks are left out. */
  readonly prompt: (messages: readonly PromptMessage[]) => object[];
  /** The bytes or the URL of a file that the model made. Undefined if it has neither. */
  readonly fileData: (part: RawPart) => FileContentPart["data"] | undefined;
  readonly usage: (value: unknown) => Usage;
  readonly finishReason: (value: unknown) => ModelFinishReason;
  /** Whether a call has the option `reasoning`. */
  readonly takesReasoning: boolean;
}

/** AI SDK 7. */
const v4: ModelSpec = {
  prompt: (messages: readonly PromptMessage[]) => [...messages],
  fileData: ({ data }: RawPart) => {
    const { type, data: bytes, url } = fieldsIn(data);
    return type === "url" ? urlData(url) : bytesData(bytes ?? data);
  },
  usage: groupedUsage,
  finishReason: (value) => {
    const { raw, unified = value } = fieldsIn(value);
    return raw === "pause_turn" ? "paused" : finishReasonOf(unified); // of Anthropic, whose package calls it "stop"
  },
  takesReasoning: true,
};

function bytesData(data: unknown): FileContentPart["data"] | undefined {
  if (data instanceof Uint8Array) return { base64: base64Of(data) };
  return typeof data === "string" && data !== "" ? { base64: data.toWellFormed() } : undefined;
}

function urlData(url: unknown): FileContentPart["data"] | undefined {
  const text = url instanceof URL ? url.href : url;
  return typeof text === "string" && URL.canParse(text) ? { url: text } : undefined;
}

/** Usage since V3 has groups for input and output. Packages leave out unknown numbers, also the totals. */
function groupedUsage(value: unknown): Usage {
  const usage = fieldsIn(value);
  const input = fieldsIn(usage["inputTokens"]);
  const output = fieldsIn(usage["outputTokens"]);
  return known({
    inputTokens: count(input["total"]) ?? sum(input["noCache"], input["cacheRead"], input["cacheWrite"]),
    outputTokens: count(output["total"]) ?? sum(output["text"], output["reasoning"]),
    cacheReadTokens: count(input["cacheRead"]),
    cacheWriteTokens: count(input["cacheWrite"]),
    reasoningTokens: count(output["reasoning"]),
  });
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function known(usage: { readonly [Key in keyof Omit<Usage, "estimated">]: number | undefined }): Usage {
  return Object.fromEntries(Object.entries(usage).filter(([, tokens]) => tokens !== undefined));
}

function sum(...values: readonly unknown[]): number | undefined {
  const counts = values.map(count).filter((tokens) => tokens !== undefined);
  return counts.length === 0 ? undefined : counts.reduce((a, b) => a + b);
}

const FINISH_REASONS: ReadonlySet<unknown> = new Set<ModelFinishReason>([
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "error",
  "interrupted",
  "paused",
  "other",
]);

function finishReasonOf(value: unknown): ModelFinishReason {
  return isFinishReason(value) ? value : "other";
}

function isFinishReason(value: unknown): value is ModelFinishReason {
  return FINISH_REASONS.has(value);
}

/** AI SDK 6: files are bytes or URLs without a type, and files in tool results have other names. */
const v3: ModelSpec = {
  ...v4,
  prompt: (messages) => olderPrompt(messages, toolResultV3),
  fileData: ({ data }) => bytesData(data),
  takesReasoning: false,
};

/** The prompt of V3 and V2: files without a type, and no parts that only V4 has. */
function olderPrompt(messages: readonly PromptMessage[], result: (part: AISDKToolResult) => object): object[] {
  return messages.map((message) => {
    if (message.role === "system") return message;
    const parts: readonly object[] = message.content;
    return { ...message, content: parts.filter(isKnown).map((part) => olderPart(part, result)) };
  });
}

type PromptPart = AISDKText | AISDKFile | AISDKToolResult | { readonly type: string };

function isKnown(part: object): part is PromptPart {
  return "type" in part && part.type !== "custom" && part.type !== "reasoning-file";
}

function olderPart(part: PromptPart, result: (part: AISDKToolResult) => object): object {
  if (isFile(part)) return { ...part, data: fileData(part) };
  return isResult(part) ? result(part) : part;
}

function isFile(part: PromptPart): part is AISDKFile {
  return part.type === "file";
}

function isResult(part: PromptPart): part is AISDKToolResult {
  return part.type === "tool-result";
}

function fileData({ data }: AISDKFile): string | URL {
  return data.type === "url" ? data.url : data.data;
}

function toolResultV3(part: AISDKToolResult): object {
  if (part.output.type !== "content") return part;
  return { ...part, output: { type: "content", value: part.output.value.map(resultContentV3) } };
}

function resultContentV3(part: AISDKText | AISDKFile): object {
  if (part.type === "text") return part;
  const { data, mediaType, filename, providerOptions } = part;
  const options = providerOptions === undefined ? {} : { providerOptions };
  const family = mediaType.startsWith("image/") ? "image" : "file";
  if (data.type === "url") return { type: `${family}-url`, url: data.url.href, ...options };
  const name = family === "file" && filename !== undefined ? { filename } : {};
  return { type: `${family}-data`, data: data.data, mediaType, ...name, ...options };
}

/** AI SDK 5: flat usage, a finish reason as text, and tool results with text and bytes only. */
const v2: ModelSpec = {
  ...v3,
  prompt: (messages) => olderPrompt(messages, toolResultV2),
  usage: (value) => {
    const usage = fieldsIn(value);
    return known({
      inputTokens: count(usage["inputTokens"]),
      outputTokens: count(usage["outputTokens"]),
      cacheReadTokens: count(usage["cachedInputTokens"]),
      cacheWriteTokens: undefined,
      reasoningTokens: count(usage["reasoningTokens"]),
    });
  },
  finishReason: finishReasonOf,
};

function toolResultV2(part: AISDKToolResult): object {
  if (part.output.type !== "content") return part;
  return { ...part, output: { type: "content", value: part.output.value.map(resultContentV2) } };
}

function resultContentV2(part: AISDKText | AISDKFile): object {
  if (part.type === "text") return { type: "text", text: part.text };
  const { data, mediaType, filename } = part;
  if (data.type === "data") return { type: "media", data: data.data, mediaType };
  const file = { mediaType, ...(filename !== undefined && { filename }) };
  return { type: "text", text: fileNote({ type: "file", ...file, data: { url: data.url.href } }) };
}

const SPECS: { readonly [version: string]: ModelSpec } = { v2, v3, v4 };

/** Checks the version, because callers without types may pass a name or a model of another kind. */
export function specOf({ specificationVersion: version }: ProviderModel): ModelSpec {
  const spec = Object.hasOwn(SPECS, version) ? SPECS[version] : undefined;
  if (spec !== undefined) return spec;
  throw new ModelError({
    code: "model_unsupported",
    message:
      "The model implements no known version of the specification of the AI SDK (v2, v3, v4). Pass the model that a " +
      "provider package returns, such as openai(name).",
  });
}

/** The settings of a model call. The provider has defaults for absent ones. */
export interface ModelSettings {
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
  readonly toolChoice?: ToolChoice;
  readonly responseFormat?: ResponseFormat;
  /** The level of thinking. V3 and V2 do not have it: set it in providerOptions. */
  readonly reasoning?: "provider-default" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  readonly providerOptions?: PartMetadata;
  readonly headers?: { readonly [name: string]: string };
}

type ToolChoice = "auto" | "none" | "required" | { readonly type: "tool"; readonly toolName: string };

type ResponseFormat =
  | { readonly type: "text" }
  | { readonly type: "json"; readonly schema?: JsonObject; readonly name?: string; readonly description?: string };

/** The options of a call without its prompt. They are copies, because packages change the values they get. */
export function callSettings(
  model: ProviderModel,
  spec: ModelSpec,
  settings: ModelSettings,
  tools: readonly ToolSpec[] = [],
): object {
  const { maxOutputTokens, temperature, topP, stopSequences, seed, toolChoice, responseFormat, reasoning, headers } =
    settings;
  const providerOptions = providerOptionsFor(model, settings.providerOptions);
  return defined({
    maxOutputTokens,
    temperature,
    topP,
    seed,
    stopSequences: stopSequences && [...stopSequences],
    responseFormat: responseFormat && thawObject(responseFormat),
    reasoning: spec.takesReasoning ? reasoning : undefined,
    headers: headers && { ...headers },
    providerOptions: providerOptions && thawObject(providerOptions),
    ...(tools.length > 0 && {
      tools: tools.map((tool) => toolOf(tool, model)),
      toolChoice: toolChoice && choiceOf(toolChoice),
    }),
  });
}

function toolOf(
  { name, description, inputSchema, provider }: ToolSpec,
  { specificationVersion }: ProviderModel,
): object {
  if (provider !== undefined) {
    const type = specificationVersion === "v2" ? "provider-defined" : "provider";
    return { type, id: provider.id, name, args: thawObject(provider.args) };
  }
  const described = description === undefined ? {} : { description };
  return { type: "function", name, ...described, inputSchema: thawObject(inputSchema) };
}

function choiceOf(choice: ToolChoice): object {
  return typeof choice === "string" ? { type: choice } : { ...choice };
}

/**
 * The Responses API of OpenAI can store answers, and later calls refer to them by id. That fails when the history is cut, so
 * the default here is `store: false`: messages then carry encrypted thinking.
 */
function providerOptionsFor(model: ProviderModel, given: PartMetadata | undefined): PartMetadata | undefined {
  const owner = metadataKey(model);
  if (!model.provider.endsWith(".responses") || (owner !== "openai" && owner !== "azure")) return given;
  // Azure also reads the options of OpenAI, but only one of the two.
  const name = given?.[owner] === undefined && given?.["openai"] !== undefined ? "openai" : owner;
  return { ...given, [name]: { store: false, ...given?.[name] } };
}

/** Whether the call has OpenAI or Azure store its items. */
export function isStored(model: ProviderModel, settings: ModelSettings): boolean {
  const options = providerOptionsFor(model, settings.providerOptions);
  return [options?.["openai"], options?.["azure"]].some((own) => own?.["store"] === true);
}

function defined(fields: { readonly [name: string]: unknown }): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
