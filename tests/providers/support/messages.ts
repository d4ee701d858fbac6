import type { Content, JsonValue, Message, ToolCall } from "heddle";
import type { AssistantMessage, FileContentPart, PartMetadata, ThinkingPart } from "heddle/core";

export function system(content: string): Message {
  return { role: "system", content };
}

export function user(content: Content): Message {
  return { role: "user", content };
}

export function assistant(content: Content, ...toolCalls: readonly ToolCall[]): AssistantMessage {
  return toolCalls.length === 0 ? { role: "assistant", content } : { role: "assistant", content, toolCalls };
}

export function call(id: string, args: JsonValue = { city: "Bern" }, name = "weather"): ToolCall {
  return { id, name, arguments: args };
}

export function result(id: string, content: Content = "sunny", name = "weather"): Message {
  return { role: "tool", toolCallId: id, name, content };
}

export function failed(id: string, content: Content = "boom", name = "weather"): Message {
  return { role: "tool", toolCallId: id, name, content, isError: true };
}

export function thought(text: string, metadata: PartMetadata): ThinkingPart {
  return { type: "thinking", text, metadata };
}

/** A picture of one pixel. */
export const pixel: FileContentPart = {
  type: "file",
  mediaType: "image/png",
  data: {
    base64: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  },
};

export const webImage: FileContentPart = {
  type: "file",
  mediaType: "image/png",
  data: { url: "https://example.com/a.png" },
};

export const signed = { anthropic: { signature: "sig" } };
export const redacted = { anthropic: { redactedData: "sealed" } };
export const sealed = { openai: { itemId: "rs_1", reasoningEncryptedContent: "enc" } };
export const hinted = { google: { thoughtSignature: "hint" } };
