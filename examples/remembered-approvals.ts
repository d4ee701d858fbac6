// Approvals that are remembered: one decision settles the calls that wait and match, and later ones.
import { AgentServer, defineAgent, defineTool, memoryStore } from "heddle";
import { scriptedModel } from "heddle/testing";

const write = defineTool({
  description: "Writes a file",
  inputSchema: {
    type: "object",
    properties: { path: { type: "string" }, text: { type: "string" } },
    required: ["path", "text"],
  },
  needsApproval: true,
  execute: ({ path }) => {
    console.log(`  wrote ${path}`);
    return "done";
  },
});
const call = (id: string, path: string) => ({ id, name: "write", arguments: { path, text: "..." } });
const model = scriptedModel([
  { calls: [call("call_1", "src/a.ts"), call("call_2", "src/b.ts"), call("call_3", "src/../.env")] },
  "Two files are written.",
  { calls: [call("call_4", "src/c.ts")] },
  "Written, without a question.",
  { calls: [call("call_5", "src/d.ts")] },
]);
const server = await AgentServer.start({
  agent: defineAgent({ model, tools: { write } }),
  store: memoryStore(),
  threadId: "thread_1",
});

const request = await server.ask("Write the files.");
await request.settled(); // it waits
console.log("Ann approves src/a.ts, and all of src from now on:");
await server.approve("call_1", { by: "Ann", remember: { pattern: { path: "src/**" }, scope: "thread" } });
const [left] = await server.waiting();
console.log(`still waiting: ${JSON.stringify(left?.arguments)}`); // this path leads out of src
await server.deny("call_3", { by: "Ann", reason: "not in src" });
console.log((await request.result).text);

console.log("the next request needs no approval:");
console.log((await (await server.ask("One more.")).result).text);

for (const { id, verdict, tool, pattern, by } of await server.rules()) {
  console.log(`rule: ${verdict} ${tool} ${JSON.stringify(pattern)}, made by ${by}`);
  await server.revokeRule(id, { by: "Ann" });
}
const last = await server.ask("And another.");
await last.settled();
console.log(`after the rule was revoked: the request is ${last.state}`);
await server.stop();
