import { Thread, type ThreadStore } from "heddle";
import { postgresDatabase, postgresStore } from "heddle/postgres";
import type { CallOptions } from "heddle/store";
import { note } from "heddle/testing";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { startProxy, type TcpProxy } from "../../support/postgres/tcp-proxy.ts";
import { until } from "../../support/postgres/until.ts";
import { openStore, rawConnection, schema } from "./open.ts";
import { retryUntilDone } from "./retry.ts";

const timedOut = { code: "store_timeout", retryable: true };

describe("a server that accepts a connection and never answers", () => {
  let silent: TcpProxy;

  beforeAll(async () => {
    silent = await startProxy(inject("postgresUrl"), { isSilent: true });
  });

  afterAll(() => silent.stop());

  const calls: readonly [name: string, call: (store: ThreadStore, options: CallOptions) => Promise<unknown>][] = [
    ["append", (store, options) => store.append("t", {}, options)],
    ["load", (store, options) => store.load("t", options)],
    ["read", (store, options) => Array.fromAsync(store.read("t", options))],
    ["save", (store, options) => store.save(Thread.create({ id: "t" }), options)],
    ["list", (store, options) => store.list(options)],
    ["claim", (store, options) => store.claim("t", { holder: "h", ttlMs: 1000, ...options })],
    ["renew", (store, options) => store.renew("t", 1, options)],
    ["release", (store, options) => store.release("t", 1, options)],
    ["delete", (store, options) => store.delete("t", options)],
    ["fork", (store, options) => store.fork("t", { atSeq: 0, ...options })],
    ["post", (store, options) => store.post("t", { id: "c", type: "ask" }, options)],
    ["pending", (store, options) => store.pending("t", options)],
    ["amend", (store, options) => store.amend("t", "c", {}, options)],
    ["withdraw", (store, options) => store.withdraw("t", "c", options)],
    ["putCheckpoint", (store, options) => store.putCheckpoint("k", 1, options)],
    ["getCheckpoint", (store, options) => store.getCheckpoint("k", options)],
    ["deleteCheckpoint", (store, options) => store.deleteCheckpoint("k", options)],
    ["putBlob", (store, options) => store.putBlob("x", options)],
    ["getBlob", (store, options) => store.getBlob("x", options)],
    ["verify", (store, options) => store.verify("t", options)],
  ];

  test.each(calls)("is store_timeout for %s", async (_, call) => {
    const store = postgresStore(silent.url, { callTimeoutMs: 100 });
    await expect(call(store, {})).rejects.toMatchObject(timedOut);
    await store.close();
  });

  test.each([true, false])(
    "and has a message that names prepared statements, if the URL asks for them: %s",
    async (prepare) => {
      const store = postgresStore(`${silent.url}?prepare=${prepare}`, { callTimeoutMs: 100 });
      const message = (prepare ? expect : expect.not).stringContaining("prepared statements");
      await expect(store.load("t")).rejects.toMatchObject({ ...timedOut, message });
      await store.close();
    },
  );

  test("is store_aborted for every call whose signal aborts while it waits", async () => {
    const server = await startProxy(inject("postgresUrl"), { isSilent: true });
    const database = postgresDatabase(server.url, { callTimeoutMs: 2 ** 31 - 1 });
    const stop = new AbortController();
    const pending = calls.map(([, call]) => call(database.tenant("a"), { signal: stop.signal }));
    const aborted = pending.map((call) => expect(call).rejects.toMatchObject({ code: "store_aborted" }));
    const { signal } = stop;
    const followed = [database.tenant("a").watch("t", { fromSeq: 0, signal }), database.tenant("a").feed({ signal })];
    const ended = followed.map((items: AsyncIterable<unknown>) => Array.fromAsync(items));
    stop.abort();
    await Promise.all(aborted);
    expect(await Promise.all(ended)).toEqual([[], []]);
    await server.stop(); // else the close would wait for it
    await database.close();
  });

  test("lets a store close, which leaves no connection behind", async () => {
    const store = postgresStore(silent.url, { callTimeoutMs: 100 });
    await expect(Promise.all([store.append("t", {}), store.load("t")])).rejects.toMatchObject(timedOut);
    const pending = expect(store.load("t")).rejects.toMatchObject(timedOut);
    await store.close();
    await pending;
    await until("all connections are gone", () => silent.connections === 0);
  });
});

test("after a connection went silent the next call opens a new one", async () => {
  const proxy = await startProxy(inject("postgresUrl"));
  const store = openStore({ callTimeoutMs: 1500 }, proxy.url);
  await retryUntilDone(() => store.append("cut_off", note({}, { id: "before" })));
  proxy.silence();
  await expect(store.append("cut_off", note({}, { id: "after" }))).rejects.toMatchObject(timedOut);
  await retryUntilDone(() => store.append("cut_off", note({}, { id: "after" })));
  expect((await retryUntilDone(() => store.load("cut_off")))?.toArray().map(({ id }) => id)).toEqual([
    "before",
    "after",
  ]);
  await store.close();
  await until("the silent connections are gone too", () => proxy.connections === 0);
  await proxy.stop();
});

test("a watcher survives a connection that went silent", async () => {
  const proxy = await startProxy(inject("postgresUrl"));
  const [writing, watching] = [openStore(), openStore({ callTimeoutMs: 1500 }, proxy.url)];
  const watcher = watching.watch("watched", { fromSeq: 0 })[Symbol.asyncIterator]();
  await writing.append("watched", note({ n: 0 }));
  expect((await watcher.next()).value?.payload).toEqual({ n: 0 });
  const next = watcher.next();
  proxy.silence();
  await writing.append("watched", note({ n: 1 }));
  expect((await next).value?.payload).toEqual({ n: 1 });
  await watching.close();
  await proxy.stop();
});

test("an append whose deadline passed while it waited for its turn is not written later", async () => {
  const store = openStore({ callTimeoutMs: 1500 });
  await retryUntilDone(() => store.append("first", note({}, { id: "opened" })));
  const sql = await rawConnection().reserve();
  const name = `${schema}/default/first`;
  await sql`begin`;
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`;
  const fillsOneBatch = Array.from({ length: 256 }, () => store.append("first", {}));
  const refused = [...fillsOneBatch, store.append("second", {})].map((append) =>
    expect(append).rejects.toMatchObject(timedOut),
  );
  await Promise.all(refused);
  await sql`rollback`;
  sql.release();
  await retryUntilDone(() => store.append("third", note({}, { id: "third" }))); // its turn is after that of the second
  expect(await store.load("second")).toBeUndefined();
});

describe("a write that is aborted while it waits for a lock writes nothing:", () => {
  test.each<[name: string, call: (store: ThreadStore, options: CallOptions) => Promise<unknown>]>([
    ["append", (store, options) => store.append("locked", note({}, { id: "second" }), options)],
    ["delete", (store, options) => store.delete("locked", options)],
    ["fork", (store, options) => store.fork("locked", { atSeq: 0, newId: "copy", ...options })],
  ])("%s", async (tenant, call) => {
    const store = openStore({ tenant });
    await store.append("locked", note({}, { id: "first" }));
    const sql = await rawConnection().reserve();
    await sql`begin`;
    const [own] = await sql`
      select pg_backend_pid() as pid, pg_advisory_xact_lock(hashtextextended(${`${schema}/${tenant}/locked`}, 0))`;
    const stop = new AbortController();
    const aborted = expect(call(store, { signal: stop.signal })).rejects.toMatchObject({
      code: "store_aborted",
      message: expect.stringContaining("may be stored"),
    });
    await until("the write waits for the lock", async () => {
      return (await sql`select from pg_stat_activity where ${own?.["pid"]} = any(pg_blocking_pids(pid))`).length > 0;
    });
    stop.abort();
    await aborted;
    await sql`rollback`;
    sql.release();
    await store.append("locked", note({}, { id: "third" }));
    expect((await store.load("locked"))?.toArray().map(({ id }) => id)).toEqual(["first", "third"]);
    expect(await store.load("copy")).toBeUndefined();
  });
});

test("callTimeoutMs is a whole number of milliseconds that a timer can wait", () => {
  for (const callTimeoutMs of [0, -1, 1.5, Number.NaN, 2 ** 31]) {
    const call = () => postgresStore(inject("postgresUrl"), { callTimeoutMs });
    expect(call).toThrow(expect.objectContaining({ code: "invalid_options" }));
  }
});
