import fc from "fast-check";
import type { JsonObject, JsonValue, ThreadStore } from "heddle";
import { systemPorts } from "heddle/core";
import { sqliteStore } from "heddle/sqlite";
import type { ListOptions, ThreadPage } from "heddle/store";
import { describe, expect, test } from "vitest";
import { defineStore } from "../../../src/stores/define-store.ts";
import { sqliteDriver } from "../../../src/stores/sqlite/driver.ts";
import { migrate } from "../../../src/stores/sqlite/schema/migrate.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { plainConnect, recording } from "./support/recording.ts";
import { ask } from "./support/sql.ts";

/** Names and texts that sort, fold and quote differently in different places. */
const letters = fc.constantFrom(..."aAbBzZ%_'\"[]ßÉéİ~～😀𝒳", "\u0000", "\u2028", "\n");
const text = fc.array(letters, { maxLength: 4 }).map((parts) => parts.join(""));
const id = fc
  .tuple(fc.constantFrom("", "a", "A", "～", "😀", "é", "\u{10ffff}"), fc.stringMatching(/^[a-cA-C_%]{1,3}$/))
  .map(([first, rest]) => first + rest);
const status = fc.constantFrom<unknown>("open", "OPEN", "done", "", 5, "5", true, "true", null, { a: 1 }, '{"a":1}', [
  "x",
]);
const metadata = fc.oneof(fc.record({ status, title: text }), fc.record({ title: text }), fc.constant({}));
const payload = fc.record({ text, big: fc.constantFrom("", "wool ".repeat(8000)) });
const thread = fc.record({
  id,
  metadata,
  payloads: fc.array(payload, { maxLength: 3 }),
  at: fc.integer({ min: 1, max: 4 }),
});
const threads = fc.uniqueArray(thread, { selector: ({ id }) => id, maxLength: 12 });
const query = fc.record({
  prefix: fc.oneof(fc.constant(""), text, fc.constantFrom("a", "A", "～", "😀", "_", "\u{10ffff}")),
  order: fc.constantFrom("updated" as const, "created" as const, "id" as const),
  status: fc.option(status.filter((value) => typeof value === "string").map(String), { nil: undefined }),
  search: fc.oneof(fc.constant(""), text, fc.constantFrom("WOOL wool", "open", '"', "\\")),
  limit: fc.integer({ min: 1, max: 5 }),
  reverse: fc.boolean(),
});

describe("list", () => {
  test("reads the newest and the oldest threads from an index, without sorting all", () => {
    const orders = [
      "update_slot DESC, updated_at DESC, id",
      "created_at DESC, id",
      "update_slot, updated_at, id DESC",
      "created_at, id DESC",
    ];
    const plans = orders.map((order) => {
      const path = fastFile();
      const connection = plainConnect()(path);
      migrate(connection);
      return connection
        .prepare(`EXPLAIN QUERY PLAN SELECT id FROM threads WHERE tenant = ? ORDER BY ${order} LIMIT 50`)
        .all("default")
        .map((row) => String(row.at(-1)))
        .join();
    });
    expect(plans).toEqual([
      expect.stringMatching(/USING INDEX threads_by_update .*TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY/),
      expect.stringMatching(/USING COVERING INDEX threads_by_creation/),
      expect.stringMatching(/USING INDEX threads_by_update .*TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY/),
      expect.stringMatching(/USING COVERING INDEX threads_by_creation/),
    ]);
    expect(plans.join()).not.toContain("TEMP B-TREE FOR ORDER BY");
  });

  test("reads the ids with a prefix from an index, on each page in both directions", async () => {
    const path = fastFile();
    const sql = recording();
    const store = sqliteStore(path, { connect: sql.connect });
    for (const id of ["b", "a_1", "a_2", "a_3", "a_\u{10ffff}\u{10ffff}", "a`"]) await store.append(id, {});
    const listed = async (reverse: boolean) =>
      (await pages(store, { prefix: "a_", order: "id", limit: 1, reverse })).map(({ threads }) => threads[0]?.id);
    sql.forget();
    const found = ["a_1", "a_2", "a_3", "a_\u{10ffff}\u{10ffff}"];
    expect(await listed(false)).toEqual(found);
    expect(await listed(true)).toEqual(found.toReversed());
    const queries = new Set(sql.ran.filter((statement) => statement.includes("FROM threads t WHERE")));
    await store.close();
    const plans = [...queries].flatMap((query) => ask(path, `EXPLAIN QUERY PLAN ${query}`).map((row) => row.at(-1)));
    expect(queries.size).toBe(4);
    expect(plans).toEqual(plans.map(() => expect.stringContaining("(tenant=? AND id>? AND id<?)")));
  });

  test("sorts ids by code point, as their bytes sort", async () => {
    const { store } = openBoth();
    const sorted = ["A", "a", "é", "～", "😀", "😀a"];
    for (const id of sorted.toReversed()) await store.append(id, { payload: { text: id } });
    const found = await pages(store, { order: "id", limit: 2 });
    expect(found.flatMap((page) => page.threads.map(({ id }) => id))).toEqual(sorted);
    await store.close();
  });

  test("finds a status only where it is text", async () => {
    const { store, fallback } = openBoth();
    const statuses: readonly JsonValue[] = ['{"a":1}', { a: 1 }, "5", 5, "true", true, "null", null];
    for (const [n, status] of statuses.entries()) await store.append(`t_${n}`, {}, { metadata: { status } });
    for (const status of ['{"a":1}', "5", "true", "null", "1", "0"]) {
      const found = (await store.list({ status })).threads.map(({ metadata }) => metadata["status"]);
      expect(found).toEqual(statuses.filter((value) => value === status));
      expect(await store.list({ status })).toEqual(await fallback.list({ status }));
    }
    await store.close();
  });

  test("equals, page by page, the list of the same driver without `list`", async () => {
    await fc.assert(
      fc.asyncProperty(threads, fc.array(query, { minLength: 1, maxLength: 8 }), async (written, queries) => {
        const { store, fallback } = openBoth();
        for (const { id, metadata, payloads, at } of written) {
          const entries = payloads.map((payload, n) => ({ payload, at: at + n }));
          if (entries.length > 0) await store.append(id, entries, { metadata: metadata as JsonObject });
        }
        for (const options of queries) {
          const fast = await pages(store, options);
          expect(fast, JSON.stringify(options)).toEqual(await pages(fallback, options));
        }
        await store.close();
      }),
      { numRuns: 60 },
    );
  });
});

/** The same file with the driver's own `list`, and with the fallback over heads and rows. */
function openBoth() {
  const connection = plainConnect()(fastFile());
  connection.exec("PRAGMA synchronous = OFF"); // this test is not about durability
  migrate(connection);
  const { list, ...rest } = sqliteDriver(connection, "default", systemPorts.clock);
  if (list === undefined) throw new Error("the driver has no list of its own");
  return { store: defineStore({ ...rest, list }), fallback: defineStore(rest) };
}

async function pages(store: ThreadStore, options: ListOptions): Promise<ThreadPage[]> {
  const found: ThreadPage[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ ...options, cursor });
    found.push(page);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return found;
}
