import type { ProviderModel } from "../../agent/definition/language-model.ts";
import type { ModelFinishReason, Usage } from "../../agent/model-call.ts";
import type { AISDKFile, AISDKMessage, AISDKText, AISDKToolResult } from "../../providers/ai-sdk/types.ts";
import { type FileContentPart, fileNote } from "../../thread/message.ts";
import { ModelError } from "./failure.ts";
import { base64Of, fieldsIn, type RawPart } from "./provider-values.ts";

/** A prompt's message; what V4 has more than the formatter knows is added by this room. */
export type PromptMessage = AISDKMessage | { readonly role: "assistant"; readonly content: readonly object[] };

/** What differs between the versions of the specification. Everything else in a stream or a result is the same in all. */
export interface ModelSpec {
  /** The prompt, which is V4's, in the form of this version; what it has no place for is left out. */
  readonly prompt: (messages: readonly PromptMessage[]) => object[];
  /** The bytes or the address of a file that the model made; undefined when there are none. */
  readonly fileData: (part: RawPart) => FileContentPart["data"] | undefined;
  readonly usage: (value: unknown) => Usage;
  readonly finishReason: (value: unknown) => ModelFinishReason;
  /** Whether a call can say how much the model is to think. */
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
  finishReason: (value) => finishReasonOf(fieldsIn(value)["unified"] ?? value),
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

/** Usage since V3: input and output, each in parts. Packages leave out what they do not know, also the totals. */
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

function known(usage: { readonly [Key in keyof Usage]: number | undefined }): Usage {
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
  "other",
]);

function finishReasonOf(value: unknown): ModelFinishReason {
  return isFinishReason(value) ? value : "other";
}

function isFinishReason(value: unknown): value is ModelFinishReason {
  return FINISH_REASONS.has(value);
}

/** AI SDK 6: files are bare bytes or URLs, in the prompt as in the answer; results name their files otherwise. */
const v3: ModelSpec = {
  ...v4,
  prompt: (messages) => olderPrompt(messages, toolResultV3),
  fileData: ({ data }) => bytesData(data),
  takesReasoning: false,
};

/** What V3 and V2 have in common: files without a tag, nothing of a kind that only V4 knows. */
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

/** AI SDK 5: flat usage, a finish reason that is one word, and results that hold text and bytes only. */
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

/** Users without types pass what they have: a name, a model of a framework, a later version. */
export function specOf({ specificationVersion: version }: ProviderModel): ModelSpec {
  const spec = Object.hasOwn(SPECS, version) ? SPECS[version] : undefined;
  if (spec !== undefined) return spec;
  throw new ModelError({
    code: "model_unsupported",
    message:
      "The model is of no version of the AI SDK's specification that is known here (v2, v3, v4); pass what a " +
      "provider package returns, such as openai(name).",
  });
}
