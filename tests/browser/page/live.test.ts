import { type AgentEvent, AgentServer, defineAgent, memoryStore, tool } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
import { evolve, type Live } from "../../../studio-ui/state/live.ts";

async function eventsOfARequest(): Promise<AgentEvent[]> {
  const add = tool({ inputSchema: { type: "object" } as const, execute: () => 4 });
  const model = scriptedModel([{ thinking: "hm", calls: [{ name: "add" }] }, { text: ["It ", "is 4"] }]);
  const server = await AgentServer.start({ agent: defineAgent({ model, tools: { add } }), store: memoryStore() });
  const request = await server.ask("2+2?");
  const events = await Array.fromAsync(request.events());
  await server.stop();
  return events;
}

const liveAfter = (events: readonly AgentEvent[]) => events.reduce<Live | undefined>(evolve, undefined);

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
