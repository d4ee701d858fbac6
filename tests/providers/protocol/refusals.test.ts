import type { JsonObject } from "heddle";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ProtocolServer, startProtocolServer } from "../../support/protocol/server.ts";
import { ANTHROPIC } from "./support/anthropic-bodies.ts";
import { GEMINI } from "./support/gemini-bodies.ts";
import { OPENAI_CHAT } from "./support/openai-chat-bodies.ts";
import { OPENAI_RESPONSES } from "./support/openai-responses-bodies.ts";
import { post } from "./support/raw.ts";

// Whatever a provider refuses is refused with its status, in its shape and with its words.

const BODIES = {
  "openai-chat": OPENAI_CHAT,
  "openai-responses": OPENAI_RESPONSES,
  anthropic: ANTHROPIC,
  gemini: GEMINI,
} as const;
const NAMES = ["openai-chat", "openai-responses", "anthropic", "gemini"] as const;

let server: ProtocolServer;
beforeAll(async () => {
  server = await startProtocolServer();
  server.answer(() => ({ text: "ok" }));
});
afterAll(() => server.stop());

/** The message of an error in the shape of its API. */
function messageIn(api: (typeof NAMES)[number], body: JsonObject): unknown {
  switch (api) {
    case "openai-chat":
    case "openai-responses":
      expect(body).toEqual({
        error: {
          message: expect.any(String),
          type: "invalid_request_error",
          param: expect.any(String),
          code: expect.toBeOneOf([null, expect.any(String)]),
        },
      });
      break;
    case "anthropic":
      expect(body).toEqual({
        type: "error",
        error: { type: "invalid_request_error", message: expect.any(String) },
        request_id: expect.any(String),
      });
      break;
    case "gemini":
      expect(body).toEqual({ error: { code: 400, status: "INVALID_ARGUMENT", message: expect.any(String) } });
      break;
    default:
      api satisfies never;
  }
  const { error } = body as { error: { message: string } }; // as was just seen
  return error.message;
}

describe.each(NAMES)("%s", (api) => {
  test.each(BODIES[api].legal)("accepts %s", async (_, body) => {
    const answer = await post(server, api, body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect(server.requests.at(-1)?.accepted).toBe(true);
  });

  test.each(BODIES[api].illegal)("refuses %s", async (_, rule, words, body) => {
    const answer = await post(server, api, body);
    expect(answer.status).toBe(400);
    expect(messageIn(api, answer.body)).toContain(words);
    expect(server.requests.at(-1)).toMatchObject({ accepted: false, violation: { rule } });
  });

  test("refuses a request without a key", async () => {
    const answer = await post(server, api, {}, {});
    expect(answer.status).toBe(api === "gemini" ? 403 : 401);
    expect(server.requests.at(-1)?.violation?.rule).toBe("no_api_key");
  });
});

test("anthropic refuses a request without a version", async () => {
  const { body } = await post(server, "anthropic", {}, { "x-api-key": "none" });
  expect(body).toMatchObject({ error: { message: "anthropic-version: header is required" } });
});

test("anthropic takes system messages in the middle with the beta, and from models that know them", async () => {
  const messages = [
    { role: "user", content: "Hi" },
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hi" },
  ];
  const headers = {
    "x-api-key": "none",
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "mid-conversation-system-2026-04-07",
  };
  const status = async (model: string): Promise<number> =>
    (await post(server, "anthropic", { model, messages }, headers)).status;
  expect([await status("claude-opus-5"), await status("claude-sonnet-5")]).toEqual([200, 400]);
});

test("a path no API has is not found", async () => {
  const response = await fetch(`${server.url}/v1/models`);
  expect(response.status).toBe(404);
});
