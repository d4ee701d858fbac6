// Settings for an agent that works on files for hours: context, tool results, limits, approvals, steering.
import { AgentServer, defineAgent, defineTool, jsonSchema, memoryStore, rebuildCall } from "heddle";
import { scriptedModel } from "heddle/testing";

const files = new Map([["loom.ts", "export const warp = 1;\n".repeat(5000)]]);

const read = defineTool({
  description: "Reads a file. Long files come shortened: ask for a part with `from` and `lines`.",
  inputSchema: jsonSchema<{ path: string; from?: number; lines?: number }>({ type: "object" }),
  repeatable: true, // reading twice harms nothing, so a kill does not interrupt it
  execute: ({ path, from = 0, lines = 10_000 }) =>
    (files.get(path) ?? "")
      .split("\n")
      .slice(from, from + lines)
      .join("\n"),
});

const edit = defineTool({
  description: "Replaces a text in a file",
  inputSchema: jsonSchema<{ path: string; old: string; new: string }>({ type: "object" }),
  needsApproval: true,
  execute: ({ path, old, new: text }) => {
    files.set(path, (files.get(path) ?? "").replace(old, text));
    return "done";
  },
});

const shell = defineTool({
  description: "Runs a command",
  inputSchema: jsonSchema<{ command: string }>({ type: "object" }),
  timeoutMs: 600_000, // builds and tests are slow; hand `abortSignal` on to the process
  execute: ({ command }) => `ran ${command}`,
});

const model = scriptedModel([
  { calls: [{ name: "read", arguments: { path: "loom.ts" } }] },
  { calls: [{ name: "shell", arguments: { command: "rm -rf /" } }] },
  { calls: [{ name: "edit", id: "edit_1", arguments: { path: "loom.ts", old: "warp = 1", new: "warp = 2" } }] },
  "The warp is 2.",
]);

const agent = defineAgent({
  name: "coder",
  model,
  tools: { read, edit, shell },
  contextPolicy: {
    maxInputTokens: 180_000, // of a window of 200,000; the longer a context, the dearer each call
    autoSummarize: true, // what no longer fits is summarized instead of forgotten
    toolResults: { maxTokens: 8_000 }, // the log keeps results whole, the model reads head and tail
  },
  maxIterations: 300, // a task may take hundreds of calls
  limits: { maxTokens: 20_000_000 }, // the brake
  toolConcurrency: 4,
  guardTools: ({ name, arguments: input }) =>
    name === "shell" && /\brm -rf\b/.test(JSON.stringify(input)) ? { deny: "Delete single files." } : "allow",
  busy: "queue",
});

const store = memoryStore();
const server = await AgentServer.start({ agent, store, threadId: "task_1" });
const request = await server.ask("Set the warp to 2.");
for await (const event of request.events()) {
  if (event.kind === "tool_completed")
    console.log(`${event.toolName}: ${event.data.content.length} characters in the log`);
  if (event.kind === "approval_requested") {
    console.log(`may ${event.toolName} run? ${JSON.stringify(event.data.arguments)}`);
    await server.approve("edit_1", { by: "Ada" });
  }
}
const { text, calls } = await request.result;
console.log(text, files.get("loom.ts")?.slice(0, 22));
const shown = await rebuildCall(store, "task_1", calls[1]?.callId ?? "");
const result = shown.messages.find(({ role }) => role === "tool")?.content ?? "";
console.log(`the model read ${result.length} characters of the file`);
await server.stop();
