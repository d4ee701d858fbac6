import { createUIMessageStreamResponse, DefaultChatTransport, type UIMessage, type UIMessageChunk } from "ai";
import { uiMessageStream, uiMessageStreamResponse } from "heddle/ai-sdk";
import { describe, expect, test } from "vitest";
import { anything, chat, chunksIn } from "./chat.ts";

function withoutIds(text: string): string {
  return text.replace(/^id: .*\n/gm, "");
}

describe("the response of a route", () => {
  test("is the one that the AI SDK makes of the stream, with ids at the steps", async () => {
    const { server } = await chat(["Hello"]);
    const request = await server.ask("Hi");
    const theirs = createUIMessageStreamResponse({
      stream: uiMessageStream(request) as ReadableStream<UIMessageChunk>,
    });
    const ours = uiMessageStreamResponse(request);
    expect([ours.status, Object.fromEntries(ours.headers)]).toEqual([200, Object.fromEntries(theirs.headers)]);
    const text = await ours.text();
    expect(withoutIds(text)).toBe(await theirs.text());
    expect(text).toContain(`id: ${request.id}/0\ndata: {"type":"start-step"}`);
  });

  test("is the same for each of many readers at once, also when one changes the bytes it gets", async () => {
    const words = Array.from({ length: 50 }, (_, index) => `word ${index} `);
    const requests = await Promise.all(
      [words, words.map((word) => word.toUpperCase())].map(async (text) => (await chat([{ text }])).server.ask("Hi")),
    );
    const spoilt = [...requests, ...requests].map((request) =>
      uiMessageStreamResponse(request).body?.pipeTo(new WritableStream({ write: (bytes) => void bytes.fill(0) })),
    );
    const read = [...requests, ...requests].map((request) => uiMessageStreamResponse(request).text());
    // The AI SDK encodes each chunk for itself.
    const naive = requests.map((request) =>
      createUIMessageStreamResponse({ stream: uiMessageStream(request) as ReadableStream<UIMessageChunk> }).text(),
    );
    const expected = await Promise.all(naive);
    expect((await Promise.all(read)).map(withoutIds)).toEqual([...expected, ...expected]);
    expect(expected[0]).toContain("49");
    await Promise.all(spoilt);
  });

  test("is read by the transport of useChat", async () => {
    const { server } = await chat(["Hello"]);
    const request = await server.ask("Hi");
    const fetch = async (): Promise<Response> => uiMessageStreamResponse(request);
    const transport = new DefaultChatTransport<UIMessage>({ api: "http://localhost/api/chat", fetch });
    const options = { chatId: "1", messages: [], abortSignal: undefined, messageId: undefined };
    const stream = await transport.sendMessages({ trigger: "submit-message", ...options });
    const chunks: unknown[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks).toEqual(await chunksIn(uiMessageStream(request)));
  });

  test("takes status and headers of yours, and keeps those that the client needs", async () => {
    const { server } = await chat(["Hello"]);
    const request = await server.ask("Hi");
    const { status, headers } = uiMessageStreamResponse(request, {
      status: 201,
      headers: { "x-mine": "1", "cache-control": "no-store" },
    });
    expect(status).toBe(201);
    expect(Object.fromEntries(headers)).toMatchObject({
      "x-mine": "1",
      "cache-control": "no-store",
      "x-vercel-ai-ui-message-stream": "v1",
    });
  });

  test("is kept open by the heartbeats of a tool", async () => {
    const beats: (() => void)[] = [];
    const { server } = await chat([{ calls: [{ name: "slow" }] }, "Done."], {
      toolHeartbeatMs: 1,
      tools: {
        slow: { inputSchema: anything, execute: () => new Promise((resolve) => beats.push(() => resolve("ok"))) },
      },
    });
    const request = await server.ask("Go");
    for await (const { kind } of request.events()) {
      if (kind === "keepalive") for (const end of beats) end();
    }
    const text = await uiMessageStreamResponse(request).text();
    expect(text).toContain("\n\n: keepalive\n\n");
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });
});
