import { createServer, type RequestListener, type Server } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import express from "express";
import { AgentHost, memoryStore, type ThreadStore } from "heddle";
import { chatHandler } from "heddle/ai-sdk";
import { expect, onTestFinished, test } from "vitest";
import { changeEvents } from "../../../src/runtime/chat/change-events.ts";
import { systemRuntimePorts } from "../../../src/runtime/ports.ts";
import { agentOf, anything } from "../ui-messages/chat.ts";

const script = ["4", { calls: [{ id: "call_1", name: "pay" }] }, "Paid."];

function chat() {
  const tools = { pay: { inputSchema: anything, needsApproval: true, execute: () => "paid" } };
  const host = AgentHost.create({ agent: agentOf(script, { tools }), store: memoryStore(), warn: () => undefined });
  onTestFinished(() => host.stop());
  return chatHandler({ host, authorize: () => ({ owner: "ada" }) });
}

async function served(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return typeof address === "object" && address ? `http://127.0.0.1:${address.port}` : expect.fail("it has a port");
}

async function last(stream: ReadableStream<UIMessageChunk>): Promise<UIMessage> {
  let message: UIMessage | undefined;
  for await (const one of readUIMessageStream({ stream })) message = one;
  return message ?? expect.fail("a message was streamed");
}

test.each([
  ["node:http", () => getRequestListener(chat())],
  ["Express, below a path", () => express().use("/api/chat", getRequestListener(chat()))],
  ["Express, on routes", () => express().all(["/api/chat", "/api/chat/*path"], getRequestListener(chat()))],
])("a chat is served by %s", async (_, listener) => {
  const api = `${await served(listener())}/api/chat`;
  const transport = new DefaultChatTransport<UIMessage>({ api });
  const send = async (messages: UIMessage[]): Promise<UIMessage> => {
    const submit = { trigger: "submit-message", messageId: undefined, abortSignal: undefined } as const;
    return last(await transport.sendMessages({ chatId: "t", messages, ...submit }));
  };
  const question: UIMessage = { id: "1", role: "user", parts: [{ type: "text", text: "What's 2+2?" }] };
  expect((await send([question])).parts.at(-1)).toMatchObject({ type: "text", text: "4" });
  const asked = await send([{ id: "2", role: "user", parts: [{ type: "text", text: "Pay." }] }]);
  expect(asked.parts.at(-1)).toMatchObject({ type: "tool-pay", state: "approval-requested" });
  const headers = { "content-type": "application/json" };
  const post = (path: string, body: object): Promise<Response> =>
    fetch(`${api}/t/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  expect((await post("approve", { toolCallId: "call_1" })).status).toBe(204);
  const resumed = await transport.reconnectToStream({ chatId: "t" });
  if (resumed !== null) await last(resumed);
  const loaded = (await (await fetch(`${api}/t/messages`)).json()) as { messages: UIMessage[] };
  expect(loaded.messages.map(({ role, parts }) => [role, parts.at(-1)])).toMatchObject([
    ["user", { text: "What's 2+2?" }],
    ["assistant", { text: "4" }],
    ["user", { text: "Pay." }],
    ["assistant", { text: "Paid." }],
  ]);
  expect((await post("stop", {})).status).toBe(200);
});

test("the error says what to do when a parser of Express has read the body before", async () => {
  const api = `${await served(express().use(express.json()).use("/api/chat", getRequestListener(chat())))}/api/chat`;
  const response = await fetch(api, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id: "t", messages: [{ id: "1", role: "user", parts: [{ type: "text", text: "Hi" }] }] }),
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: { code: "invalid_request", message: expect.stringContaining("before a parser of bodies") },
  });
});

test("a stream of changes ends when its store is closed", async () => {
  const store = memoryStore();
  await store.close();
  const options = { ports: systemRuntimePorts, threadId: "t", fromSeq: 0, signal: new AbortController().signal };
  expect(await changeEvents(store, options).text()).toContain("retry: 1000");
});

test("a stream of changes reads as fast as its client, and ends when the client reads no more", async () => {
  const store = memoryStore();
  await store.append(
    "t",
    Array.from({ length: 1000 }, () => ({ kind: "note", payload: {} })),
  );
  let taken = 0;
  const ended = Promise.withResolvers<void>();
  const watch: ThreadStore["watch"] = async function* (...args) {
    try {
      for await (const entry of store.watch(...args)) {
        taken++;
        yield entry;
      }
    } finally {
      ended.resolve();
    }
  };
  const beats: (() => void)[] = [];
  const after = (_ms: number, run: () => void) => {
    beats.push(run);
    return () => undefined;
  };
  const options = { threadId: "t", fromSeq: 0, signal: new AbortController().signal, ports: { after, clock: () => 0 } };
  const { body } = changeEvents({ ...store, watch }, options);
  const reader = body?.getReader();
  for (let at = 0; at < 3; at++) await reader?.read();
  expect(taken).toBeGreaterThanOrEqual(2);
  expect(taken).toBeLessThanOrEqual(4);
  for (let at = 0; at < 100; at++) beats.shift()?.(); // each sets the next one
  await ended.promise;
});
