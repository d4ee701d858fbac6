import { randomUUID } from "node:crypto";
import { type AgentHost, sleep, type ThreadStore } from "heddle";
import { sqliteDatabase } from "heddle/sqlite";
import { memoryDatabase, type ThreadDatabase } from "heddle/store";
import { describe, expect, inject, test } from "vitest";
import { openAt } from "../../support/open-at.ts";
import { fastFile, tempFile } from "../../support/temp-folder.ts";
import { clockwork } from "../support/clockwork.ts";
import { agentOf, anything, type House, house, realTime } from "./support/hosts.ts";

const LEASE_MS = 10_000;
const LOOK_MS = 1_000;
const DATABASES: readonly [string, (at: { readonly clock: () => number }) => ThreadDatabase][] = [
  ["memory", (ports) => memoryDatabase({ clock: ports.clock })],
  ["SQLite", (ports) => sqliteDatabase(fastFile(), { clock: ports.clock })],
];

/** A store whose process can die: from then on it sends nothing. */
function mortal(store: ThreadStore): { readonly store: ThreadStore; readonly die: () => void } {
  let isDead = false;
  const { leases, runnable } = store;
  if (leases === undefined || runnable === undefined) return expect.fail("the store has leases");
  const never = new Promise<never>(() => undefined);
  const alive = <Method extends (...args: never[]) => Promise<unknown>>(method: Method): Method =>
    ((...args: never[]) => (isDead ? never : method(...args))) as Method; // the same signature
  const { append, release } = store;
  const { start, renew, end, count } = leases;
  const own = { start: alive(start), renew: alive(renew), end: alive(end), count: alive(count), hasCounters: true };
  return {
    store: {
      ...store,
      append: alive(append),
      release: alive(release),
      leases: own,
      runnable: { take: alive(runnable.take) },
    },
    die: () => {
      isDead = true;
    },
  };
}

/** Model calls that wait until they are opened, and how many were made at once. */
function gated(count: number) {
  const seen = { now: 0, most: 0, all: 0 };
  const { promise, resolve } = Promise.withResolvers<void>();
  const answer = async (): Promise<string> => {
    seen.all++;
    seen.most = Math.max(seen.most, ++seen.now);
    await promise;
    seen.now--;
    return "Done.";
  };
  return { model: Array.from({ length: count }, () => answer), seen, open: resolve };
}

describe.each(DATABASES)("a host that works, on %s,", (_name, open) => {
  async function world(tenant = "t") {
    const clock = clockwork();
    const database = open(clock.ports);
    const at = await house(database.tenant(tenant), clock);
    const stateOf = async (host: AgentHost, id: string, requestId: string) => {
      const found = host.result(id, requestId).then(
        ({ text }) => text,
        ({ code }: { readonly code: string }) => code,
      );
      return at.end(found);
    };
    return { at, database, stateOf };
  }

  async function pass({ pass: go, settled }: House, ms: number) {
    for (let left = ms; left > 0; left -= LOOK_MS) {
      await go(Math.min(left, LOOK_MS));
      await settled();
    }
  }

  test("takes the thread of a process that died, within its lease and a second, and repeats no work", async () => {
    const { at, stateOf } = await world();
    const { store, die } = mortal(at.store);
    let runs = 0;
    const pay = { inputSchema: anything, execute: () => `paid ${++runs}` };
    const script = [{ calls: [{ id: "p", name: "pay" }] }, { hang: true }];
    const first = at.host({ agent: agentOf(script, { tools: { pay } }), store, holder: "one" });
    const asked = await at.end(first.ask("thread_1", "Pay.", { requestId: "req_1" }));
    await at.settled();
    expect(asked.state).toBe("running");
    die();
    const second = at.host({ agent: agentOf(["Done."], { tools: { pay } }), holder: "two" });
    second.work();
    await pass(at, LEASE_MS + LOOK_MS);
    expect(await stateOf(second, "thread_1", "req_1")).toBe("Done.");
    expect(runs).toBe(1);
    await at.end(second.stop());
  });

  const nap = { inputSchema: anything, execute: () => sleep(60_000, "rested") };
  const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
  const tools = { nap, pay };
  const steps = (name: string) => [{ calls: [{ id: "c", name }] }, "Done."];

  test.each([
    ["the deadline of its call", "pay", [{ toolCallId: "c", kind: "approval", agent: "ann" }]],
    ["the end of a sleep", "nap", [{ toolCallId: "c", kind: "sleep", agent: "ann" }]],
  ])("comes to %s in a thread that was saved in another store", async (_what, name, waiting) => {
    const { at, database } = await world();
    const agent = agentOf([...steps(name), "Done."], { name: "ann", tools, approval: { timeoutMs: 60_000 } });
    const first = at.host({ agent });
    await at.end(first.ask("thread_1", "Go.", { requestId: "req_1" }));
    await at.settled();
    await at.end(first.stop());
    const store = database.tenant("other");
    const copy = (await at.store.load("thread_1")) ?? expect.fail("it is stored");
    await store.save(copy);
    const second = at.host({ agents: [agent, agentOf([], { name: "bob" })], store });
    expect((await second.waiting()).calls).toMatchObject(waiting);
    second.work();
    await pass(at, 50_000);
    expect((await store.load("thread_1"))?.rev).toBe(copy.rev); // nothing was due
    await pass(at, 20_000);
    expect((await store.load("thread_1"))?.metadata["status"]).toBe("completed");
    expect((await second.waiting()).calls).toEqual([]);
    await at.end(second.stop());
  });

  test("lists no call of a copy that has ended, or of a fork from before the end of its call", async () => {
    const { at, database } = await world();
    const first = at.host({ agent: agentOf([...steps("pay"), "Done."], { name: "ann", tools }) });
    await at.end(first.ask("thread_1", "Go.", { requestId: "req_1" }));
    await at.settled();
    const store = database.tenant("other");
    const saved = async () => (await at.store.load("thread_1")) ?? expect.fail("it is stored");
    const waiting = await saved();
    await store.save(waiting);
    await store.save(waiting.fork({ atSeq: waiting.lastSeq, id: "thread_fork" }));
    const second = at.host({ agent: agentOf([], { name: "ann" }), store });
    expect((await second.waiting()).calls).toMatchObject([{ threadId: "thread_1" }]);
    await at.end(first.approve("thread_1", "c"));
    await at.settled();
    await store.save(await saved());
    expect((await second.waiting()).calls).toEqual([]);
    for (const host of [first, second]) await at.end(host.stop({ graceMs: 0 }));
  });

  test("takes a thread that was saved while its request ran", async () => {
    const { at, database } = await world();
    const first = at.host({ agent: agentOf([{ hang: true }]) });
    await at.end(first.ask("thread_1", "Go.", { requestId: "req_1" }));
    await at.settled();
    const store = database.tenant("other");
    await store.save((await at.store.load("thread_1")) ?? expect.fail("it is stored"));
    const second = at.host({ agent: agentOf(["Done."]), store });
    second.work();
    await pass(at, LOOK_MS);
    expect((await store.load("thread_1"))?.metadata["status"]).toBe("completed");
    for (const host of [first, second]) await at.end(host.stop({ graceMs: 0 }));
  });

  test("runs an ask that was posted without a host, also on a thread that is new", async () => {
    const { at, stateOf } = await world();
    const host = at.host({ agent: agentOf(["Hello."]) });
    host.work();
    await at.settled();
    await at.store.post("thread_new", { id: "req_1", type: "ask", content: "Hi." });
    await pass(at, LOOK_MS);
    expect(await stateOf(host, "thread_new", "req_1")).toBe("Hello.");
    await at.end(host.stop());
  });

  test("runs an ask that was posted for one of several agents, at once and at a time", async () => {
    const { at, stateOf } = await world();
    const agents = ["ann", "bob"].map((name) => agentOf([`I am ${name}.`, `I am ${name}.`], { name }));
    const host = at.host({ agents, idleMs: 1_000 });
    host.work();
    const ask = { type: "ask", content: "Who?" };
    await at.store.post("thread_now", { id: "req_now", ...ask }, { agent: "bob" });
    await at.store.post("thread_later", { id: "req_later", ...ask, at: 60_000 }, { agent: "bob" });
    await at.store.post("thread_named", { id: "req_named", ...ask, agent: "ann" }); // as with `host.ask`
    await pass(at, 5_000);
    expect(await at.store.pending("thread_named")).toEqual([]); // the worker has taken it
    expect(await stateOf(host, "thread_now", "req_now")).toBe("I am bob.");
    expect(await stateOf(host, "thread_named", "req_named")).toBe("I am ann.");
    await pass(at, 60_000);
    expect(await stateOf(host, "thread_later", "req_later")).toBe("I am bob.");
    expect(at.warnings).toEqual([]);
    await at.end(host.stop());
  });

  test("starts a thread when the time of its ask has come, although the host that has the timer is gone", async () => {
    const { at, stateOf } = await world();
    const first = at.host({ agent: agentOf(["Early."]) });
    await at.end(first.ask("thread_1", "Later.", { requestId: "req_1", at: at.ports.clock() + 60_000 }));
    await at.end(first.stop());
    const host = at.host({ agent: agentOf(["On time."]) });
    host.work();
    await pass(at, 59_000);
    expect(await at.store.load("thread_1")).toBeUndefined();
    await pass(at, 2 * LOOK_MS);
    expect(await stateOf(host, "thread_1", "req_1")).toBe("On time.");
    await at.end(host.stop());
  });

  test("takes no more threads than it may run, and the others when places are free", async () => {
    const { at } = await world();
    const { model, seen, open: openAll } = gated(6);
    const host = at.host({ agent: agentOf(model) });
    for (let n = 0; n < 6; n++) await at.store.post(`thread_${n}`, { id: `req_${n}`, type: "ask", content: "Go." });
    host.work({ concurrency: 2 });
    await pass(at, 3 * LOOK_MS);
    expect(host.size).toBe(2);
    expect(seen).toMatchObject({ now: 2, all: 2 });
    openAll();
    await pass(at, 2 * LOOK_MS);
    expect(seen).toEqual({ now: 0, most: 2, all: 6 });
    await at.end(host.stop());
  });

  test("makes no more model calls at once, also for its own asks; a cancelled ask does not wait for a place", async () => {
    const { at } = await world();
    const { model, seen, open: openAll } = gated(30);
    const host = at.host({ agent: agentOf(model) });
    host.work({ concurrency: 4 });
    const asks = Array.from({ length: 30 }, (_, n) =>
      at.end(host.ask(`thread_${n}`, "Go.", { requestId: `req_${n}` })),
    );
    const requests = await Promise.all(asks);
    await at.settled();
    expect(seen).toMatchObject({ now: 4, all: 4 });
    await at.end(host.cancel("thread_29"));
    const cancelled = requests[29]?.result ?? expect.fail("it was asked");
    await expect(at.end(cancelled)).rejects.toMatchObject({
      code: "request_cancelled",
    });
    expect(seen.all).toBe(4);
    openAll();
    await at.end(Promise.all(requests.slice(0, 29).map(({ result }) => result)));
    expect(seen).toEqual({ now: 0, most: 4, all: 29 });
    await at.end(host.stop());
  });

  test("a stop begins no call that waits for a place, and the next host makes each of them once", async () => {
    const { at } = await world();
    const { model, seen, open: openAll } = gated(6);
    const host = at.host({ agent: agentOf(model) });
    host.work({ concurrency: 2 });
    for (let n = 0; n < 6; n++) {
      const { result } = await at.end(host.ask(`thread_${n}`, "Go.", { requestId: `req_${n}` }));
      result.catch(() => undefined); // four are suspended
    }
    await at.settled();
    const stopped = host.stop({ graceMs: 60_000 });
    await at.settled();
    openAll();
    await at.settled();
    await stopped;
    expect(seen).toEqual({ now: 0, most: 2, all: 2 });
    const { model: rest, seen: seenNext, open: openNext } = gated(6);
    openNext();
    const next = at.host({ agent: agentOf(rest) });
    next.work();
    await pass(at, 2 * LOOK_MS);
    expect(seenNext.all).toBe(4);
    const { threads } = await at.store.list();
    expect(threads.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => "completed"));
    await at.end(next.stop());
  });

  test("leaves threads of other agents, other tenants and living holders", async () => {
    const { at, database } = await world();
    const [mine, theirs] = [database.tenant("t"), database.tenant("other")];
    await mine.post("thread_a", { id: "req_a", type: "ask", content: "Hi." }, { agent: "someone" });
    await theirs.post("thread_b", { id: "req_b", type: "ask", content: "Hi." });
    await mine.post("thread_c", { id: "req_c", type: "ask", content: "Hi." });
    await mine.claim("thread_c", { holder: "alive", ttlMs: 3_600_000 });
    const host = at.host({ agent: agentOf(["Wrong."]) });
    host.work();
    await pass(at, 5 * LOOK_MS);
    for (const [store, id] of [
      [mine, "thread_a"],
      [theirs, "thread_b"],
      [mine, "thread_c"],
    ] as const)
      expect(await store.pending(id)).toHaveLength(1);
    expect(at.warnings).toEqual([]);
    await at.end(host.stop());
  });

  test("a thread that cannot be started is tried again after a minute, and holds nothing up", async () => {
    const { at, stateOf } = await world();
    await at.store.post("thread_bad", { id: "req_bad", type: "ask", content: "Hi." });
    await at.store.post("thread_good", { id: "req_good", type: "ask", content: "Hi." });
    const load: ThreadStore["load"] = (id, ...options) =>
      id === "thread_bad" ? Promise.reject(new Error("It is damaged.")) : at.store.load(id, ...options);
    const host = at.host({ agent: agentOf(["Fine."]), store: { ...at.store, load } });
    host.work({ concurrency: 1 });
    await pass(at, 5 * LOOK_MS);
    expect(await stateOf(host, "thread_good", "req_good")).toBe("Fine.");
    expect(at.warnings).toEqual([expect.stringContaining("Thread thread_bad could not be started: ")]);
    await pass(at, 60_000);
    expect(at.warnings).toHaveLength(2);
    await at.end(host.stop());
  });

  test("a process that dies while it gives a thread back leaves it to another one", async () => {
    const { at, stateOf } = await world();
    const { store, die } = mortal(at.store);
    await at.store.post("thread_1", { id: "req_1", type: "ask", content: "Hi." });
    const load = (): Promise<never> => Promise.reject(new Error("It is damaged."));
    let looks = 0;
    const pending: ThreadStore["pending"] = (...query) => {
      if (looks++ > 0) die(); // the first look is beside the load
      return store.pending(...query);
    };
    const first = at.host({ agent: agentOf([]), store: { ...store, load, pending }, holder: "one" });
    first.work();
    await at.settled();
    expect(at.warnings).toHaveLength(1);
    const second = at.host({ agent: agentOf(["Hello."]), holder: "two" });
    second.work();
    await pass(at, LEASE_MS - LOOK_MS);
    expect(await at.store.pending("thread_1")).toHaveLength(1);
    await pass(at, 2 * LOOK_MS);
    expect(await stateOf(second, "thread_1", "req_1")).toBe("Hello.");
    await at.end(second.stop());
  });

  test("two hosts that work share the threads, and each request is made once", async () => {
    const { at } = await world();
    const asks = Array.from({ length: 20 }, (_, n) => n);
    const hosts = ["one", "two"].map((holder) =>
      at.host({ agent: agentOf(asks.map(() => `From ${holder}.`)), holder }),
    );
    for (const host of hosts) host.work({ concurrency: 3 });
    for (const n of asks) await at.store.post(`thread_${n}`, { id: `req_${n}`, type: "ask", content: "Hi." });
    await pass(at, 15 * LOOK_MS);
    const by: string[] = [];
    for (const n of asks) {
      const thread = await at.store.load(`thread_${n}`);
      const messages = thread?.slice(0, thread.lastSeq).filter(({ kind }) => kind === "ai_message") ?? [];
      by.push(...messages.map(({ payload }) => JSON.stringify(payload)).filter((text) => text.includes("From")));
    }
    expect(by).toHaveLength(asks.length);
    for (const host of hosts) await at.end(host.stop());
  });

  test("a second work and a wrong limit are refused, and so is a store without runnable threads", async () => {
    const { at } = await world();
    const host = at.host({ agent: agentOf([]) });
    expect(() => host.work({ concurrency: 0 })).toThrow("concurrency must be a whole number from 1.");
    expect(() => host.work({ agents: ["nobody"] })).toThrow("agents must be names of agents of this host");
    host.work();
    expect(() => host.work()).toThrow("works already");
    await at.end(host.stop());
    expect(() => host.work()).toThrow("was stopped");
    const bare = at.host({ agent: agentOf([]), store: { ...at.store, runnable: undefined } });
    expect(() => bare.work()).toThrow(expect.objectContaining({ code: "store_unsupported" }));
  });
});

const SHARED = {
  SQLite: () => ({ url: `sqlite:${tempFile()}`, tenant: "default" }),
  Postgres: () => ({ url: inject("postgresUrl"), tenant: randomUUID() }),
};

test.each(Object.entries(SHARED))(
  "two processes that work on one %s database make each posted ask once, and finish what a third has left",
  async (_, database) => {
    const { url, tenant } = database();
    const stores = await Promise.all([1, 2, 3].map(() => openAt(url, { tenant })));
    const [one, two, third] = stores.map(mortal);
    if (one === undefined || two === undefined || third === undefined) return expect.fail("there are three stores");
    const at = await house(one.store, realTime());
    const lost = at.host({ agent: agentOf([{ hang: true }]), store: third.store, leaseTtlMs: 1_000 });
    await lost.ask("thread_lost", "Hi.", { requestId: "req_lost" });
    third.die();
    const asks = Array.from({ length: 20 }, (_none, n) => n);
    const hosts = [one, two].map(({ store }) =>
      at.host({ agent: agentOf(Array.from({ length: 21 }, () => "Done.")), store, leaseTtlMs: 1_000 }),
    );
    for (const host of hosts) host.work({ concurrency: 3 });
    for (const n of asks) await one.store.post(`thread_${n}`, { id: `req_${n}`, type: "ask", content: "Hi." });
    const isOver = async (id: string): Promise<boolean> =>
      (await one.store.load(id))?.metadata["status"] === "completed" || Promise.reject(new Error(`${id} is open`));
    for (const n of asks) await expect.poll(() => isOver(`thread_${n}`)).toBe(true);
    await expect.poll(() => isOver("thread_lost")).toBe(true);
    for (const n of asks) {
      const thread = await one.store.load(`thread_${n}`);
      const messages = thread?.slice(0, thread.lastSeq).filter(({ kind }) => kind === "ai_message") ?? [];
      expect(messages).toHaveLength(2); // the question and one answer
    }
    for (const host of hosts) await host.stop();
    for (const store of stores) await store.close();
  },
);
