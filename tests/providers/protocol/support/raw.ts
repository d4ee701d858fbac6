import type { JsonObject } from "heddle";
import type { ApiName, ProtocolServer } from "../../../support/protocol/server.ts";

const HEADERS = {
  "openai-chat": { authorization: "Bearer none" },
  "openai-compatible": { authorization: "Bearer none" },
  "openai-responses": { authorization: "Bearer none" },
  anthropic: { "x-api-key": "none", "anthropic-version": "2023-06-01" },
  gemini: { "x-goog-api-key": "none" },
} as const;

const PATHS = {
  "openai-chat": "/v1/chat/completions",
  "openai-compatible": "/compatible/v1/chat/completions",
  "openai-responses": "/v1/responses",
  anthropic: "/v1/messages",
  gemini: "/v1beta/models/gemini-3-pro-preview:generateContent",
} as const;

const BODIES: { readonly [api in ApiName]: JsonObject } = {
  "openai-chat": { model: "gpt-5.2" },
  "openai-compatible": { model: "qwen4" },
  "openai-responses": { model: "gpt-5.2", store: false },
  anthropic: { model: "claude-sonnet-5", max_tokens: 100 },
  gemini: {},
};

export interface RawAnswer {
  readonly status: number;
  readonly body: JsonObject;
}

/** Sends what no package would. */
export async function post(
  server: ProtocolServer,
  api: ApiName,
  body: JsonObject,
  headers: { readonly [name: string]: string } = HEADERS[api],
): Promise<RawAnswer> {
  const response = await fetch(server.url + PATHS[api], {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ ...BODIES[api], ...body }),
  });
  return { status: response.status, body: (await response.json()) as JsonObject }; // errors and answers are objects
}
