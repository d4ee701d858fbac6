import type { JsonObject } from "heddle";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ProtocolServer, startProtocolServer } from "../../support/protocol/server.ts";

// What is on the wire, beyond what the packages look at.

let server: ProtocolServer;
beforeEach(async () => {
  server = await startProtocolServer();
  server.answer({ thinking: "hm", text: "🙂🙂🙂🙂🙂🙂🙂", calls: [{ name: "add", arguments: { a: "🙂🙂🙂🙂" } }] });
});
afterEach(() => server.stop());

interface Event {
  readonly name: string | undefined;
  readonly data: string;
}

const HEADERS = { authorization: "Bearer none", "anthropic-version": "2023-06-01", "x-goog-api-key": "none" };

async function eventsOf(path: string, body: JsonObject): Promise<readonly Event[]> {
  const response = await fetch(server.url + path, { method: "POST", headers: HEADERS, body: JSON.stringify(body) });
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const text = await response.text();
  return text
    .trimEnd()
    .split("\n\n")
    .map((event) => ({ name: /^event: (.*)$/m.exec(event)?.[1], data: /^data: (.*)$/m.exec(event)?.[1] ?? "" }));
}

const messages = [{ role: "user", content: "Hi" }];

test("openai-chat: unnamed chunks, the usage only when asked for, and the end", async () => {
  const events = await eventsOf("/v1/chat/completions", { model: "m", stream: true, messages });
  expect(events.at(-1)).toEqual({ name: undefined, data: "[DONE]" });
  expect(events.every(({ name }) => name === undefined)).toBe(true);
  expect(events.some(({ data }) => data.includes('"usage"'))).toBe(false);
});

test("openai-responses: named events, numbered without a gap", async () => {
  const events = await eventsOf("/v1/responses", { model: "m", stream: true, input: "Hi" });
  const data = events.map(({ data }) => JSON.parse(data));
  expect(events.map(({ name }) => name)).toEqual(data.map(({ type }) => type));
  expect(data.map(({ sequence_number }) => sequence_number)).toEqual(data.map((_, index) => index));
  expect(data.at(-1)).toMatchObject({ type: "response.completed", response: { status: "completed" } });
});

test("anthropic: named events in their order, with a ping", async () => {
  const events = await eventsOf("/v1/messages", { model: "claude-sonnet-5", max_tokens: 9, stream: true, messages });
  const names = events.map(({ name }) => name);
  const [block, delta, stop] = ["content_block_start", "content_block_delta", "content_block_stop"];
  const runs = names.filter((name, index) => name !== names[index - 1]);
  const three = [block, delta, stop, block, delta, stop, block, delta, stop];
  expect(runs).toEqual(["message_start", "ping", ...three, "message_delta", "message_stop"]);
});

test("anthropic: an error may come before anything else", async () => {
  await using own = await startProtocolServer();
  own.answer({ error: "mid_stream", text: "Hi", after: 0 });
  const body = { model: "claude-sonnet-5", max_tokens: 9, stream: true, messages };
  expect(await receivedFrom(own, "/v1/messages", body)).toMatch(/^event: error\ndata: \{"type":"error",.*\}\n\n$/);
});

const STREAMS = [
  ["/v1/chat/completions", { model: "m", stream: true, messages }, '"finish_reason":"stop"'],
  ["/v1/messages", { model: "claude-sonnet-5", max_tokens: 9, stream: true, messages }, "message_delta"],
  ["/v1/responses", { model: "m", stream: true, input: "Hi" }, "response.completed"],
  [
    "/v1beta/models/m:streamGenerateContent?alt=sse",
    { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
    "finishReason",
  ],
] as const;

test.each(STREAMS)("%s: no delta ends in the middle of a character", async (path, body) => {
  const events = await eventsOf(path, body);
  const texts = events.flatMap(({ data }) => (data === "[DONE]" ? [] : textsIn(JSON.parse(data))));
  expect(texts.join("")).toContain("🙂");
  expect(texts.filter((text) => !text.isWellFormed())).toEqual([]);
});

test.each(STREAMS)(
  "%s: a stream that is cut with nothing to say does not say that it has finished",
  async (path, body, end) => {
    await using own = await startProtocolServer();
    own.answer({ error: "cut" }, { text: "ok" });
    expect(await receivedFrom(own, path, body)).not.toContain(end);
    expect(await receivedFrom(own, path, body)).toContain(end);
  },
);

/** Whatever arrives before the end, or before the connection breaks. */
async function receivedFrom(own: ProtocolServer, path: string, body: JsonObject): Promise<string> {
  const { body: stream } = await fetch(own.url + path, {
    method: "POST",
    headers: HEADERS,
    body: JSON.stringify(body),
  });
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const chunk of stream ?? []) text += decoder.decode(chunk, { stream: true });
  } catch {
    text += "(cut)";
  }
  return text;
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
