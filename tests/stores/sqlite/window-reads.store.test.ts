import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "heddle/sqlite";
import { inLane, note, replace, summary } from "heddle/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { recording } from "./support/recording.ts";

const LENGTH = 100_000;
const folder = mkdtempSync(join(tmpdir(), "heddle-window-"));
const path = join(folder, "long.db");

describe("a thread of 100,000 entries", () => {
  beforeAll(async () => {
    const store = sqliteStore(path, { mode: "relaxed" });
    await store.append("long", [inLane("research", note({ n: -1 })), summary(0, 0), replace("research", 0)]);
    for (let n = 3; n < LENGTH; n += 1000)
      await store.append(
        "long",
        Array.from({ length: Math.min(1000, LENGTH - n) }, (_, i) => note({ n: n + i })),
      );
    await store.close();
    return () => rmSync(folder, { recursive: true });
  });

  test("loads its last 200 entries with little more than 200 rows read", async () => {
    await touching(211, async (store) => {
      const thread = await store.load("long", { last: 200, lanes: ["research"] });
      expect(thread).toMatchObject({ rev: LENGTH, firstSeq: LENGTH - 200 });
      expect(thread?.base?.lanes["research"]?.replace?.seq).toBe(2);
      expect(thread?.base?.lanes["default"]?.summary?.seq).toBe(1);
    });
  });

  test("loads 200 entries from the middle with little more than 200 rows read", async () => {
    await touching(210, async (store) => {
      const thread = await store.load("long", { last: 200, upToSeq: 50_000 });
      expect([thread?.firstSeq, thread?.lastSeq]).toEqual([49_801, 50_000]);
    });
  });

  test("reads one page when a reverse read stops early", async () => {
    await touching(501, async (store) => {
      for await (const { seq } of store.read("long", { reverse: true })) if (seq < LENGTH - 10) break;
    });
    await touching(11, async (store) => {
      expect(await Array.fromAsync(store.read("long", { reverse: true, limit: 10 }))).toHaveLength(10);
    });
  });

  test("watched from its end reads only new rows", async () => {
    await touching(6, async (store) => {
      const next = store.watch("long", { fromSeq: LENGTH })[Symbol.asyncIterator]();
      const first = next.next();
      await store.append("other", note());
      await store.append("long", note({ n: "new" }));
      expect((await first).value).toMatchObject({ seq: LENGTH, payload: { n: "new" } });
      await next.return?.();
    });
  });

  test("is appended to and forked without reading its rows", async () => {
    await touching(12, async (store) => {
      const { rev } = await store.append("long", note());
      await store.append("long", note(), { expectedRev: rev });
      expect((await store.fork("long", { atSeq: 5000 })).rev).toBe(5001);
    });
  });

  async function touching(most: number, work: (store: ReturnType<typeof sqliteStore>) => Promise<void>): Promise<void> {
    const sql = recording();
    const store = sqliteStore(path, { connect: sql.connect, mode: "relaxed" });
    sql.forget();
    await work(store);
    expect(sql.rowsReturned()).toBeLessThanOrEqual(most);
    expect(sql.rowsReturned(), "the recording sees rows at all").toBeGreaterThan(0);
    await store.close();
  }
});
