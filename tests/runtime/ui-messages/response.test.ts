import { createUIMessageStreamResponse, DefaultChatTransport, type UIMessage, type UIMessageChunk } from "ai";
import { DefaultChatTransport as DefaultChatTransport6 } from "ai-v6";
import { uiMessageStream, uiMessageStreamResponse } from "heddle/ai-sdk";
import { scriptedModel } from "heddle/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { HandClock } from "../../browser/support/hand-clock.ts";
import { anything, chat, chunksIn } from "./chat.ts";

/** The text without what the AI SDK does not write: ids, and the comment at the start. */
function asTheirs(text: string): string {
  return text.replace(/^: still here\n\n/, "").replace(/^id: .*\n/gm, "");
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
    expect(asTheirs(text)).toBe(await theirs.text());
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
    expect((await Promise.all(read)).map(asTheirs)).toEqual([...expected, ...expected]);
    expect(expected[0]).toContain("49");
    await Promise.all(spoilt);
  });

  test.each([
    [6, DefaultChatTransport6],
    [7, DefaultChatTransport],
  ] as const)("is read by the transport of useChat of AI SDK %i, with its comments", async (client, Transport) => {
    const { server } = await chat(["Hello"]);
    const request = await server.ask("Hi");
    const response = uiMessageStreamResponse(request, { client });
    const text = (await response.text()).replaceAll("\n\n", "\n\n: still here\n\n");
    const fetch = async (): Promise<Response> => new Response(text, response);
    const transport = new (Transport as typeof DefaultChatTransport)<UIMessage>({
      api: "http://localhost/api/chat",
      fetch,
    }); // equal here
    const options = { chatId: "1", messages: [], abortSignal: undefined, messageId: undefined };
    const stream = await transport.sendMessages({ trigger: "submit-message", ...options });
    const chunks: unknown[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks).toEqual(await chunksIn(uiMessageStream(request, { client } as object)));
  });

  test("says that it is still there at its start, and while the model is silent", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const clock = new HandClock();
    const model = scriptedModel([{ text: ["One ", "two."], deltaDelayMs: 1 }], { after: clock.after });
    const { server } = await chat([], { model });
    const { body } = uiMessageStreamResponse(await server.ask("Count."));
    const read: string[] = [];
    const ended = body?.pipeTo(
      new WritableStream({ write: (bytes) => void read.push(new TextDecoder().decode(bytes)) }),
    );
    await expect.poll(() => read.join("")).toContain("One ");
    expect(read[0]).toBe(": still here\n\n");
    for (let beats = 2; beats < 5; beats++) {
      vi.advanceTimersByTime(15_000);
      await expect.poll(() => read.filter((text) => text === ": still here\n\n")).toHaveLength(beats);
    }
    expect(read.slice(-3)).toEqual(Array.from({ length: 3 }, () => ": still here\n\n"));
    clock.pass(1);
    await ended;
    expect(read.join("")).toMatch(/"two\.".*data: \[DONE\]\n\n$/s);
    const { length } = read;
    vi.advanceTimersByTime(45_000);
    expect(read.length).toBe(length);
  });

  test("ends its comments when its reader has left", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const model = scriptedModel([{ text: ["One ", "two."], deltaDelayMs: 1 }], { after: new HandClock().after });
    const { server } = await chat([], { model });
    const before = vi.getTimerCount();
    const reader = uiMessageStreamResponse(await server.ask("Count.")).body?.getReader();
    let text = "";
    while (!text.includes("One ")) text += new TextDecoder().decode((await reader?.read())?.value as Uint8Array);
    const waiting = reader?.read();
    await expect.poll(() => vi.getTimerCount()).toBeGreaterThan(before);
    const during = vi.getTimerCount();
    void reader?.cancel();
    expect([vi.getTimerCount(), (await waiting)?.done]).toEqual([during - 1, true]);
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
