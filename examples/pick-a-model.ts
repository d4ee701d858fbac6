// A model picked for each request, with a fallback, and the same model after a restart.
import { AgentServer, defineAgent, memoryStore, type ProviderModel } from "heddle";
import { recordedCall } from "heddle/core";
import { type ScriptedStep, scriptedModel } from "heddle/testing";

const store = memoryStore();
const named = (modelId: string, script: readonly ScriptedStep[]) =>
  scriptedModel(script, { provider: "acme", modelId });

/** With the packages of the AI SDK this is a provider registry: `(name) => registry.languageModel(name)`. */
const resolver =
  (...models: readonly ProviderModel[]) =>
  (name: string) =>
    models.find(({ provider, modelId }) => `${provider}:${modelId}` === name);

const agent = defineAgent({
  // Chosen once for each request. When calls of the first one have failed permanently, the next one is called.
  model: ({ context }: { readonly context: { readonly plan: "free" | "paid" } }) =>
    context.plan === "paid" ? ["acme:large", "acme:small"] : "acme:small",
});
const large = named("large", [{ error: { status: 404 } }]);
const small = named("small", ["Hello from the fallback.", "Hello from the small one."]);
const server = await AgentServer.start({ agent, store, threadId: "thread_1", resolveModel: resolver(large, small) });

const paid = await server.ask("Hello.", { context: { plan: "paid" } });
for await (const event of paid.events()) {
  if (event.kind === "llm_retried") console.log(`${event.data.failure.code}: now ${event.data.model}`);
}
console.log((await paid.result).text);
console.log((await (await server.ask("Hello.", { context: { plan: "free" } })).result).text);

// A user picks a model in the page. The process ends before the answer.
const slow = named("thorough", [{ hang: true }]);
const { id } = await server.ask("And now?", { context: { plan: "free" }, model: slow, reasoning: "high" });
await server.stop({ graceMs: 0 });

const thorough = named("thorough", ["Hello from the one that was picked."]);
const later = await AgentServer.start({
  agent,
  store,
  threadId: "thread_1",
  resolveModel: resolver(large, small, thorough),
  context: () => ({ plan: "free" as const }),
});
console.log((await later.result(id)).text);
console.log(`reasoning: ${thorough.requests[0]?.options["reasoning"]}`);
for (const entry of (await later.thread()).toArray()) {
  const call = recordedCall(entry);
  if (call !== undefined) console.log(`${entry.kind} by ${call.model}`);
}
await later.stop();
