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
    needsApproval: true,
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
    plan: {
      systemPrompt: "Find out what to do. Change nothing.",
      rules: [{ tool: "edit", verdict: "deny", reason: "it changes a file, and this is a plan." }],
      model: planner,
      reasoning: "high",
    },
    // Edits of source files need no approval here.
    build: {
      systemPrompt: "Do what was planned.",
      rules: [{ tool: "edit", verdict: "allow", pattern: { path: "*.ts" } }],
    },
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
for (const { mode, verdict, tool } of await later.rules()) console.log(`rule of ${mode}: ${verdict} ${tool}`);
console.log(`build: ${(await (await later.ask("Go.")).result).text}`);
console.log(`the file: ${files.get("sum.ts")}`);
// One request in another mode.
const last = await (await later.ask("What does it do?", { mode: "build", toolChoice: "none" })).result;
console.log(last.text);
for (const { system, tools: shown } of [...planner.requests, ...builder.requests]) console.log(system, shown.join(" "));
await later.stop();
