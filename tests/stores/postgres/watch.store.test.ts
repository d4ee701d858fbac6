import type { Entry } from "heddle";
import { note } from "heddle/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnServer, startPostgres } from "../../support/postgres/start-postgres.ts";
import { startProxy } from "../../support/postgres/tcp-proxy.ts";
import { until } from "../../support/postgres/until.ts";
import { openStore } from "./open.ts";
import { retryUntilDone } from "./retry.ts";

/** Longer than any test: what arrives has been announced. */
const pollMs = 2 ** 31 - 1;

let server: OwnServer;

beforeAll(async () => {
  server = await startPostgres({ own: true });
});

afterAll(async () => {
  await server.stop();
});

test("a watcher sees the appends of another store", async () => {
  const [writing, watching] = [openStore(), openStore({ pollMs })];
  const watcher = watching.watch("heard", { fromSeq: 0 })[Symbol.asyncIterator]();
  for (let n = 0; n < 5; n++) {
    const next = watcher.next();
    await writing.append("heard", note({ n }));
    expect((await next).value?.payload).toEqual({ n });
  }
  await watching.close();
});

test("an outcome that another store writes is announced", async () => {
  const [writing, waiting] = [openStore(), openStore({ pollMs })];
  for (const id of ["c1", "c2"]) {
    await waiting.post("asked", { id, type: "ask" });
    const outcome = waiting.outcome("asked", id);
    await waiting.pending("asked"); // the first look has begun before
    await writing.append("asked", [], { consumes: [{ id, outcome: { status: "done" } }] });
    expect(await outcome).toEqual({ status: "done" });
  }
  await waiting.close();
});

test("a watcher that reconnects sees the entries announced meanwhile", async () => {
  const proxy = await startProxy(server.url);
  const [writing, watching] = [openStore({}, server.url), openStore({ pollMs }, proxy.url)];
  const watcher = watching.watch("missed", { fromSeq: 0 })[Symbol.asyncIterator]();
  const first = watcher.next();
  await writing.append("missed", note({ n: 0 }));
  await first;
  const next = watcher.next();
  proxy.refuse();
  await until("the watcher is cut off", async () => proxy.connections === 0);
  await writing.append("missed", note({ n: 1 }));
  proxy.accept();
  expect((await next).value?.payload).toEqual({ n: 1 });
  await Promise.all([writing.close(), watching.close()]);
  await proxy.stop();
});

test("a watcher survives a killed server and misses nothing", async () => {
  // The writer may send a notification on a connection that the server has lost. Then the watcher polls.
  const [writing, watching] = [openStore({}, server.url), openStore({}, server.url)];
  const seen: Entry[] = [];
  const done = (async () => {
    for await (const entry of watching.watch("t", { fromSeq: 0 })) if (seen.push(entry) === 6) return;
  })();
  for (let n = 0; n < 3; n++) await writing.append("t", note({ n }));
  await server.kill();
  await expect(writing.append("t", note({ n: -1 }))).rejects.toMatchObject({ code: "store_unreachable" });
  await server.restart();
  for (let n = 3; n < 6; n++) await retryUntilDone(() => writing.append("t", note({ n }, { id: `kept-${n}` })));
  await done;
  expect(seen.map(({ payload }) => payload["n"])).toEqual([0, 1, 2, 3, 4, 5]);
  await Promise.all([writing.close(), watching.close()]);
});
