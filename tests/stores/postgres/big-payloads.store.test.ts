import { note } from "heddle/testing";
import { expect, test } from "vitest";
import { openStore, rawConnection } from "./open.ts";

const store = openStore();
const sql = rawConnection();
const big = { text: "é".repeat(20_000) }; // 40 kB, in fewer than 32 Ki characters
const bigger = { text: "z".repeat(60_000) };

async function kept(): Promise<readonly number[]> {
  const rows = await sql<{ uses: number }[]>`select uses from big_payloads order by uses`;
  return rows.map(({ uses }) => uses);
}

test("a big payload is stored once for all its entries, and is removed with the last one", async () => {
  await store.append("a", [note(big), note(big), note({ text: "small" })]);
  await store.append("b", [note(big), note(bigger)]);
  await store.fork("a", { atSeq: 1, newId: "c" });
  expect(await kept()).toEqual([1, 3]);
  const inRows = await sql`select from entries where payload is not null`;
  expect(inRows).toHaveLength(1);
  expect((await store.load("c"))?.toArray().map(({ payload }) => payload)).toEqual([big, big]);
  expect(await store.verify("c")).toMatchObject({ ok: true });

  await store.delete("a");
  expect(await kept()).toEqual([1, 3]);
  expect((await store.load("b"))?.at(0)?.payload).toEqual(big);
  await store.delete("b");
  expect(await kept()).toEqual([2]);
  expect((await store.load("c"))?.at(1)?.payload).toEqual(big);
  await store.delete("c");
  expect(await kept()).toEqual([]);
});

test("a payload of just 32 KiB stays in its row", async () => {
  const empty = JSON.stringify({ text: "" }).length;
  await store.append("edge", note({ text: "x".repeat(32 * 1024 - empty) }));
  expect(await kept()).toEqual([]);
  await store.append("edge", note({ text: "x".repeat(32 * 1024 - empty + 1) }));
  expect(await kept()).toEqual([1]);
  await store.delete("edge");
});

test("a big payload that is appended while its last entry is removed is not lost", async () => {
  const other = openStore();
  for (let round = 0; round < 20; round++) {
    await store.append(`old-${round}`, [note(big), note(bigger)]);
    await Promise.all([store.delete(`old-${round}`), other.append(`new-${round}`, [note(bigger), note(big)])]);
    expect((await store.load(`new-${round}`))?.toArray().map(({ payload }) => payload)).toEqual([bigger, big]);
    await other.delete(`new-${round}`);
    expect(await kept()).toEqual([]);
  }
});

test("a batch larger than the largest statement is atomic", async () => {
  const huge = "q".repeat(5 * 1024 * 1024);
  const payloads = ["a", "b", "c", "d"].map((text) => ({ text: text + huge }));
  await store.append(
    "huge",
    payloads.map((payload) => note(payload)),
  );
  expect((await store.load("huge"))?.toArray().map(({ payload }) => payload)).toEqual(payloads);
  await store.delete("huge");
  expect(await kept()).toEqual([]);
});
