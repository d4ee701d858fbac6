// An agent that calls a tool. The model is a scripted one, so this needs no API key; put any AI SDK model in its place.
import { AgentServer, defineAgent, defineTool, jsonSchema, memoryStore, rebuildCall } from "heddle";
import { scriptedModel } from "heddle/testing";

const model = scriptedModel([
  { thinking: "That is a sum.", calls: [{ name: "add", arguments: { a: 2, b: 2 } }] },
  { text: ["2+2 ", "is 4."] },
]);

const add = defineTool({
  description: "Adds two numbers",
  inputSchema: jsonSchema<{ a: number; b: number }>({
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  }),
  execute: ({ a, b }) => a + b,
});

const store = memoryStore();
const agent = defineAgent({ model, systemPrompt: "Be brief.", tools: { add } });
const server = await AgentServer.start({ agent, store, threadId: "thread_1" });

const request = await server.ask("What's 2+2?");
for await (const event of request.events()) {
  switch (event.kind) {
    case "tool_started":
      console.log(`${event.toolName} runs`);
      break;
    case "tool_completed":
      console.log(`  gave ${event.data.content}`);
      break;
    case "llm_delta":
      if (event.data.type === "text") console.log(`> ${event.data.text}`);
      break;
    default:
      break;
  }
}

const { text, terminationReason, calls } = await request.result;
console.log(`${text} (${terminationReason}, ${calls.length} model calls)`);

const [, second] = calls;
if (second !== undefined) {
  const { messages, proven } = await rebuildCall(store, "thread_1", second.callId);
  console.log(`the second call saw ${messages.map(({ role }) => role).join(", ")}; proven: ${proven}`);
}
await server.stop();
