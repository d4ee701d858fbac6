// Holds the threads of the bench: asks what the parent sends, and says when the request is as far as it should be.
import { AgentHost } from "heddle";
import { agent, storeOf } from "./agent.ts";

const [url = ""] = process.argv.slice(2);
const store = storeOf(url);
const host = AgentHost.create({ agent: agent(), store, idleMs: 3_600_000 });

process.on("message", async ({ threadId, text }: { readonly threadId: string; readonly text: string }) => {
  const request = await host.ask(threadId, text);
  if (text === "talk") {
    for await (const { kind } of request.events()) if (kind === "llm_delta") break;
  } else await request.settled();
  process.send?.(threadId);
});
process.once("disconnect", async () => {
  await host.stop({ graceMs: 0 });
  await store.close();
});
process.send?.("ready");
