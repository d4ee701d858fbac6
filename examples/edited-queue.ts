// A queue that is edited while the agent works: what waits is listed, changed and taken back.
import { AgentServer, defineAgent, defineTool, memoryStore } from "heddle";
import { scriptedModel } from "heddle/testing";

const model = scriptedModel([
  { calls: [{ name: "search", arguments: { for: "trains to Oslo" } }] },
  { expect: { lastUser: "At night." }, text: "One leaves at 22:10." },
  { expect: { lastUser: "And a hotel?" }, text: "The Grand is free." },
  { expect: { lastUser: "Book both for Ann and Bo." }, text: "Booked." },
]);
let found = (_trains: string): void => undefined;
const search = defineTool({
  description: "Searches",
  inputSchema: { type: "object" },
  execute: () =>
    new Promise<string>((resolve) => {
      found = resolve;
    }),
});
const server = await AgentServer.start({
  agent: defineAgent({ model, tools: { search }, busy: "queue" }),
  store: memoryStore(),
  threadId: "thread_1",
});
const list = async () => {
  for (const { id, type, ...rest } of await server.pending()) {
    console.log(`  ${id} (${type}): ${"content" in rest ? rest.content : ""}`);
  }
};

const request = await server.ask("Find a train to Oslo.");
const booking = server.ask("Book both for Ann.", { requestId: "booking" }); // resolves when its request starts
const weather = server.ask("How is the weather?", { requestId: "weather" });
const refused = weather.catch(({ code }) => code);
await server.steer("By day.", { id: "when" });
await server.steer("First class.", { id: "class" });
await server.followUp("And a hotel?", { id: "hotel" });

console.log("while the search runs:");
await list();
await server.amend("when", "At night.");
await server.amend("booking", "Book both for Ann and Bo.");
await server.withdraw("class");
await server.withdraw("weather");
console.log("after the edit:");
await list();
console.log(`the ask that was taken back: ${await refused}`);

found("22:10 and 8:05");
console.log((await request.result).text);
console.log((await (await booking).result).text);
for (const { payload } of (await server.thread()).filterByKind("ai_message")) {
  if (payload.role === "user") console.log(`${payload.steer ?? "ask"}: ${payload.content}`);
}
model.assertComplete();
await server.stop();
