// One life of a process on a thread: after-kill-child.ts <die | fresh | warm> <database> <threadId>
// One process asks and is killed during a tool. The next resumes, and prints the time until it called the model.
import { type AgentConfig, AgentServer, defineAgent, defineTool, memoryStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { POLICY, SYSTEM_PROMPT, TOOL } from "./conversation.ts";
import { instantModel } from "./model.ts";

const [what, path = "", threadId = ""] = process.argv.slice(2);

const deadly = defineTool({
  description: TOOL.description,
  inputSchema: TOOL.inputSchema,
  execute: () => {
    process.kill(process.pid, "SIGKILL");
    return "";
  },
});

const agentOf = (model: AgentConfig["model"], weather = deadly) =>
  defineAgent({ model, systemPrompt: SYSTEM_PROMPT, contextPolicy: POLICY, tools: { [TOOL.name]: weather } });

if (what === "warm") {
  const agent = agentOf(instantModel(true, { messages: 0 }), { ...deadly, execute: () => TOOL.output });
  const server = await AgentServer.start({ agent, store: memoryStore() });
  for (let turn = 0; turn < 20; turn += 1) await (await server.ask("What is the weather in Turin?")).result;
  await server.stop();
}

const { promise: called, resolve: call } = Promise.withResolvers<number>();
const model = instantModel(true, { messages: 0 });
const timed: typeof model = {
  ...model,
  doStream(options) {
    call(performance.now());
    return model.doStream(options);
  },
};

const store = sqliteStore(path);
await store.getCheckpoint("opened");
const opened = performance.now();
// The same holder name, so that the next process need not wait until the claim expires.
const server = await AgentServer.start({ agent: agentOf(timed), store, threadId, holder: "bench" });

if (what === "die") {
  await (await server.ask("What is the weather in Turin?")).result;
  throw new Error("The tool was to end this process.");
}
const ms = (await called) - opened;
await server.request?.result;
await server.stop();
await store.close();
console.log(JSON.stringify({ ms }));
