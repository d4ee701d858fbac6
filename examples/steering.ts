// A user who changes their mind while the agent works, and one who waits for the end.
import { AgentServer, defineAgent, defineTool, memoryStore } from "heddle";
import { scriptedModel } from "heddle/testing";

const model = scriptedModel([
  { calls: [{ name: "search", arguments: { for: "flights to Oslo" } }] },
  { expect: { lastUser: "Take the train instead." }, text: "There is a night train." },
  { expect: { lastUser: "And a hotel?" }, text: "The Grand is free." },
]);

const search = defineTool({
  description: "Searches",
  inputSchema: { type: "object" },
  execute: async () => {
    const { accepted, receipt } = await server.steer("Take the train instead.");
    console.log(`steered while the tool runs; accepted: ${accepted}`);
    void receipt.then((outcome) =>
      console.log(outcome.delivered ? `delivered as entry ${outcome.seq}` : outcome.reason),
    );
    await server.followUp("And a hotel?");
    return "3 flights";
  },
});

const server = await AgentServer.start({ agent: defineAgent({ model, tools: { search } }), store: memoryStore() });
const request = await server.ask("Book me a way to Oslo.");
const { text } = await request.result;
console.log(text);
for (const { seq, payload } of (await server.thread()).filterByKind("ai_message")) {
  console.log(`${seq} ${payload.role}: ${payload.content || "(calls a tool)"}`);
}
model.assertComplete();
await server.stop();
