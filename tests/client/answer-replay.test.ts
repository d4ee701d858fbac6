import { readUIMessageStream, type UIMessageChunk } from "ai";
import { AgentServer, memoryStore } from "heddle";
import { type UIChunk, uiMessageStream, uiMessageStreamResponse } from "heddle/ai-sdk";
import type { ScriptedStep } from "heddle/testing";
import { expect, test } from "vitest";
import { AnswerReplay } from "../../src/client/answer-replay.ts";
import { agentOf, anything, chunksIn } from "../runtime/ui-messages/chat.ts";

const tools = { add: { inputSchema: anything, execute: () => 4 } };

async function answer(script: readonly ScriptedStep[]): Promise<readonly UIChunk[]> {
  const server = await AgentServer.start({ agent: agentOf(script, { tools }), store: memoryStore() });
  const chunks = await chunksIn(uiMessageStream(await server.ask("2+2?"), { messageId: "a1" }));
  await server.stop();
  return chunks;
}

/** The parts that a page has after these chunks. */
async function shown(chunks: readonly UIChunk[]): Promise<unknown> {
  let parts: unknown;
  const stream = ReadableStream.from(chunks) as ReadableStream<UIMessageChunk>;
  const onError = (error: unknown): void => expect.fail(String(error));
  for await (const message of readUIMessageStream({ stream, onError })) parts = structuredClone(message.parts);
  return JSON.parse(JSON.stringify(parts));
}

const STEPS: readonly ScriptedStep[] = [
  { thinking: "I add.", text: "Adding two numbers.", calls: [{ id: "c1", name: "add", arguments: { a: 2, b: 2 } }] },
  "The sum of both is four.",
];

/** A connection that is lost after each chunk in turn, and the answer streamed again. */
async function cutEverywhere(first: readonly UIChunk[], again: readonly UIChunk[], isFor6 = false): Promise<unknown[]> {
  const cuts = first.slice(0, -1).map((_, at) => first.slice(0, at + 1));
  return Promise.all(
    cuts.map(async (cut) => {
      const replay = new AnswerReplay({ isFor6 });
      const before = cut.flatMap((chunk) => replay.take(chunk));
      replay.restart();
      return shown([...before, ...again.flatMap((chunk) => replay.take(chunk))]);
    }),
  );
}

test("an answer that is streamed again after a cut is shown once, wherever the cut is", async () => {
  const chunks = await answer(STEPS);
  expect(chunks.length).toBeGreaterThan(15);
  const whole = await shown(chunks);
  for (const parts of await cutEverywhere(chunks, chunks)) expect(parts).toEqual(whole);
});

test("an answer that is cut twice is shown once", async () => {
  const chunks = await answer(STEPS);
  const whole = await shown(chunks);
  for (const at of chunks.slice(2).keys()) {
    const replay = new AnswerReplay();
    const taken = [chunks.slice(0, at), chunks.slice(0, at + 2), chunks].map((stream) => {
      const shownNow = stream.flatMap((chunk) => replay.take(chunk));
      replay.restart();
      return shownNow;
    });
    expect(await shown(taken.flat())).toEqual(whole);
  }
});

test("a last step that was answered otherwise takes the place of the one that was shown", async () => {
  const chunks = await answer(STEPS);
  const [first] = STEPS;
  const other = await answer([first ?? "", "The sum: 4."]);
  const whole = await shown(other);
  for (const parts of await cutEverywhere(chunks.slice(0, -2), other)) expect(parts).toEqual(whole);
});

test("calls that were begun and not made disappear with their step", async () => {
  const chunks = await answer([{ text: "I call.", calls: [{ id: "c1", name: "add" }] }, "Four."]);
  const begun = chunks.slice(0, chunks.findIndex(({ type }) => type === "tool-input-available") + 1);
  const other = await answer(["I call."]);
  const whole = await shown(other);
  for (const parts of await cutEverywhere(begun, other)) expect(parts).toEqual(whole);
});

test("AI SDK 6, which cannot discard a step, is shown the other one after it", async () => {
  const chunks = await answer(["The sum of both is four."]);
  const cut = chunks.slice(0, chunks.findLastIndex(({ type }) => type === "text-delta") + 1);
  const replay = new AnswerReplay({ isFor6: true });
  const before = cut.flatMap((chunk) => replay.take(chunk));
  replay.restart();
  const after = (await answer(["Four."])).flatMap((chunk) => replay.take(chunk));
  expect([...before, ...after].map(({ type }) => type)).not.toContain("reset-step");
  expect(await shown([...before, ...after])).toMatchObject([
    { type: "step-start" },
    { type: "text", state: "done" },
    { type: "step-start" },
    { type: "text", text: "Four.", state: "done" },
  ]);
});

test("a stream that continues a message of the page is shown whole after a cut", async () => {
  const chunks = await answer(STEPS);
  const at = chunks.findIndex(({ type }) => type === "tool-output-available");
  const before = chunks.slice(0, at);
  const replay = new AnswerReplay({ steps: 1 });
  const first = chunks.slice(at, at + 4).flatMap((chunk) => replay.take(chunk));
  replay.restart();
  const again = chunks.flatMap((chunk) => replay.take(chunk));
  expect(await shown([...before, ...first, ...again])).toEqual(await shown(chunks));
});

/** The chunks of a response, with the ids of their events. */
async function eventsOf(response: Response): Promise<readonly (readonly [UIChunk, string | undefined])[]> {
  const blocks = (await response.text()).split("\n\n").filter((block) => block.includes("data: {"));
  return blocks.map((block) => [JSON.parse(block.split("data: ")[1] ?? ""), /^id: (.*)$/m.exec(block)?.[1]]);
}

test.each([undefined, 6] as const)(
  "a stream that continues at the last id is shown once, client %s",
  async (client) => {
    const calls = (id: string) => ({ text: `Step ${id}.`, calls: [{ id, name: "add", arguments: {} }] });
    const script = [calls("c1"), calls("c2"), "The sum of both is four."];
    const server = await AgentServer.start({ agent: agentOf(script, { tools }), store: memoryStore() });
    const request = await server.ask("2+2?");
    const stream = { messageId: "a/1", ...(client && { client }) };
    const first = await eventsOf(uiMessageStreamResponse(request, stream));
    const whole = await shown(first.map(([chunk]) => chunk));
    const ids = new Set(first.flatMap(([, id]) => id ?? []));
    expect([...ids]).toEqual(["a%2F1/0", "a%2F1/1", "a%2F1/2"]);
    for (const at of first.keys()) {
      const replay = new AnswerReplay({ isFor6: client === 6 });
      const cut = first.slice(0, at + 1);
      const before = cut.flatMap(([chunk, id]) => replay.take(chunk, id));
      const lastEventId = cut.findLast(([, id]) => id !== undefined)?.[1];
      expect(replay.position).toBe(lastEventId);
      replay.restart();
      const again = await eventsOf(uiMessageStreamResponse(request, { ...stream, lastEventId }));
      const steps = Number(lastEventId?.split("/")[1] ?? 0);
      expect(again.filter(([{ type }]) => type === "start-step")).toHaveLength(3 - steps);
      expect(again.slice(0, 2).map(([{ type }]) => type)).toEqual(["start", "start-step"]);
      const after = again.flatMap(([chunk, id]) => replay.take(chunk, id));
      expect(after.map(({ type }) => type)).not.toContain("reset-step");
      expect(await shown([...before, ...after]), `cut after ${JSON.stringify(first[at])}`).toEqual(whole);
    }
    const beyond = await eventsOf(uiMessageStreamResponse(request, { ...stream, lastEventId: "a%2F1/9" }));
    expect(beyond.map(([{ type }]) => type)).toEqual(["start", "finish"]);
    for (const lastEventId of ["b/1", "a%2F1", "a%2F1/x", "1", "", null]) {
      const again = await eventsOf(uiMessageStreamResponse(request, { ...stream, lastEventId }));
      expect(again).toEqual(first);
    }
    await server.stop();
  },
);

test("the steps of a stream that continues a message have the numbers that they have in the whole answer", async () => {
  const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
  const script = [{ text: "I pay.", calls: [{ id: "c1", name: "pay", arguments: {} }] }, "Paid."];
  const server = await AgentServer.start({ agent: agentOf(script, { tools: { pay } }), store: memoryStore() });
  const request = await server.ask("Pay.");
  const seen = await Array.fromAsync(request.events({ until: "waiting" }));
  const stream = { messageId: "a1", after: seen.at(-1)?.seq };
  await server.approve("c1");
  const first = await eventsOf(uiMessageStreamResponse(request, stream));
  const replay = new AnswerReplay({ steps: 1 });
  const cut = first.findIndex(([{ type }]) => type === "text-delta");
  const before = first.slice(0, cut + 1).flatMap(([chunk, id]) => replay.take(chunk, id));
  expect(replay.position).toBe("a1/1");
  replay.restart();
  const again = await eventsOf(uiMessageStreamResponse(request, { messageId: "a1", lastEventId: replay.position }));
  const after = again.flatMap(([chunk, id]) => replay.take(chunk, id));
  expect([...before, ...after]).toEqual(first.map(([chunk]) => chunk));
  await server.stop();
});
