import { AgentHost, defineAgent, type ThreadStore } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expect } from "vitest";

/** A worker on a store of 0.1 answers the two requests that were left there. */
export async function takesLeftRequests(store: ThreadStore): Promise<void> {
  const agent = defineAgent({ model: scriptedModel(["Yes.", "Yes."], { order: "any" }) });
  const host = AgentHost.create({ agent, store, warn: () => undefined });
  host.work();
  const result = (n: number) => host.result(`earlier_${n}`, `earlier_${n}-open`, { timeoutMs: 60_000 });
  await expect
    .poll(async () => (await store.list({ status: "completed" })).threads.length, { timeout: 60_000 })
    .toBe(2);
  expect(await Promise.all([result(0), result(1)])).toMatchObject([{ text: "Yes." }, { text: "Yes." }]);
  await host.stop();
  for (const n of [0, 1]) expect(await store.verify(`earlier_${n}`)).toMatchObject({ ok: true });
  await store.close();
}
