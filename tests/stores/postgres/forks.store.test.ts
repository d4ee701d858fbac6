import { inLane, note, notes } from "heddle/testing";
import { expect, test } from "vitest";
import { openStore, rawConnection } from "./open.ts";

const store = openStore();
const sql = rawConnection();

async function counts() {
  await store.list({ limit: 1 }); // connects, so that there are tables
  const [found] = await sql`select (select count(*) from threads) as threads, (select count(*) from entries) as entries,
    (select count(*) from lanes) as lanes`;
  return { ...found };
}

test("a deleted parent keeps what its forks show and nothing else, until the last one is deleted", async () => {
  await store.append("parent", [note({ text: "shown" }), inLane("side", note()), note({ text: "secret" })], {
    metadata: { title: "secret" },
  });
  await store.fork("parent", { atSeq: 1, newId: "f1", metadata: { title: "fork" } });
  await store.fork("parent", { atSeq: 0, newId: "f2", metadata: { title: "fork" } });
  await store.append("f1", note({ text: "of the fork" }));
  await store.fork("f1", { atSeq: 2, newId: "f3" });
  expect(await store.delete("parent")).toEqual({ deleted: ["parent"], keptFor: ["f1", "f2", "f3"] });
  const content = async () => JSON.stringify([await sql`select * from entries`, await sql`select * from threads`]);
  expect(await content()).not.toContain("secret");
  expect(await content()).toContain("shown");
  expect(await store.delete("f1")).toEqual({ deleted: ["f1"], keptFor: ["f3"] });
  expect(await store.delete("f3")).toEqual({ deleted: ["f3"], keptFor: [] });
  expect(await counts()).toEqual({ threads: 2, entries: 1, lanes: 0 });
  expect(await store.verify("f2")).toMatchObject({ ok: true, entries: 1 });
  await store.delete("f2");
  expect(await counts()).toEqual({ threads: 0, entries: 0, lanes: 0 });
});

test("forks that are deleted together with their parent, by many processes, leave nothing", async () => {
  const stores = [store, openStore(), openStore(), openStore()];
  for (let round = 0; round < 8; round++) {
    await store.append("tree", notes(4));
    const forks = ["g1", "g2", "g3"];
    for (const [index, newId] of forks.entries()) await store.fork("tree", { atSeq: index, newId });
    await store.append("g3", note());
    await store.fork("g3", { atSeq: 3, newId: "g4" });
    const deleted = await Promise.all(["tree", ...forks, "g4"].map((id, n) => stores[n % 4]?.delete(id)));
    expect(deleted.every((one) => one !== false)).toBe(true);
    expect(await counts(), `round ${round}`).toEqual({ threads: 0, entries: 0, lanes: 0 });
  }
});

test.each(["origin_sum = 'x'", "fork_seq = fork_seq - 1"])(
  "a pointer that was changed is an error when it is read: %s",
  async (change) => {
    const own = `p_${change.length}`;
    await store.append(own, notes(5));
    await store.fork(own, { atSeq: 3, newId: `${own}_f1` });
    await store.append(`${own}_f1`, notes(2));
    await store.fork(`${own}_f1`, { atSeq: 5, newId: `${own}_f2` });
    await sql.unsafe(`update threads set ${change} where id = '${own}_f1'`);
    for (const id of [`${own}_f1`, `${own}_f2`]) {
      await expect(store.load(id), id).rejects.toMatchObject({ code: "corrupt" });
      await expect(Array.fromAsync(store.read(id, { toSeq: 2 })), id).rejects.toMatchObject({ code: "corrupt" });
      expect(await store.verify(id), id).toMatchObject({ ok: false });
    }
    await sql`update threads set origin_sum = null, origin = null, fork_seq = null`;
  },
);

test("a process of 0.1 cannot remove a thread whose rows a fork shows", async () => {
  await store.append("kept", notes(3));
  await store.fork("kept", { atSeq: 1, newId: "kept_fork" });
  const removal = sql.begin(async (tx) => {
    await tx`delete from entries where thread = (select key from threads where id = 'kept')`;
    await tx`delete from threads where id = 'kept'`;
  });
  await expect(removal).rejects.toThrow(/foreign key/);
  expect(await store.verify("kept_fork")).toMatchObject({ ok: true, entries: 2 });
});
