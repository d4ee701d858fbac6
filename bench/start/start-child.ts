// Imports a package in a fresh process, lets a scripted model answer once if asked to, and prints the milliseconds of both.
import { instantModel } from "../agent/model.ts";

const [name, does] = process.argv.slice(2);
const model = instantModel(false, { messages: 0 });
const started = performance.now();
const cpu = process.cpuUsage();
const text = name === "heddle" ? await heddle() : await aiSdk();
const { user, system } = process.cpuUsage(cpu);
const ms = performance.now() - started;
if (does === "answer" && text === "") throw new Error(`${name} gave no answer.`);
console.log(JSON.stringify({ ms, cpuMs: (user + system) / 1000 }));

async function heddle(): Promise<string> {
  const { AgentServer, defineAgent, memoryStore } = await import("heddle");
  if (does === "import") return "";
  const server = await AgentServer.start({
    agent: defineAgent({ model, contextPolicy: { maxInputTokens: 8000 } }),
    store: memoryStore(),
  });
  const request = await server.ask("Hi.");
  const { text } = await request.result;
  await server.stop();
  return text;
}

async function aiSdk(): Promise<string> {
  const { streamText } = await import("ai");
  if (does === "import") return "";
  const result = streamText({ model: model as Parameters<typeof streamText>[0]["model"], prompt: "Hi." });
  await result.consumeStream();
  return result.text;
}
