import type { ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { note } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { ask, tamper } from "./support/sql.ts";

const big = "wool ".repeat(10_000);

function open() {
  const path = fastFile();
  const store = sqliteStore(path);
  onTestFinished(() => store.close());
  return { store, path, kept: () => ask(path, "SELECT count(*) FROM big_payloads")[0]?.[0] };
}

async function texts(store: ThreadStore, threadId: string): Promise<unknown[] | undefined> {
  return (await store.load(threadId))?.toArray().map(({ payload }) => payload["text"]);
}

test("a big payload is stored once, however many entries and forks hold it", async () => {
  const { store, kept } = open();
  await store.append("a", [note({ text: big }), note({ text: big })]);
  await store.append("b", note({ text: big }));
  await store.fork("a", { atSeq: 1, newId: "fork" });
  expect(kept()).toBe(1);
  for (const [id, count] of [
    ["a", 2],
    ["b", 1],
    ["fork", 2],
  ] as const)
    expect(await texts(store, id)).toEqual(Array.from({ length: count }, () => big));
});

test("a big payload is removed with its last entry, and not before", async () => {
  const { store, kept } = open();
  await store.append("a", note({ text: big }));
  await store.append("b", [note({ text: big }), note({ text: `${big}other` })]);
  await store.fork("a", { atSeq: 0, newId: "fork" });
  expect(kept()).toBe(2);
  await store.delete("a");
  expect(await texts(store, "fork")).toEqual([big]);
  await store.delete("b");
  expect(kept()).toBe(1);
  expect(await texts(store, "fork")).toEqual([big]);
  await store.delete("fork");
  expect(kept()).toBe(0);
});

test("an append that fails leaves no big payload behind", async () => {
  const { store, kept } = open();
  await Promise.allSettled([
    store.append("a", note({ text: big }), { expectedRev: 5 }),
    store.append("a", note({ text: "small" })),
  ]);
  expect(kept()).toBe(0);
});

test("tenants share a file, and no payload", async () => {
  const { store, path, kept } = open();
  const other = sqliteStore(path, { tenant: "other" });
  onTestFinished(() => other.close());
  await store.append("a", note({ text: big }));
  await other.append("a", note({ text: big }));
  expect(kept()).toBe(2);
  await other.delete("a");
  expect(kept()).toBe(1);
  expect(await texts(store, "a")).toEqual([big]);
});

test("a big payload is found by a search, and its damage by a reader", async () => {
  const { store, path } = open();
  await store.append("a", [note({ text: "small" }), note({ text: `${big}needle` })]);
  expect((await store.list({ search: "NEEDLE" })).threads.map(({ id }) => id)).toEqual(["a"]);
  tamper(path, "UPDATE big_payloads SET payload = replace(payload, 'needle', 'noodle')");
  await expect(store.load("a")).rejects.toMatchObject({ code: "corrupt", threadId: "a", seq: 1 });
  expect(await store.verify("a")).toMatchObject({ ok: false, entries: 1, bad: { seq: 1 } });
});

test("a payload that lost its text is damage, not an empty entry", async () => {
  const { store, path } = open();
  await store.append("a", [note({ text: "small" }), note({ text: big })]);
  tamper(path, "DELETE FROM big_payloads");
  await expect(store.load("a")).rejects.toMatchObject({ code: "corrupt", seq: 1 });
  await expect(Array.fromAsync(store.read("a"))).rejects.toMatchObject({ code: "corrupt", seq: 1 });
  expect(await store.verify("a")).toMatchObject({ ok: false, entries: 1, bad: { seq: 1 } });
});
