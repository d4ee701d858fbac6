/**
 * An agent in a process of its own. In its first life it asks three times: tools in parallel with a steer among them, an
 * answer that is cancelled when its standard input says so, and tools of which two never return. In its second it goes on
 * with what the first has left. Arguments: the provider's address, the API, the file of the store, whether to stream, the
 * life. It tells what happens in lines.
 */
import { once } from "node:events";
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { defineAgent } from "../../../../src/agent/definition/define-agent.ts";
import { defineTool } from "../../../../src/agent/definition/tool.ts";
import type { AgentEvent } from "../../../../src/agent/event.ts";
import { AgentServer } from "../../../../src/runtime/server/agent-server.ts";
import { sqliteStore } from "../../../../src/sqlite.ts";
import type { ApiName } from "../../../support/protocol/server.ts";
import { modelAt } from "./models.ts";
import { THREAD } from "./thread.ts";

const [url = "", api = "", path = "", streams = "", life = ""] = process.argv.slice(2);
const inputSchema = { type: "object", properties: { city: { type: "string" } } } as const;
const hangsIn = new Set(life === "1" ? ["Oslo", "Pisa"] : []);

async function at({ city }: { readonly city: string }): Promise<string> {
  if (city === "Bern") await server.steer("And what of Rome?");
  if (hangsIn.has(city)) {
    tell(`hangs in ${city}`);
    await new Promise(() => undefined);
  }
  tell(`ran in ${city}`);
  return `Sunny in ${city}.`;
}

const agent = defineAgent({
  model: modelAt(url, api as ApiName), // whoever starts this passes one
  systemPrompt: "Be brief.",
  streaming: streams === "true",
  tools: {
    weather: defineTool({ inputSchema, repeatable: true, execute: (input) => at(input as { readonly city: string }) }),
    book: defineTool({ inputSchema, execute: (input) => at(input as { readonly city: string }) }),
  },
});
const store = sqliteStore(path);
const server = await AgentServer.start({ agent, store, threadId: THREAD, holder: "the agent" });

if (life === "1") {
  tell((await (await server.ask("Plan a trip.")).result).text);

  const told = once(createInterface({ input: process.stdin }), "line");
  const stalled = await server.ask("Tell me a story.");
  if (agent.streaming) for await (const event of stalled.events()) if (isText(event)) break;
  await told;
  await server.cancel();
  tell("cancelled");

  const last = await server.ask("Book it.");
  for await (const { kind, toolName } of last.events()) if (kind === "tool_completed") tell(`${toolName} completed`);
} else {
  const result = await server.request?.result;
  tell(result?.text ?? "nothing was left");
  await server.stop();
  await store.close();
  process.exit();
}

function isText({ kind, data }: AgentEvent): boolean {
  return kind === "llm_delta" && data.type === "text";
}

function tell(line: string): void {
  writeSync(1, `${line}\n`);
}
