import type { AISDKFile, AISDKText, AISDKToolResult } from "../../../providers/ai-sdk/types.ts";
import type { ModelSpec, PromptMessage } from "./spec.ts";
import { bytesData, v4 } from "./v4.ts";

/** AI SDK 6: files are bare bytes or URLs, in the prompt as in the answer; results name their files otherwise. */
export const v3: ModelSpec = {
  ...v4,
  prompt: (messages) => olderPrompt(messages, toolResult),
  fileData: ({ data }) => bytesData(data),
  takesReasoning: false,
};

/** What V3 and V2 have in common: files without a tag, nothing of a kind that only V4 knows. */
export function olderPrompt(messages: readonly PromptMessage[], result: (part: AISDKToolResult) => object): object[] {
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

function toolResult(part: AISDKToolResult): object {
  if (part.output.type !== "content") return part;
  return { ...part, output: { type: "content", value: part.output.value.map(resultContent) } };
}

function resultContent(part: AISDKText | AISDKFile): object {
  if (part.type === "text") return part;
  const { data, mediaType, filename, providerOptions } = part;
  const options = providerOptions === undefined ? {} : { providerOptions };
  const family = mediaType.startsWith("image/") ? "image" : "file";
  if (data.type === "url") return { type: `${family}-url`, url: data.url.href, ...options };
  const name = family === "file" && filename !== undefined ? { filename } : {};
  return { type: `${family}-data`, data: data.data, mediaType, ...name, ...options };
}
