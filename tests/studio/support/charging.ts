import { defineAgent, defineTool, type ThreadStore } from "heddle";
import { scriptedModel } from "heddle/testing";

/** An agent whose tool ends when the test lets it; it says when the tool has begun. Resuming, the call was made before. */
export function chargingAgent({ isResuming = false } = {}) {
  const begun = Promise.withResolvers<void>();
  const charged = Promise.withResolvers<string>();
  const charge = defineTool({
    inputSchema: { type: "object" } as const,
    execute: () => {
      begun.resolve();
      return charged.promise;
    },
  });
  const answer = { text: "Charged." };
  const script = isResuming ? [answer] : [{ calls: [{ name: "charge" }] }, answer];
  const agent = defineAgent({ model: scriptedModel(script), tools: { charge } });
  return { agent, begun: begun.promise, charge: () => charged.resolve("charged") };
}

/** Another process has the thread, as after the claim of the first one has run out. */
export async function takeOver(store: ThreadStore, threadId: string): Promise<void> {
  await store.release(threadId, 1);
  await store.claim(threadId, { holder: "two", ttlMs: 60_000 });
}
