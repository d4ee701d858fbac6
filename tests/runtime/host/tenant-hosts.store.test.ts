import { type AnyAgent, TenantHosts } from "heddle";
import { sqliteDatabase } from "heddle/sqlite";
import { memoryDatabase, type ThreadDatabase } from "heddle/store";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { clockwork } from "../support/clockwork.ts";
import { agentOf } from "./support/hosts.ts";

const DATABASES: readonly [string, (at: { readonly clock: () => number }) => ThreadDatabase][] = [
  ["memory", (ports) => memoryDatabase({ clock: ports.clock })],
  ["SQLite", (ports) => sqliteDatabase(fastFile(), { clock: ports.clock })],
];
const MODEL = "scripted:scripted-model";

describe.each(DATABASES)("hosts of tenants, on %s,", (_name, open) => {
  async function world() {
    const time = clockwork();
    const database = open(time.ports);
    await database.tenant("warm").load("up"); // loads what is loaded on demand
    const warnings: string[] = [];
    const warn = (message: string) => void warnings.push(message);
    const make = (agent: AnyAgent, more: object = {}) =>
      TenantHosts.create({ agent, database, ports: time.ports, warn, ...more });
    const pass = async (ms: number) => {
      for (let left = ms; left > 0; left -= 100) {
        await time.pass(100);
        await time.settled();
      }
    };
    const post = (tenant: string, id: string) =>
      database.tenant(tenant).post(id, { id: `req_${id}`, type: "ask", content: "Go." });
    const completed = async (tenant: string) =>
      (await database.tenant(tenant).list({ status: "completed", order: "id" })).threads.map(({ id }) => id);
    return { ...time, database, warnings, make, pass, post, completed };
  }

  /** Answers that take a while, and the number of calls at once. */
  function slow(at: Awaited<ReturnType<typeof world>>, count: number, ms: number) {
    const seen = { now: 0, most: 0, all: 0 };
    const script = Array.from({ length: count }, () => async (): Promise<string> => {
      seen.all++;
      seen.most = Math.max(seen.most, ++seen.now);
      await new Promise<void>((resolve) => void at.ports.after(ms, resolve));
      seen.now--;
      return "Done.";
    });
    return { seen, agent: (config: object = {}) => agentOf(script, config) };
  }

  test("keep threads with the same id apart, and have one lease", async () => {
    const at = await world();
    const hosts = at.make(agentOf(["For acme.", "For bolt."]));
    const [acme, bolt] = [hosts.of("acme"), hosts.of("bolt")];
    expect(hosts.of("acme")).toBe(acme);
    const one = await at.end(acme.ask("thread_1", "Hi"));
    expect((await at.end(one.result)).text).toBe("For acme.");
    const two = await at.end(bolt.ask("thread_1", "Hi"));
    expect((await at.end(two.result)).text).toBe("For bolt.");
    expect([(await at.end(acme.thread("thread_1"))).entryCount, hosts.size]).toEqual([2, 2]);
    const { leases } = at.database;
    const other = await leases.start({ node: "other", ttlMs: 60_000 });
    await leases.count({ lease: other, name: "seen", amount: 1 });
    await at.end(hosts.stop());
    expect(() => hosts.of("new")).toThrow(expect.objectContaining({ code: "server_stopped" }));
    await expect(acme.ask("thread_1", "Hi")).rejects.toMatchObject({ code: "server_stopped" });
    for (const tenant of ["acme", "bolt"]) {
      const claim = await at.database.tenant(tenant).claim("thread_1", { holder: "next", ttlMs: 1_000 });
      expect(claim.epoch).toBe(2); // the thread is free
    }
  });

  test("take the threads of all tenants by turns, and of one no more than its part", async () => {
    const at = await world();
    const order: string[] = [];
    const { seen, agent } = slow(at, 30, 1_000);
    for (let n = 0; n < 20; n++) await at.post("big", `big_${n + 10}`);
    for (let n = 0; n < 2; n++) await at.post("small", `small_${n}`);
    const onRequestEnd = ({ threadId }: { readonly threadId: string }) => void order.push(threadId);
    const hosts = at.make(agent({ onRequestEnd }), { idleMs: 0 });
    hosts.work({ concurrency: 4, perTenant: 2 });
    await at.pass(2_000);
    expect(seen.most).toBe(4);
    expect(order.filter((id) => id.startsWith("small"))).toHaveLength(2);
    expect(order.filter((id) => id.startsWith("big"))).toHaveLength(2);
    await at.pass(30_000);
    expect([(await at.completed("big")).length, (await at.completed("small")).length]).toEqual([20, 2]);
    expect(at.warnings).toEqual([]);
    await at.end(hosts.stop());
  });

  test("share the limits of model calls, and continue what another process has left", async () => {
    const at = await world();
    const first = at.make(agentOf(Array.from({ length: 4 }, () => ({ hang: true as const }))), { leaseTtlMs: 4_000 });
    for (const tenant of ["acme", "bolt"])
      for (let n = 0; n < 2; n++) await at.end(first.of(tenant).ask(`thread_${n}`, "Hi"));
    await at.settled();
    await at.end(first.stop({ graceMs: 0 }));
    const { seen, agent } = slow(at, 8, 500);
    const second = at.make(agent());
    second.work({ modelCalls: { [MODEL]: 3 } });
    for (const tenant of ["acme", "bolt"])
      for (let n = 2; n < 4; n++) await at.end(second.of(tenant).ask(`thread_${n}`, "Hi"));
    await at.pass(10_000);
    expect(seen).toEqual({ now: 0, most: 3, all: 8 });
    expect([(await at.completed("acme")).length, (await at.completed("bolt")).length]).toEqual([4, 4]);
    await at.end(second.stop());
  });

  test("keep their threads when the host of one tenant stops", async () => {
    const at = await world();
    const { agent } = slow(at, 4, 3_000);
    const hosts = at.make(agent(), { leaseTtlMs: 2_000 });
    hosts.work();
    const request = await at.end(hosts.of("acme").ask("thread_1", "Hi"));
    await at.end(hosts.of("bolt").stop());
    await at.pass(6_000);
    expect((await at.end(request.result)).text).toBe("Done.");
    await at.end(hosts.stop());
  });

  test("refuse what is wrong", async () => {
    const at = await world();
    const hosts = at.make(agentOf([]));
    expect(() => hosts.of("a/b")).toThrow(expect.objectContaining({ code: "invalid_id" }));
    expect(() => hosts.work({ perTenant: 0 })).toThrow("perTenant must be a whole number from 1.");
    expect(() => hosts.work({ perTenants: 3 } as never)).toThrow("Did you mean perTenant?");
    expect(() => hosts.of("acme").work()).toThrow("Call `work` of TenantHosts.");
    hosts.work();
    expect(() => hosts.work()).toThrow("Call `work` once.");
    await at.end(hosts.stop());
    expect(() => hosts.work()).toThrow(expect.objectContaining({ code: "server_stopped" }));
    expect(() => at.make(agentOf([]), { idle: 5 })).toThrow(expect.objectContaining({ code: "invalid_options" }));
  });
});
