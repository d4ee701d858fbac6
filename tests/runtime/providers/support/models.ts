import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ApiName } from "../../../support/protocol/server.ts";

export const APIS = ["openai-chat", "openai-compatible", "openai-responses", "anthropic", "gemini"] as const;

/** Those that give thinking back in a form that only they can read. */
export const SEALING = ["openai-responses", "anthropic", "gemini"] as const;

/** With the answer in parts, and at once. */
export const WAYS = [
  { way: "streaming", streaming: true },
  { way: "at once", streaming: false },
] as const;

export const EVERY_WAY = APIS.flatMap((api) => WAYS.map(({ way, streaming }) => ({ api, way, streaming })));

interface Options {
  /** Another model than the usual one. */
  readonly name?: string;
  readonly fetch?: typeof fetch;
}

/** The package that speaks an API, pointed at a protocol server. Also for scripts in processes of their own. */
export function modelAt(url: string, api: ApiName, options: Options = {}): LanguageModelV4 {
  const given = { apiKey: "none", ...(options.fetch && { fetch: options.fetch }) };
  switch (api) {
    case "openai-chat":
      return createOpenAI({ baseURL: `${url}/v1`, ...given }).chat(options.name ?? "gpt-5.2");
    case "openai-compatible":
      return createOpenAICompatible({
        name: "local",
        baseURL: `${url}/compatible/v1`,
        ...given,
        includeUsage: true,
        supportsStructuredOutputs: true,
      })(options.name ?? "qwen4");
    case "openai-responses":
      return createOpenAI({ baseURL: `${url}/v1`, ...given })(options.name ?? "gpt-5.2");
    case "anthropic":
      return createAnthropic({ baseURL: `${url}/v1`, ...given })(options.name ?? "claude-sonnet-5");
    case "gemini":
      return createGoogle({ baseURL: `${url}/v1beta`, ...given })(options.name ?? "gemini-3-pro-preview");
    default:
      return api satisfies never;
  }
}
