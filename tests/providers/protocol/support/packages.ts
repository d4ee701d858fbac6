import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import type { Message, Part, ToolCall } from "heddle";
import type { AssistantMessage, PartMetadata } from "heddle/core";
import { toAISDKPrompt } from "heddle/providers";
import type { ApiName, ProtocolServer } from "../../../support/protocol/server.ts";

export const APIS = ["openai-chat", "openai-compatible", "openai-responses", "anthropic", "gemini"] as const;

const OWNERS = {
  "openai-chat": "openai",
  "openai-compatible": "openai",
  "openai-responses": "openai",
  anthropic: "anthropic",
  gemini: "google",
} as const;

/** The package that speaks an API, pointed at the server. */
export function modelOf(server: ProtocolServer, api: ApiName): LanguageModelV4 {
  const apiKey = "none";
  switch (api) {
    case "openai-chat":
      return createOpenAI({ baseURL: server.openaiUrl, apiKey }).chat("gpt-5.2");
    case "openai-compatible":
      return createOpenAICompatible({ name: "local", baseURL: server.compatibleUrl, apiKey, includeUsage: true })(
        "qwen4",
      );
    case "openai-responses":
      return createOpenAI({ baseURL: server.openaiUrl, apiKey })("gpt-5.2");
    case "anthropic":
      return createAnthropic({ baseURL: server.anthropicUrl, apiKey })("claude-sonnet-5");
    case "gemini":
      return createGoogle({ baseURL: server.googleUrl, apiKey })("gemini-3-pro-preview");
    default:
      return api satisfies never;
  }
}

/** A call with our prompt. */
export function callOf(
  api: ApiName,
  messages: readonly Message[],
  options: Partial<LanguageModelV4CallOptions> = {},
): LanguageModelV4CallOptions {
  return {
    prompt: toAISDKPrompt(messages, { provider: OWNERS[api] }),
    providerOptions: { openai: { store: false } },
    ...options,
  };
}

/** An answer, however it was asked for. */
export interface Answered {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly { readonly toolCallId: string; readonly toolName: string; readonly input: string }[];
  readonly finishReason: LanguageModelV4FinishReason["unified"];
  readonly usage: LanguageModelV4Usage;
  readonly content: readonly LanguageModelV4Content[];
}

export const WAYS = ["doStream", "doGenerate"] as const;

export async function ask(
  model: LanguageModelV4,
  way: (typeof WAYS)[number],
  call: LanguageModelV4CallOptions,
): Promise<Answered> {
  if (way === "doGenerate") {
    const { content, finishReason, usage } = await model.doGenerate(call);
    return answered(content, finishReason.unified, usage);
  }
  const { stream } = await model.doStream(call);
  const parts = await Array.fromAsync(stream);
  const content = contentOf(parts);
  const finish = parts.find(({ type }) => type === "finish");
  if (finish?.type !== "finish") throw new Error("The stream did not finish.");
  return answered(content, finish.finishReason.unified, finish.usage);
}

function answered(
  content: readonly LanguageModelV4Content[],
  finishReason: Answered["finishReason"],
  usage: LanguageModelV4Usage,
): Answered {
  return {
    text: content.map((part) => (part.type === "text" ? part.text : "")).join(""),
    thinking: content.map((part) => (part.type === "reasoning" ? part.text : "")).join(""),
    calls: content.flatMap((part) => (part.type === "tool-call" ? [part] : [])),
    finishReason,
    usage,
    content,
  };
}

/** The parts of a stream put together as doGenerate gives them; metadata that comes later is added. */
function contentOf(parts: readonly LanguageModelV4StreamPart[]): readonly LanguageModelV4Content[] {
  const content = new Map<string, LanguageModelV4Content & { type: "text" | "reasoning" }>();
  const all: LanguageModelV4Content[] = [];
  for (const part of parts) {
    if (part.type === "error") throw part.error;
    if (part.type === "tool-call") all.push(part);
    if (part.type === "text-start" || part.type === "reasoning-start") {
      const type = part.type === "text-start" ? "text" : "reasoning";
      const begun = { type, text: "", ...metadataOf(part) } as const;
      content.set(`${type} ${part.id}`, begun);
      all.push(begun);
    }
    if (part.type === "text-delta" || part.type === "reasoning-delta") {
      const begun = content.get(`${part.type === "text-delta" ? "text" : "reasoning"} ${part.id}`);
      if (begun !== undefined) Object.assign(begun, { text: begun.text + part.delta }, metadataOf(part));
    }
    if (part.type === "text-end" || part.type === "reasoning-end") {
      const begun = content.get(`${part.type === "text-end" ? "text" : "reasoning"} ${part.id}`);
      if (begun !== undefined) Object.assign(begun, metadataOf(part));
    }
  }
  return all;
}

function metadataOf({ providerMetadata }: { providerMetadata?: unknown }): object {
  return providerMetadata === undefined ? {} : { providerMetadata };
}

/** What was answered, as the message it is from now on. */
export function messageOf({ content }: Pick<Answered, "content">): AssistantMessage {
  return {
    role: "assistant",
    content: content.flatMap((part): readonly Part[] => {
      if (part.type === "text") return [{ type: "text", text: part.text, ...kept(part) }];
      if (part.type === "reasoning") return [{ type: "thinking", text: part.text, ...kept(part) }];
      return part.type === "tool-call" ? [{ type: "tool_call", id: part.toolCallId }] : [];
    }),
    toolCalls: content.flatMap((part): readonly ToolCall[] => {
      if (part.type !== "tool-call") return [];
      return [{ id: part.toolCallId, name: part.toolName, arguments: JSON.parse(part.input), ...kept(part) }];
    }),
  };
}

function kept({ providerMetadata }: { providerMetadata?: unknown }): { metadata?: PartMetadata } {
  return providerMetadata === undefined ? {} : { metadata: JSON.parse(JSON.stringify(providerMetadata)) };
}
