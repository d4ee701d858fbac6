// A call that waits for approval, also when the process ends meanwhile.
import { AgentServer, defineAgent, defineTool, jsonSchema, memoryStore } from "heddle";
import { scriptedModel } from "heddle/testing";

const transfer = defineTool({
  description: "Sends money",
  inputSchema: jsonSchema<{ to: string; amount: number }>({ type: "object" }),
  needsApproval: ({ amount }) => amount > 100,
  execute: ({ to, amount }) => `sent ${amount} to ${to}`,
});
const script = [
  { calls: [{ name: "transfer", arguments: { to: "Ada", amount: 500 } }] },
  "Done: 500 for Ada.",
] as const;
const store = memoryStore();

const before = await AgentServer.start({
  agent: defineAgent({ model: scriptedModel([script[0]]), tools: { transfer } }),
  store,
  threadId: "thread_1",
});
const asked = await before.ask("Send Ada 500.");
for await (const event of asked.events({ until: "waiting" })) {
  if (event.kind === "approval_requested")
    console.log(`may ${event.toolName} run? ${JSON.stringify(event.data.arguments)}`);
}
console.log(`the request is ${asked.state}; the process may end`);
await before.stop();

const after = await AgentServer.start({
  agent: defineAgent({ model: scriptedModel([script[1]]), tools: { transfer } }),
  store,
  threadId: "thread_1",
});
const taken = after.request;
console.log(`in another process the request is ${taken?.state}`);
await after.approve("call_1", { by: "the boss" });
console.log((await taken?.result)?.text);
for (const { kind, payload } of (await after.thread()).toArray()) {
  if (kind === "approval_resolved") console.log(`approved by ${payload["by"]}`);
}
await after.stop();
