import { type RuntimePorts, systemRuntimePorts } from "heddle";
import { expect, test } from "vitest";
import { agentOf, house, realTime } from "./support/hosts.ts";

test("threads that were asked and released leave no timer and no claim behind", async () => {
  const timers = new Map<object, () => void>();
  const after: RuntimePorts["after"] = (_ms, run) => {
    const key = {};
    timers.set(key, run);
    return () => void timers.delete(key);
  };
  const {
    host: make,
    store,
    isFree,
  } = await house(undefined, { ...realTime(), ports: { ...systemRuntimePorts, after } });
  const ids = Array.from({ length: 300 }, (_, n) => `thread_${n}`);
  const host = make({ agent: agentOf(ids.map(() => "4")) });
  const results = ids.map(async (id) => (await (await host.ask(id, "What's 2+2?")).result).text);
  expect(new Set(await Promise.all(results))).toEqual(new Set(["4"]));
  expect([host.size, timers.size]).toEqual([300, 301]); // each its release, and one lease to renew
  for (const run of [...timers.values()]) run();
  timers.clear();
  await host.stop();
  expect([host.size, timers.size]).toEqual([0, 0]);
  for (const id of ids) expect(await isFree(id)).toBe(true);
  expect((await store.load("thread_7"))?.metadata).toEqual({ status: "completed" });
});
