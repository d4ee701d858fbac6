import type { ThreadStore } from "heddle";
import { postgresStore } from "heddle/postgres";
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

  test.each<[name: string, call: (store: ThreadStore) => Promise<unknown>]>([
    ["append", (store) => store.append("t", {})],
    ["load", (store) => store.load("t")],
    ["read", (store) => Array.fromAsync(store.read("t"))],
    ["list", (store) => store.list()],
    ["claim", (store) => store.claim("t", { holder: "h", ttlMs: 1000 })],
    ["delete", (store) => store.delete("t")],
    ["fork", (store) => store.fork("t", { atSeq: 0 })],
    ["putCheckpoint", (store) => store.putCheckpoint("k", 1)],
    ["getBlob", (store) => store.getBlob("x")],
    ["verify", (store) => store.verify("t")],
  ])("is store_timeout for %s", async (_, call) => {
    const store = postgresStore(silent.url, { callTimeoutMs: 100 });
    await expect(call(store)).rejects.toMatchObject(timedOut);
    await store.close();
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

test("callTimeoutMs is a whole number of milliseconds that a timer can wait", () => {
  for (const callTimeoutMs of [0, -1, 1.5, Number.NaN, 2 ** 31]) {
    const call = () => postgresStore(inject("postgresUrl"), { callTimeoutMs });
    expect(call).toThrow(expect.objectContaining({ code: "invalid_options" }));
  }
});
