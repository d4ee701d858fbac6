import { memoryStore } from "heddle";
import { expect, test } from "vitest";

test("stale_holder names the holder of the thread, and no holder once it is released", async () => {
  await using closing = { store: memoryStore(), [Symbol.asyncDispose]: () => closing.store.close() };
  const { store } = closing;
  const first = await store.claim("thread_1", { holder: "ada", ttlMs: 600_000 });
  await store.release("thread_1", first.epoch);
  const second = await store.claim("thread_1", { holder: "bob", ttlMs: 600_000 });
  const stale = { code: "stale_holder", epoch: first.epoch, current: second.epoch };
  const { until } = second;
  await expect(store.renew("thread_1", first.epoch)).rejects.toMatchObject({ ...stale, holder: "bob", until });
  await store.release("thread_1", second.epoch);
  const error: unknown = await store.renew("thread_1", first.epoch).catch((reason) => reason);
  expect(error).toMatchObject(stale);
  expect(error).not.toHaveProperty("holder");
  expect(error).not.toHaveProperty("until");
});

test("an append that uses ids again names the ids, whether their content or their batch is another", async () => {
  await using closing = { store: memoryStore(), [Symbol.asyncDispose]: () => closing.store.close() };
  const { store } = closing;
  const [one, two] = [1, 2].map((n) => ({ id: `e${n}`, kind: "note", payload: { n } }));
  if (one === undefined || two === undefined) throw new Error("there are two");
  await store.append("thread_1", [one, two]);
  const changed = store.append("thread_1", [one, { ...two, payload: { n: 3 } }]);
  await expect(changed).rejects.toMatchObject({ code: "entry_id_reused", entryIds: ["e2"] });
  await expect(store.append("thread_1", [two, one])).rejects.toMatchObject({ entryIds: ["e1", "e2"] });
});
