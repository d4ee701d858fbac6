import type { AgentHost } from "heddle";
import { sqliteDatabase } from "heddle/sqlite";
import { memoryDatabase, type ThreadDatabase } from "heddle/store";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { clockwork } from "../support/clockwork.ts";
import { agentOf, anything, type House, house, PAY } from "./support/hosts.ts";

const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
const DATABASES: readonly [string, (at: { readonly clock: () => number }) => ThreadDatabase][] = [
  ["memory", (ports) => memoryDatabase({ clock: ports.clock })],
  ["SQLite", (ports) => sqliteDatabase(fastFile(), { clock: ports.clock })],
];

describe.each(DATABASES)("a thread whose process has stopped is runnable, on %s,", (_name, open) => {
  async function world() {
    const clock = clockwork();
    const database = open(clock.ports);
    const at = await house(database.tenant("t"), clock);
    /** The threads that a worker gets now. */
    const due = async () => {
      const lease = await database.leases.start({ node: "worker", ttlMs: 1_000 });
      const taken = await database.runnable.take({ lease, limit: 10 });
      for (const { threadId, epoch } of taken) await at.store.release(threadId, epoch);
      return taken.map(({ threadId }) => threadId);
    };
    return { at, due };
  }

  async function waits({ end }: House, host: AgentHost, options: object = {}) {
    const request = await end(host.ask("thread_1", "Pay.", options));
    for await (const _event of request.events({ until: "waiting" }));
    return request;
  }

  test("at once when its request was running, and not when that has ended", async () => {
    const { at, due } = await world();
    const host = at.host({ agent: agentOf(["One.", { hang: true }]) });
    await at.end((await at.end(host.ask("thread_done", "1?"))).result);
    await at.end(host.ask("thread_open", "2?"));
    await at.end(host.stop({ graceMs: 0 }));
    expect(await due()).toEqual(["thread_open"]);
  });

  test("at the deadline of a queued ask when its request waits for a person, and at once when that has ended", async () => {
    const { at, due } = await world();
    const config = { tools: { pay }, busy: "queue" };
    const host = at.host({ agent: agentOf([PAY], config) });
    await waits(at, host);
    void at.end(host.ask("thread_1", "Later.", { deadline: 60_000 })).catch(() => undefined);
    void at.end(host.ask("thread_1", "Last.")).catch(() => undefined);
    await at.settled();
    await at.end(host.stop({ graceMs: 0 }));
    expect(await due()).toEqual([]);
    await at.pass(60_000);
    expect(await due()).toEqual(["thread_1"]);
  });

  test("at once when a request has ended and asks wait", async () => {
    const { at, due } = await world();
    const host = at.host({ agent: agentOf([PAY, { hang: true }], { tools: { pay }, busy: "queue" }) });
    await waits(at, host);
    void at.end(host.ask("thread_1", "Later.")).catch(() => undefined);
    await at.settled();
    await at.end(host.stop({ graceMs: 0 }));
    expect(await due()).toEqual([]);
    const next = at.host({ agent: agentOf([{ hang: true }], { tools: { pay }, busy: "queue" }) });
    await at.end(next.cancel("thread_1"));
    await at.settled();
    await at.end(next.stop({ graceMs: 0 }));
    expect(await due()).toEqual(["thread_1"]);
  });

  test("at the next deadline of its request, and not before", async () => {
    const { at, due } = await world();
    const host = at.host({ agent: agentOf([PAY], { tools: { pay } }) });
    await waits(at, host, { deadline: 30_000 });
    await at.end(host.stop());
    await at.pass(29_000);
    expect(await due()).toEqual([]);
    await at.pass(1_000);
    expect(await due()).toEqual(["thread_1"]);
  });
});
