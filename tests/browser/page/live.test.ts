import { type AgentEvent, AgentServer, defineAgent, defineTool, type Entry, memoryStore } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
import { applyEvent, isResumedBy, type Live } from "../../../studio-ui/state/live.ts";

async function eventsOfARequest(): Promise<AgentEvent[]> {
  const add = defineTool({ inputSchema: { type: "object" } as const, execute: () => 4 });
  const model = scriptedModel([{ thinking: "hm", calls: [{ name: "add" }] }, { text: ["It ", "is 4"] }]);
  const server = await AgentServer.start({ agent: defineAgent({ model, tools: { add } }), store: memoryStore() });
  const request = await server.ask("2+2?");
  const events = await Array.fromAsync(request.events());
  await server.stop();
  return events;
}

test("a call that waits for a word leaves nothing on the screen of what the model wrote for it", async () => {
  const send = defineTool({ inputSchema: { type: "object" } as const, needsApproval: true, execute: () => "sent" });
  const model = scriptedModel([{ text: "I send it.", calls: [{ name: "send", arguments: { to: "Ada" } }] }]);
  const server = await AgentServer.start({ agent: defineAgent({ model, tools: { send } }), store: memoryStore() });
  const events: AgentEvent[] = [];
  for await (const event of (await server.ask("Send it.")).events()) {
    events.push(event);
    if (event.kind === "approval_requested") break;
  }
  await server.stop({ graceMs: 0 });
  // As they are told again to a page that has just been loaded, which reads the answer from the log.
  expect(liveAfter(events)).toMatchObject({ state: "waiting", text: "", input: "" });
});

const liveAfter = (events: readonly AgentEvent[]) => events.reduce<Live | undefined>(applyEvent, undefined);

test("events that come again change nothing", async () => {
  const events = await eventsOfARequest();
  for (let end = 1; end <= events.length; end++) {
    const seen = events.slice(0, end);
    for (let start = 0; start < end; start++) {
      expect(liveAfter([...seen, ...seen.slice(start)])).toEqual(liveAfter(seen));
    }
  }
});

test("while the model speaks its words grow, and at the end nothing of them is left", async () => {
  const events = await eventsOfARequest();
  const texts = events.map((_, index) => liveAfter(events.slice(0, index + 1))?.text);
  expect(texts).toContain("It ");
  expect(texts).toContain("It is 4");
  expect(liveAfter(events)).toMatchObject({ state: "done", text: "", thinking: "", outcome: { kind: "completed" } });
});

test("a suspended request is shown as suspended with its cause, and followed again when it is resumed", async () => {
  const model = scriptedModel([{ text: ["It ", "is 4"], hang: true }, { text: "It is 4." }]);
  const store = memoryStore();
  const options = { agent: defineAgent({ model }), store, threadId: "thread_1" };
  const server = await AgentServer.start(options);
  const request = await server.ask("2+2?");
  for await (const { kind } of request.events()) if (kind === "llm_delta") break;
  await server.stop({ graceMs: 0 });
  const before = await Array.fromAsync(request.events());
  const suspended = liveAfter(before);
  expect(suspended).toMatchObject({
    state: "suspended",
    text: "",
    tools: {},
    note: expect.stringContaining("stopped"),
  });
  expect(liveAfter([...before, ...before])).toEqual(suspended); // as they are told again after a reconnect

  const next = await AgentServer.start(options);
  const resumed = await Array.fromAsync(next.request?.events() ?? []);
  expect(liveAfter([...before, ...resumed])).toMatchObject({ state: "done", outcome: { kind: "completed" } });
  const ends = (await next.thread()).filterByRef("requestId", request.id);
  await next.stop();
  const shows = (entry: Entry | undefined) => suspended && entry && isResumedBy(suspended, entry);
  expect(shows(ends[0])).toBe(false); // the ask: this process wrote it
  const last = ends.at(-1);
  expect(shows(last && { ...last, at: (suspended?.suspendedAt ?? 0) + 1 })).toBe(true);
});
