import type { AISDKFile, AISDKText, AISDKToolResult } from "../../../providers/ai-sdk/types.ts";
import { fileNote } from "../../../thread/message.ts";
import { fieldsIn } from "../raw-part.ts";
import type { ModelSpec } from "./spec.ts";
import { olderPrompt, v3 } from "./v3.ts";
import { count, finishReasonOf, known } from "./v4.ts";

/** AI SDK 5: flat usage, a finish reason that is one word, and results that hold text and bytes only. */
export const v2: ModelSpec = {
  ...v3,
  prompt: (messages) => olderPrompt(messages, toolResult),
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

function toolResult(part: AISDKToolResult): object {
  if (part.output.type !== "content") return part;
  return { ...part, output: { type: "content", value: part.output.value.map(resultContent) } };
}

function resultContent(part: AISDKText | AISDKFile): object {
  if (part.type === "text") return { type: "text", text: part.text };
  const { data, mediaType, filename } = part;
  if (data.type === "data") return { type: "media", data: data.data, mediaType };
  const file = { mediaType, ...(filename !== undefined && { filename }) };
  return { type: "text", text: fileNote({ type: "file", ...file, data: { url: data.url.href } }) };
}
