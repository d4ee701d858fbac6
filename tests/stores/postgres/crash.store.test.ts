import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentHost, defineAgent, defineTool } from "heddle";
import { note, scriptedModel } from "heddle/testing";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnServer, startPostgres } from "../../support/postgres/start-postgres.ts";
import { until } from "../../support/postgres/until.ts";
import { openDatabase, openStore, schema } from "./open.ts";
import { retryUntilDone } from "./retry.ts";

let server: OwnServer;

beforeAll(async () => {
  server = await startPostgres({ own: true });
});

afterAll(async () => {
  await server.stop();
});

test("an append with an unknown outcome after a crash reports it, and its retry is safe", async () => {
  const store = openStore({}, server.url);
  await store.append("t", {});
  const sql = postgres(server.url, { max: 1 });
  await sql`begin`;
  await sql`select from ${sql(`${schema}.threads`)} for update`;
  const stuck = store.append("t", note({}, { id: "again" }));
  const refused = expect(stuck).rejects.toMatchObject({ code: "store_unreachable", retryable: true });
  await until("the append waits for the lock", async () => {
    return (await sql`select from pg_locks where not granted`).length > 0;
  });
  await server.kill();
  await refused;
  await sql.end({ timeout: 0 });
  await server.restart();
  expect((await store.append("t", note({}, { id: "again" }))).rev).toBe(2);
  expect(await store.append("t", note({}, { id: "again" }))).toMatchObject({ rev: 2, replayed: true });
});

test("after a restart of the server, the next calls of all readers and writers succeed", async () => {
  const tenants = ["a", "b", "c"];
  const database = openDatabase({}, server.url);
  for (const tenant of tenants) await database.tenant(tenant).append("t", {});
  const admin = postgres(server.url, { max: 1 });
  await admin`begin`;
  await admin`lock table ${admin(`${schema}.entries`)} in access exclusive mode`;
  const calls = () =>
    tenants.flatMap((tenant) => {
      const store = database.tenant(tenant);
      const loads = Array.from({ length: 5 }, () => store.load("t"));
      return [...loads, store.append("t", note({}, { id: "again" }))];
    });
  const interrupted = Promise.allSettled(calls());
  const sql = postgres(server.url, { max: 1 });
  await until("six readers and three writers wait", async () => {
    return (await sql`select from pg_locks where not granted`).length === 9;
  });
  await Promise.all([sql.end(), server.restart()]);
  // The server ends the connection with the lock first, at times: a call that waited for it may succeed then.
  const rejected = (await interrupted).filter((call) => call.status === "rejected");
  expect(rejected.length).toBeGreaterThan(0);
  for (const { reason } of rejected) expect(reason).toMatchObject({ code: "store_unreachable", retryable: true });
  await Promise.all(calls());
  for (const tenant of tenants) expect((await database.tenant(tenant).load("t"))?.rev).toBe(2);
  await Promise.all([database.close(), admin.end({ timeout: 0 })]);
});

test("when the server crashes at any moment, no acknowledged entry is lost or stored twice", async () => {
  const store = openStore({}, server.url);
  await store.append("thread-0", {}); // connected
  const acknowledged = new Map<string, number>();
  let running = true;
  const agents = Array.from({ length: 8 }, async (_, agent) => {
    const id = `agent-${agent}`;
    for (let n = 0; running; n++) {
      await retryUntilDone(() => store.append(id, note({ n }, { id: `${agent}-${n}` })));
      acknowledged.set(id, n + 1);
    }
  });
  const reader = (async () => {
    while (running) await retryUntilDone(async () => [await store.load("agent-0", { last: 3 }), await store.list()]);
  })();
  for (let crash = 1; crash <= 5; crash++) {
    const goal = crash * 40;
    await until(`agents have appended ${goal} entries`, () => total(acknowledged) >= goal);
    await server.kill();
    await server.restart();
  }
  running = false;
  await Promise.all([...agents, reader]);
  for (const [id, count] of acknowledged) {
    const thread = await store.load(id);
    expect(thread?.toArray().map(({ payload }) => payload["n"])).toEqual(Array.from({ length: count }, (_, n) => n));
    expect(await store.verify(id)).toMatchObject({ ok: true });
  }
});

test("a request whose server becomes a standby is suspended, and resumed after the promotion", async () => {
  const store = openStore({}, server.url);
  const { promise: seen, resolve: end } = Promise.withResolvers<string>();
  const look = defineTool({ inputSchema: { type: "object" }, execute: () => seen });
  const agent = defineAgent({ model: scriptedModel([{ calls: [{ name: "look" }] }, "Seen."]), tools: { look } });
  const host = AgentHost.create({ agent, store });
  const request = await host.ask("standby", "Look.");
  await until("the call is written", async () => (await store.load("standby"))?.rev === 2);
  const sql = postgres(server.url, { max: 1 });
  const [{ data_directory: data } = { data_directory: "" }] = await sql`show data_directory`;
  await sql.end();
  await server.stop({ keepData: true });
  await writeFile(join(data, "standby.signal"), "");
  await server.restart();
  const away = { code: "store_unreachable", retryable: true, message: expect.stringContaining("standby") };
  await retryUntilDone(() => store.load("standby"));
  await expect(store.append("other", note({}, { id: "other" }))).rejects.toMatchObject(away);
  end("A bird.");
  await expect(request.result).rejects.toMatchObject({ code: "request_suspended", failure: away });
  const admin = postgres(server.url, { max: 1 });
  await admin`select pg_promote()`;
  await admin.end();
  await retryUntilDone(() => store.append("other", note({}, { id: "other" })));
  const again = await host.ask("standby", "Look.", { requestId: request.id });
  expect((await again.result).text).toBe("Seen.");
  await host.stop();
});

test("a store closes while its server is away, and leaves no connection behind when it comes back", async () => {
  const store = openStore({}, server.url);
  await store.append("closing", {});
  await server.kill();
  await expect(store.load("closing")).rejects.toMatchObject({ code: "store_unreachable" });
  const closed = store.close();
  await server.restart();
  await closed;
  const sql = postgres(server.url, { max: 1 });
  await until("only the other stores of this file are connected", async () => {
    return (await sql`select from pg_stat_activity where application_name = 'heddle'`).length <= 6;
  });
  await sql.end({ timeout: 1 });
});

function total(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}
