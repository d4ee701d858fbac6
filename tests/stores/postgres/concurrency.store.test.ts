import { ConflictError } from "heddle";
import { note } from "heddle/testing";
import { expect, test } from "vitest";
import { openStore, rawConnection } from "./open.ts";

const [one, two] = [openStore(), openStore()];
const sql = rawConnection();

test("two stores that append to one thread leave no gap and no duplicate", async () => {
  const agents = [one, two].flatMap((store, s) => Array.from({ length: 4 }, (_, a) => ({ store, name: `${s}${a}` })));
  await Promise.all(
    agents.map(async ({ store, name }) => {
      for (let n = 0; n < 25; n++) await store.append("shared", note({ n }, { id: `${name}-${n}` }));
    }),
  );
  const thread = await one.load("shared");
  expect(thread?.rev).toBe(200);
  for (const { name } of agents) {
    const own = thread?.toArray().filter(({ id }) => id.startsWith(`${name}-`));
    expect(own?.map(({ payload }) => payload["n"])).toEqual(Array.from({ length: 25 }, (_, n) => n));
  }
  expect(await two.verify("shared")).toMatchObject({ ok: true, entries: 200 });
});

test("two stores that write many threads at once, in any order, do not deadlock", async () => {
  const ids = Array.from({ length: 50 }, (_, n) => `many-${n}`);
  for (let round = 0; round < 5; round++) {
    await Promise.all([
      ...ids.map((id) => one.append(id, {})),
      ...ids.toReversed().map((id) => two.append(id, {})),
      ...ids.map((id) => two.claim(id, { holder: "two", ttlMs: 1000 })),
    ]);
  }
  const revs = await Promise.all(ids.map(async (id) => (await one.load(id))?.rev));
  expect(new Set(revs)).toEqual(new Set([10]));
});

test.each([0, 3])("of many appends that expect revision %i exactly one wins", async (expectedRev) => {
  const id = `expected-${expectedRev}`;
  if (expectedRev > 0) await one.append(id, [{}, {}, {}]);
  const attempts = Array.from({ length: 20 }, (_, n) => (n % 2 ? one : two).append(id, note({ n }), { expectedRev }));
  const settled = await Promise.allSettled(attempts);
  expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  const refusals = settled.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
  expect(refusals.every((error) => ConflictError.isInstance(error))).toBe(true);
  expect((await one.load(id))?.rev).toBe(expectedRev + 1);
});

test("appends of one turn share one transaction, and see each other", async () => {
  const answers = await Promise.all([
    one.append("turn-a", note({}, { id: "first" })),
    one.append("turn-b", {}),
    one.append("turn-a", note({}, { id: "second" })),
    one.append("turn-a", note({}, { id: "first" })),
  ]);
  expect(answers.map(({ rev, replayed }) => [rev, replayed])).toEqual([
    [1, false],
    [1, false],
    [2, false],
    [1, true],
  ]);
  expect(
    await sql`select from entries e join threads t on t.key = e.thread where t.id like 'turn-%' group by xid`,
  ).toHaveLength(1);
});

test("an append that is refused does not fail its neighbors", async () => {
  const settled = await Promise.allSettled([
    one.append("good-a", {}),
    one.append("bad", {}, { expectedRev: 7 }),
    one.append("good-b", {}),
  ]);
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(await one.load("bad")).toBeUndefined();
});

test("an append that Postgres refuses does not fail its neighbors", async () => {
  await sql`alter table entries add constraint no_poison check (kind <> 'poison')`;
  const settled = await Promise.allSettled([
    one.append("kept-a", {}),
    one.append("poisoned", [{}, { kind: "poison" }]),
    one.append("kept-b", {}),
    one.append("kept-a", {}, { expectedRev: 1 }),
  ]);
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  expect(await one.load("poisoned")).toBeUndefined();
  expect((await two.load("kept-a"))?.rev).toBe(2);
  await sql`alter table entries drop constraint no_poison`;
});

test("an append refused because of a neighbor is decided again when the neighbor fails", async () => {
  await one.append("redo", {});
  await sql`alter table entries add constraint no_poison check (kind <> 'poison')`;
  const settled = await Promise.allSettled([
    one.append("redo", { kind: "poison" }, { expectedRev: 1 }),
    one.append("redo", {}, { expectedRev: 1 }),
  ]);
  expect(settled.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
  expect((await one.load("redo"))?.rev).toBe(2);
  await sql`alter table entries drop constraint no_poison`;
});

test("close waits for pending appends, also when it is called many times", async () => {
  const store = openStore();
  const appended = Promise.all(Array.from({ length: 300 }, () => store.append("closing", {})));
  await Promise.all([store.close(), store.close()]);
  await appended;
  expect((await one.load("closing"))?.rev).toBe(300);
});
