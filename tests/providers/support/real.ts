import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { JsonObject, Message, ToolSpec } from "heddle";
import { type AISDKOptions, type ProviderApi, toAISDKPrompt } from "heddle/providers";
import type { Capture } from "./capture.ts";

const OWNERS = {
  "openai-chat": "openai",
  "openai-responses": "openai",
  anthropic: "anthropic",
  gemini: "google",
} as const;

/** What the real package of a provider puts on the wire for our prompt. */
export async function wireOfPackage(
  capture: Capture,
  api: ProviderApi,
  messages: readonly Message[],
  tools: readonly ToolSpec[] = [],
  options: AISDKOptions = {},
): Promise<JsonObject> {
  const call: LanguageModelV4CallOptions = {
    prompt: toAISDKPrompt(messages, { provider: OWNERS[api], ...options }),
    providerOptions: { openai: { store: false } },
  };
  const functions = tools.map(({ inputSchema, ...rest }) => ({
    type: "function" as const,
    ...rest,
    inputSchema: inputSchema as object, // JSON Schema as data
  }));
  await modelOf(api, capture.url).doGenerate(functions.length === 0 ? call : { ...call, tools: functions });
  return capture.last();
}

function modelOf(api: ProviderApi, baseURL: string): LanguageModelV4 {
  const settings = { baseURL, apiKey: "none" };
  switch (api) {
    case "openai-chat":
      return createOpenAI(settings).chat("gpt-4o");
    case "openai-responses":
      return createOpenAI(settings).responses("gpt-4o");
    case "anthropic":
      return createAnthropic(settings)("claude-sonnet-4-5");
    case "gemini":
      return createGoogle(settings)("gemini-3-pro-preview");
    default:
      return api satisfies never;
  }
}
