import { memoryStore } from "heddle";
import { notes } from "heddle/testing";
import { expect, test } from "vitest";

test("a read of a long thread yields to the event loop", async () => {
  const store = memoryStore();
  await store.append("long", notes(10_000));
  for (const read of [() => store.load("long"), () => store.verify("long")]) {
    let turned = false;
    setTimeout(() => {
      turned = true;
    });
    await read();
    expect(turned).toBe(true);
  }
  await store.close();
});

test("a large append yields to the event loop, and later writes of its thread come after it", async () => {
  const store = memoryStore();
  let hasTurned = false;
  const list = notes(5000);
  const large = store.append("long", list);
  list.length = 0;
  const later = [store.append("long", {}), store.append("long", notes(2000)), store.append("long", {})];
  setTimeout(() => {
    hasTurned = true;
  });
  await store.append("other", {});
  expect(hasTurned).toBe(false);
  expect(await large).toMatchObject({ rev: 5000 });
  expect(hasTurned).toBe(true);
  expect((await Promise.all(later)).map(({ rev }) => rev)).toEqual([5001, 7001, 7002]);
  expect(await store.verify("long")).toMatchObject({ ok: true, entries: 7002 });
  await store.close();
});

test("a save of a long thread yields to the event loop", async () => {
  const [from, to] = [memoryStore(), memoryStore()];
  await from.append("long", notes(5000), { metadata: { title: "long" } });
  const thread = await from.load("long");
  if (thread === undefined) throw new Error("the thread was just written");
  let hasTurned = false;
  setTimeout(() => {
    hasTurned = true;
  });
  await to.save(thread);
  expect(hasTurned).toBe(true);
  expect((await to.load("long"))?.toJSON()).toEqual(thread.toJSON());
  await to.save(thread);
  expect(await to.verify("long")).toMatchObject({ ok: true, entries: 5000 });
});

test("a large append is refused as a whole, and the next one is not", async () => {
  const store = memoryStore();
  const wrong = store.append("long", [...notes(5000), { payload: { at: Number.NaN } }]);
  const next = store.append("long", {});
  await expect(wrong).rejects.toMatchObject({ code: "not_json", path: "entries[5000].payload.at" });
  expect(await next).toMatchObject({ rev: 1 });
  await store.close();
});

test("a large append whose ids are stored is a replay", async () => {
  const store = memoryStore();
  const entries = notes(3000).map((entry, index) => ({ ...entry, id: `entry_${index}` }));
  const first = await store.append("long", entries);
  await store.append("long", {});
  expect(await store.append("long", entries)).toEqual({ ...first, replayed: true });
  await store.close();
});
