import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { setImmediate as endOfTurn } from "node:timers/promises";
import { note } from "heddle/testing";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { startProxy, type TcpProxy } from "../../support/postgres/tcp-proxy.ts";
import { openStore } from "./open.ts";

let proxy: TcpProxy;

beforeAll(async () => {
  proxy = await startProxy(inject("postgresUrl"));
});

afterAll(async () => {
  await proxy.stop();
});

test("a call on a connection that was lost unnoticed succeeds, for a reader and a writer", async () => {
  const store = openStore({}, proxy.url);
  await store.append("unnoticed", {});
  await store.load("unnoticed");
  proxy.reset();
  expect((await store.load("unnoticed"))?.rev).toBe(1);
  proxy.reset();
  expect((await store.append("unnoticed", {})).rev).toBe(2);
  await store.close();
});

test("reads that begin while connections are lost succeed, and none waits for its deadline", async () => {
  const store = openStore({}, proxy.url);
  await store.append("busy", {});
  const loads: Promise<unknown>[] = [];
  for (let turn = 0; turn < 40; turn++) {
    if (turn === 20) proxy.reset();
    for (let n = 0; n < 10; n++) loads.push(store.load("busy"));
    await endOfTurn();
  }
  const outcomes = await Promise.allSettled(loads);
  expect(outcomes.filter(({ status }) => status === "rejected")).toEqual([]);
  await store.close();
});

test("appends that begin while connections are lost are stored once, and none waits for its deadline", async () => {
  const store = openStore({}, proxy.url);
  await store.append("writes", {});
  const appends: Promise<unknown>[] = [];
  for (let turn = 0; turn < 60; turn++) {
    if (turn % 15 === 10) proxy.reset();
    const append = store.append(`writes-${turn}`, note({}, { id: "one" }));
    appends.push(append.catch((error: unknown) => expect(error).toMatchObject({ code: "store_unreachable" })));
    await endOfTurn();
  }
  await Promise.all(appends);
  for (let turn = 0; turn < 60; turn++) {
    expect((await store.append(`writes-${turn}`, note({}, { id: "one" }))).rev).toBe(1);
    expect(await store.verify(`writes-${turn}`)).toMatchObject({ ok: true });
  }
  await store.close();
});

test("an append whose commit was not answered is store_unreachable; its retry is answered from the log", async () => {
  const store = openStore({}, proxy.url);
  await store.append("unknown", {});
  proxy.cutNextCommit();
  await expect(store.append("unknown", note({}, { id: "one" }))).rejects.toMatchObject({
    code: "store_unreachable",
    retryable: true,
  });
  expect(await store.append("unknown", note({}, { id: "one" }))).toMatchObject({ rev: 2, replayed: true });
  await store.close();
});

test("a server that closes each connection at once is asked again after a wait", async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on("error", () => undefined).end();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const store = openStore({ callTimeoutMs: 400 }, `postgres://nobody@127.0.0.1:${port}/none`);
  await expect(store.load("t")).rejects.toMatchObject({ retryable: true });
  expect(connections).toBeLessThan(40); // a loop makes thousands
  await store.close();
});
