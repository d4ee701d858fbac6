import { note } from "heddle/testing";
import { expect, inject, test } from "vitest";
import { readChangedThreads } from "../../../src/stores/postgres/feed.ts";
import { tablesIn } from "../../../src/stores/postgres/tables.ts";
import { until } from "../../support/postgres/until.ts";
import { openStore, rawConnection, schema } from "./open.ts";

/** Longer than any test: what arrives has been announced. */
const pollMs = 2 ** 31 - 1;

const sql = rawConnection();

/** Looks as the store of a tenant does, each time from where the last look ended. */
function looker(tenant: string, inboxes: readonly string[] = []) {
  const client = rawConnection();
  const scope = { sql: client as never, tables: tablesIn(schema, client as never), tenant }; // reads numbers as the store does
  let position: string | undefined;
  return async () => {
    const found = await readChangedThreads(scope, position, inboxes);
    position = found.position;
    return { ids: found.threadIds.toSorted(), postedIds: found.postedIds, isFeedBehind: found.isFeedBehind };
  };
}

test("a look names each thread that changed since the one before, also while another transaction is open", async () => {
  const store = openStore({ tenant: "looks" });
  const look = looker("looks");
  await store.append("before", {});
  expect((await look()).ids).toEqual([]);
  await Promise.all([store.append("a", {}), store.append("b", {}), openStore({ tenant: "else" }).append("c", {})]);
  expect((await look()).ids).toEqual(["a", "b"]);

  const blocker = await sql.reserve();
  await blocker`begin`;
  await blocker`select pg_current_xact_id()`;
  await store.append("a", {});
  expect(await look()).toMatchObject({ ids: ["a"], isFeedBehind: true });
  expect(await look()).toMatchObject({ ids: [], isFeedBehind: true });
  await store.append("b", {});
  expect(await look()).toMatchObject({ ids: ["b"], isFeedBehind: true });
  await blocker`rollback`;
  blocker.release();
  expect((await look()).ids).toEqual([]);
});

test("a look names a thread that was deleted, also as one whose commands have changed", async () => {
  const store = openStore({ tenant: "gone" });
  const look = looker("gone");
  await store.append("t", {});
  await look();
  await store.delete("t");
  expect(await look()).toMatchObject({ ids: ["t"], postedIds: ["t"] });
  expect(await look()).toMatchObject({ ids: [], postedIds: [] });
});

test("a look names the threads with pending commands of those whose inbox is followed", async () => {
  const store = openStore({ tenant: "inboxes" });
  const look = looker("inboxes", ["b", "c", "none"]);
  for (const id of ["a", "b", "c"]) await store.post(id, { id: "c1", type: "x" });
  await store.withdraw("c", "c1");
  expect(await look()).toMatchObject({ ids: [], postedIds: ["b"] });
});

test("a look names a thread whose transaction began before the look before and was committed after it", async () => {
  const [slow, quick] = [openStore({ tenant: "late" }), openStore({ tenant: "late" })];
  const look = looker("late");
  await slow.append("late", {});
  await look();
  const blocker = await sql.reserve();
  await blocker`begin`;
  await blocker`select from threads where tenant = 'late' and id = 'late' for update`;
  const late = slow.append("late", {}); // has its transaction id by now, but cannot commit
  await until("the append waits for the lock", async () => {
    const [waiting] = await sql`
      select from pg_stat_activity where wait_event_type = 'Lock' and query like '%insert into%' and query like ${`%${schema}%`}`;
    return waiting !== undefined;
  });
  await quick.append("young", {});
  expect((await look()).ids).toEqual(["young"]);
  await blocker`rollback`;
  blocker.release();
  await late;
  expect((await look()).ids).toEqual(["late"]);
});

test("commits are announced after the transaction, with tenant and threads, or without threads when these are too long", async () => {
  const [writing, watching] = [openStore({ tenant: "said" }), openStore({ tenant: "said", pollMs })];
  await writing.append("t", {});
  const heard: string[] = [];
  const channels = await sql<{ readonly name: string }[]>`
    select 'heddle_' || left(encode(sha256(convert_to(${schema}, 'UTF8')), 'hex'), 32) as name`;
  await sql.listen(channels[0]?.name ?? "", (payload) => heard.push(payload));
  const threadsHeard = () =>
    heard.map((payload) => (JSON.parse(payload) as { threads: Record<string, unknown> }).threads["said"]);

  const seen = watching.watch("t", { fromSeq: 1 })[Symbol.asyncIterator]();
  const next = seen.next();
  await writing.append("t", note());
  expect((await next).value?.seq).toBe(1);
  await expect.poll(() => threadsHeard().at(-1)).toEqual(["t"]);

  const long = Array.from({ length: 60 }, (_, n) => `${"x".repeat(200)}${n}`);
  const last = watching
    .watch(long.at(-1) ?? "", { fromSeq: 0 })
    [Symbol.asyncIterator]()
    .next();
  await Promise.all(long.map((id) => writing.append(id, {})));
  expect((await last).value?.seq).toBe(0);
  await expect.poll(() => threadsHeard()).toContain(null);
  await Promise.all([writing.close(), watching.close()]);
});

test("the last append before a close is announced", async () => {
  const [writing, watching] = [openStore({ tenant: "last" }), openStore({ tenant: "last", pollMs })];
  await writing.append("t", {});
  const watcher = watching.watch("t", { fromSeq: 0 })[Symbol.asyncIterator]();
  await watcher.next();
  for (let n = 1; n < 4; n++) {
    const store = openStore({ tenant: "last" });
    const next = watcher.next();
    await store.append("t", {});
    await store.close();
    expect((await next).value?.seq).toBe(n);
  }
  await watching.close();
});

test("watchers of another handle of one database are woken in this process, without a notification", async () => {
  const { postgresDatabase } = await import("heddle/postgres");
  const database = postgresDatabase(inject("postgresUrl"), { schema, pollMs });
  const [writing, watching] = [database.tenant("near"), database.tenant("near")];
  const watcher = watching.watch("t", { fromSeq: 0 })[Symbol.asyncIterator]();
  for (let n = 0; n < 3; n++) {
    const next = watcher.next();
    await writing.append("t", {});
    expect((await next).value?.seq).toBe(n);
  }
  await database.close();
});
