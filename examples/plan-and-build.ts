// A coding agent with two modes: it plans without changing a file, then it builds.
import { AgentServer, defineAgent, defineTool, jsonSchema, memoryStore } from "heddle";
import { scriptedModel } from "heddle/testing";

const files = new Map([["sum.ts", "export const sum = (a, b) => a - b;"]]);
const path = jsonSchema<{ path: string }>({ type: "object" });
const change = jsonSchema<{ path: string; text: string }>({ type: "object" });
const tools = {
  read: defineTool({ inputSchema: path, execute: (input) => files.get(input.path) ?? "no such file" }),
  edit: defineTool({
    inputSchema: change,
    execute: (input) => {
      files.set(input.path, input.text);
      return "changed";
    },
  }),
};

const fixed = "export const sum = (a, b) => a + b;";
const planner = scriptedModel([
  { calls: [{ name: "edit", arguments: { path: "sum.ts", text: fixed } }] },
  { calls: [{ name: "read", arguments: { path: "sum.ts" } }] },
  "sum subtracts. Replace the minus.",
]);
const builder = scriptedModel([
  { calls: [{ name: "edit", arguments: { path: "sum.ts", text: fixed } }] },
  "Fixed.",
  "It adds two numbers.",
]);
const agent = defineAgent({
  model: builder,
  tools,
  modes: {
    plan: { systemPrompt: "Find out what to do. Change nothing.", tools: ["read"], model: planner, reasoning: "high" },
    build: { systemPrompt: "Do what was planned." },
  },
});
const store = memoryStore();
const server = await AgentServer.start({ agent, store, threadId: "thread_1" });

await server.setMode("plan", { by: "ann" });
const plan = await (await server.ask("The sum is wrong.")).result;
console.log(`plan: ${plan.text}`);
for (const { payload } of (await server.thread()).toArray()) {
  if ("isError" in payload && payload["isError"]) console.log(`refused: ${payload["content"]}`);
}
console.log(`the file: ${files.get("sum.ts")}`);
await server.stop();

// The mode is in the log: it holds in the next process too.
const later = await AgentServer.start({ agent, store, threadId: "thread_1" });
await later.setMode("build");
console.log(`build: ${(await (await later.ask("Go.")).result).text}`);
console.log(`the file: ${files.get("sum.ts")}`);
// One request in another mode.
const last = await (await later.ask("What does it do?", { mode: "build", toolChoice: "none" })).result;
console.log(last.text);
for (const { system, tools: shown } of [...planner.requests, ...builder.requests]) console.log(system, shown.join(" "));
await later.stop();
