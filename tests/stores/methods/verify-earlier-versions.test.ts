import { defineStore } from "heddle/store";
import { inLane, note, replace, summary, switchTo, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { MemoryTenant, memoryDriver } from "../../../src/stores/memory-store.ts";
import { naiveBase } from "../../../src/testing/contract/naive-base.ts";
import { portableSha256 } from "../../../src/thread/encoding.ts";
import { earlierThread, putEarlierThread } from "../../support/earlier-thread.ts";

const operation = (reason: string) => ({
  kind: "ai_context_operation",
  payload: { opId: reason, contextRef: "side", operation: { type: "switch", reason } },
});

function storeOf(tenant: MemoryTenant) {
  return defineStore(memoryDriver(tenant, Date.now), { sha256: portableSha256 });
}

test.each([true, false])(
  "a malformed operation of an earlier version, recorded: %s, is verified, continued and verified again",
  async (marksMalformed) => {
    for (const entries of [
      [user("one"), operation("why"), user("two"), note({}), user("three")],
      [user("one"), operation("why")],
    ]) {
      const tenant = new MemoryTenant();
      putEarlierThread(tenant, "t", earlierThread("t", entries, { marksMalformed }));
      const store = storeOf(tenant);
      expect(await store.verify("t")).toMatchObject({ ok: true, entries: entries.length });
      await store.append("t", user("four"));
      expect(await store.verify("t")).toMatchObject({ ok: true });
      await store.append("t", [operation("because"), user("five"), note({})]);
      expect(tenant.threads.get("t")?.head.lanes).toHaveProperty("malformed", true);
      expect(await store.verify("t")).toMatchObject({ ok: true, entries: entries.length + 4 });
    }
  },
);

describe("a thread of 0.1 that is continued", () => {
  const before = [
    user("hi"),
    inLane("side", user("a")),
    summary(0, 1),
    switchTo("research"),
    inLane("side", note({})),
    replace("research", 3),
    user("look"),
    inLane("quiet", user("once")),
  ];
  const after = [
    inLane("side", user("b")),
    user("more"),
    switchTo("default"),
    inLane("new", user("c")),
    summary(0, 9),
    inLane("research", user("d")),
  ];

  test.each([0, 1, 3, 6])("has right bases before and after, and verifies: %i more entries", async (more) => {
    const tenant = new MemoryTenant();
    putEarlierThread(tenant, "t", earlierThread("t", before));
    const store = storeOf(tenant);
    for (const entry of after.slice(0, more)) await store.append("t", entry);
    const all = (await store.load("t"))?.toArray() ?? [];
    expect(all).toHaveLength(before.length + more);
    for (let firstSeq = 1; firstSeq <= all.length; firstSeq++) {
      const expected = naiveBase(all.slice(0, firstSeq));
      for (const upToSeq of [firstSeq - 1, Math.min(firstSeq, all.length - 1), all.length - 1]) {
        const tail = await store.load("t", { last: upToSeq + 1 - firstSeq, upToSeq, lanes: "all" });
        expect(tail?.base).toEqual(expected);
      }
    }
    expect(await store.verify("t")).toMatchObject({ ok: true });
  });

  test("can be forked anywhere, and the forks continue", async () => {
    const tenant = new MemoryTenant();
    putEarlierThread(tenant, "t", earlierThread("t", before));
    const store = storeOf(tenant);
    await store.append("t", after);
    for (let atSeq = 0; atSeq < before.length + after.length; atSeq++) {
      const newId = `fork_${atSeq}`;
      await store.fork("t", { atSeq, newId });
      expect(await store.verify(newId)).toMatchObject({ ok: true, entries: atSeq + 1 });
      await store.append(newId, [inLane("quiet", user("again")), user("on"), switchTo("side"), user("there")]);
      expect(await store.verify(newId)).toMatchObject({ ok: true, entries: atSeq + 5 });
      const all = (await store.load(newId))?.toArray() ?? [];
      const tail = await store.load(newId, { last: 2, lanes: "all" });
      expect(tail?.base).toEqual(naiveBase(all.slice(0, -2)));
    }
  });
});

describe("a row of 0.1 is damage to a reader when", () => {
  const entries = [user("one"), inLane("side", user("two")), user("three"), inLane("side", user("four")), user("five")];
  test.each([
    ["its lane is not the one that it names", 3, { lane: "default" }],
    ["its lane is not the active one", 2, { lane: "side" }],
    ["its measure is not that of its neighbors", 3, { measure: 99 }],
    ["its measure is less than its own", 0, { measure: 0 }],
    ["its mark is another", 4, { mark: null }],
    ["its mark is after it", 4, { mark: 9 }],
    ["its track is gone", 2, { track: null }],
    ["its track is of another shape", 4, { track: "{}" }],
    ["its track has another measure", 4, { track: '{"active":"default","lanes":{"default":{"measure":1}}}' }],
    ["it has a track that is not marked", 1, { track: '{"active":"default","lanes":{"default":{"measure":1}}}' }],
    ["it has a record", 4, { record: "{}" }],
    ["it has a checksum", 4, { checkSum: "aaaaaaaaaaaaaaaa" }],
  ])("%s", async (_, seq, change) => {
    const tenant = new MemoryTenant();
    const { head, rows } = earlierThread("t", entries);
    expect(rows.some(({ track }) => track !== null)).toBe(true);
    putEarlierThread(tenant, "t", { head, rows: rows.map((row) => (row.seq === seq ? { ...row, ...change } : row)) });
    const store = storeOf(tenant);
    await expect(store.load("t")).rejects.toMatchObject({ code: "corrupt" });
    if (!("checkSum" in change)) {
      const reading = Array.fromAsync(store.read("t"));
      await expect(reading).rejects.toMatchObject({ code: "corrupt" });
    }
    expect(await store.verify("t")).toMatchObject({ ok: false });
  });
});
