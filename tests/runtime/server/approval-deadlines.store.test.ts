import type { AgentServer, ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { agentOf, house } from "../host/support/hosts.ts";
import { spied } from "../support/spied-store.ts";
import { anything, eventsOf, proveAll, type Stage, stage } from "../support/stage.ts";

const LIMIT = 60_000;
const CALL = { calls: [{ id: "call_p", name: "pay" }] };

function paying(approval?: object) {
  const paid: string[] = [];
  const pay = {
    inputSchema: anything,
    needsApproval: true,
    execute: () => `paid ${paid.push("once")}`,
    ...(approval && { approval: approval as never }),
  };
  return { paid, tools: { pay } };
}

const STORES: readonly [string, () => ThreadStore | undefined][] = [
  ["in memory", () => undefined],
  ["on SQLite", () => sqliteStore(fastFile())],
];

async function asked(on: Stage, server: AgentServer) {
  const request = await on.end(server.ask("Pay."));
  await on.settled();
  return request;
}

const kinds = async (on: Stage) => (await on.log()).map(({ kind }) => kind);

describe.each(STORES)("an approval with a deadline, %s", (_, open) => {
  const onStage = (options: Parameters<typeof stage>[0] = {}) => {
    const store = open();
    return stage({ ...options, ...(store && { store }) });
  };

  test("is denied when the time is over, and the model reads why", async () => {
    const on = await onStage();
    const { paid, tools } = paying({ timeoutMs: LIMIT });
    const server = await on.start({ script: [CALL, "Not paid."], tools });
    const request = await asked(on, server);
    const [{ deadline } = {}] = await server.waiting();
    expect(deadline).toBe(on.ports.clock() + LIMIT);
    const [told] = (await eventsOf(request, { until: "waiting" })).filter(({ kind }) => kind === "approval_requested");
    expect(told?.data).toEqual({ arguments: {}, deadline });
    await on.pass(LIMIT - 1);
    expect(request.state).toBe("waiting");
    await on.pass(2);
    expect((await on.end(request.result)).text).toBe("Not paid.");
    expect(paid).toEqual([]);
    const decided = (await on.log()).find(({ kind }) => kind === "approval_resolved");
    expect(decided?.payload).toMatchObject({ approved: false, expired: true });
    expect(JSON.stringify(await on.log())).toContain("did not run: it was not approved in time.");
    const resolved = (await eventsOf(request)).find(({ kind }) => kind === "approval_resolved");
    expect(resolved?.data).toEqual({ approved: false, expired: true });
    await proveAll(on.store, on.threadId);
  });

  test("fails the request where the agent says so, and a tool says otherwise for itself", async () => {
    const on = await onStage();
    const { tools } = paying();
    const server = await on.start({ script: [CALL], tools, approval: { timeoutMs: LIMIT, onTimeout: "fail" } });
    const request = await asked(on, server);
    await on.pass(LIMIT + 1);
    await expect(on.end(request.result)).rejects.toMatchObject({ failure: { code: "approval_timeout" } });
    await proveAll(on.store, on.threadId);
  });

  test("counts while no process has the thread: the next one applies it, as it was asked for", async () => {
    const on = await onStage();
    const { paid, tools } = paying({ timeoutMs: LIMIT });
    const first = await on.start({ script: [CALL], tools });
    await asked(on, first);
    await on.end(first.stop());
    await on.pass(LIMIT / 2);
    // Another limit of a newer program changes nothing for a call that waits.
    const longer = paying({ timeoutMs: 9 * LIMIT, onTimeout: "fail" });
    const second = await on.start({ script: [], tools: longer.tools });
    expect((await second.waiting()).map(({ toolCallId }) => toolCallId)).toEqual(["call_p"]);
    await on.end(second.stop());
    await on.pass(LIMIT / 2 + 1);
    const third = await on.start({ script: [{ text: "Not paid.", delayMs: 5 }], tools });
    const request = third.request ?? expect.fail("nothing was resumed");
    await expect(on.end(third.approve("call_p"))).rejects.toMatchObject({ code: "not_waiting" });
    expect((await on.end(request.result)).text).toBe("Not paid.");
    expect(paid).toEqual([]);
    expect((await kinds(on)).filter((kind) => kind === "approval_resolved")).toHaveLength(1);
    await proveAll(on.store, on.threadId);
  });

  test("that is decided in time never fires; one that comes too late is refused", async () => {
    const on = await onStage();
    const { paid, tools } = paying({ timeoutMs: LIMIT });
    const server = await on.start({ script: [CALL, "Paid.", CALL, "Not paid."], tools });
    const first = await asked(on, server);
    await on.pass(LIMIT - 1);
    await on.end(server.approve("call_p"));
    expect((await on.end(first.result)).text).toBe("Paid.");
    await on.pass(2 * LIMIT);
    const second = await asked(on, server);
    expect(second.state).toBe("waiting");
    await on.pass(LIMIT + 1);
    await expect(on.end(server.approve("call_p"))).rejects.toMatchObject({ code: "not_waiting" });
    expect((await on.end(second.result)).text).toBe("Not paid.");
    expect(paid).toHaveLength(1);
  });

  test("holds for each call, and a tool that runs meanwhile is not stopped", async () => {
    const on = await onStage();
    const { tools } = paying({ timeoutMs: LIMIT });
    const slow = {
      inputSchema: anything,
      timeoutMs: 9 * LIMIT,
      execute: () => new Promise((resolve) => on.ports.after(2 * LIMIT, () => resolve("at last"))),
    };
    const late = { ...tools.pay, approval: { timeoutMs: 3 * LIMIT } };
    const calls = ["pay", "slow", "late"].map((name) => ({ id: name, name }));
    const server = await on.start({ script: [{ calls }, "Done."], tools: { ...tools, slow, late } });
    const request = await asked(on, server);
    const waiting = async () => (await server.waiting()).map(({ toolCallId }) => toolCallId);
    await on.pass(LIMIT + 1);
    expect(await waiting()).toEqual(["late"]);
    await on.pass(LIMIT);
    expect(JSON.stringify(await on.log())).toContain("at last");
    await on.pass(LIMIT);
    expect((await on.end(request.result)).text).toBe("Done.");
  });

  test("is the next due time of the thread, until it is decided", async () => {
    const next: unknown[] = [];
    const around = (store: ThreadStore): ThreadStore => {
      const append: ThreadStore["append"] = (id, entries, options) => {
        if (options?.next !== undefined) next.push(options.next);
        return store.append(id, entries, options);
      };
      return new Proxy(store, { get: (target, key) => (key === "append" ? append : bound(target, key)) });
    };
    const on = await onStage({ around });
    const { tools } = paying({ timeoutMs: LIMIT });
    const server = await on.start({ script: [CALL, "Paid."], tools, name: "payer" });
    const request = await asked(on, server);
    const now = { agent: "payer", dueInMs: 0 };
    expect(next).toEqual([now, { agent: "payer", dueInMs: LIMIT }]);
    await on.end(server.approve("call_p"));
    await on.end(request.result);
    expect(next).toEqual([now, { agent: "payer", dueInMs: LIMIT }, now, null]);
  });

  test("survives a store that is away when the time is over", async () => {
    const spy: { store?: ReturnType<typeof spied> } = {};
    const on = await onStage({
      around: (store) => {
        spy.store = spied(store);
        return spy.store.store;
      },
    });
    const { tools } = paying({ timeoutMs: LIMIT });
    const server = await on.start({ script: [CALL, "Not paid."], tools });
    const request = await asked(on, server);
    let failures = 0;
    const { StoreError } = await import("heddle");
    if (spy.store !== undefined)
      spy.store.trouble = () => {
        const isAway = failures++ < 12;
        return isAway
          ? { error: () => new StoreError({ code: "store_failed", message: "away", retryable: true }) }
          : undefined;
      };
    await on.pass(LIMIT + 300_000);
    await on.end(request.settled());
    const log = JSON.stringify(await on.log());
    expect(log.split('"expired":true')).toHaveLength(2);
    expect(log).toContain("Not paid.");
  });
});

function bound(target: object, key: PropertyKey): unknown {
  const value: unknown = Reflect.get(target, key);
  return typeof value === "function" ? value.bind(target) : value;
}

test("a decision of another process that comes too late is refused, and the thread is left to its holder", async () => {
  const { host: make, end, pass, store } = await house();
  const { tools } = paying({ timeoutMs: LIMIT });
  const holder = make({ agent: agentOf([CALL, "Not paid."], { tools }) });
  const request = await end(holder.ask("thread_1", "Pay."));
  for await (const _event of request.events({ until: "waiting" }));
  const result = request.result; // a thread that is watched is not released
  const other = make({ agent: agentOf([], { tools }) });
  await pass(LIMIT + 1);
  await expect(end(other.approve("thread_1", "call_p"))).rejects.toMatchObject({ code: "not_waiting" });
  expect((await end(result)).text).toBe("Not paid.");
  expect((await store.load("thread_1"))?.filterByKind("approval_resolved")).toHaveLength(1);
  for (const host of [holder, other]) await end(host.stop());
});

test("a decision of another process is refused by its clock, when the holder has not acted yet", async () => {
  const { host: make, end, ports } = await house();
  const limitMs = 900; // clocks that differ by more are corrected
  const { tools } = paying({ timeoutMs: limitMs });
  const holder = make({ agent: agentOf([CALL, "Paid."], { tools }) });
  const request = await end(holder.ask("thread_1", "Pay."));
  for await (const _event of request.events({ until: "waiting" }));
  const ahead = { ...ports, clock: () => ports.clock() + limitMs };
  const other = make({ agent: agentOf([], { tools }), ports: ahead });
  await expect(end(other.approve("thread_1", "call_p"))).rejects.toMatchObject({ code: "not_waiting" });
  await end(holder.approve("thread_1", "call_p"));
  expect((await end(request.result)).text).toBe("Paid.");
  for (const host of [holder, other]) await end(host.stop());
});

test.each([-5, -1, 1, 5])(
  "a process whose clock is off by %s hours decides by the clock of the store",
  async (hours) => {
    const { host: make, end, pass, ports, store } = await house();
    const { tools } = paying({ timeoutMs: LIMIT });
    const off = { ...ports, clock: () => ports.clock() + hours * 3_600_000 };
    const first = make({ agent: agentOf([CALL, "Not paid."], { tools }), ports: off });
    const request = await end(first.ask("thread_1", "Pay."));
    for await (const _event of request.events({ until: "waiting" }));
    await end(first.stop());
    const second = make({ agent: agentOf(["Not paid."], { tools }) });
    await end(second.get("thread_1"));
    await pass(LIMIT - 1);
    expect(await second.waiting("thread_1")).toHaveLength(1);
    await pass(2_000);
    expect(await store.list({ status: "completed" })).toMatchObject({ threads: [{ id: "thread_1" }] });
    await end(second.stop());
  },
);

test("an ask at a time comes at that time, although the clock of its process is off", async () => {
  const { host: make, end, pass, ports, store } = await house();
  const off = { ...ports, clock: () => ports.clock() - 3 * 3_600_000 };
  const first = make({ agent: agentOf([]), ports: off });
  await end(first.ask("thread_1", "Later?", { at: 60_000 }));
  await end(first.stop());
  const second = make({ agent: agentOf(["Later."]) });
  second.work();
  await pass(59_000);
  expect(await store.load("thread_1")).toBe(undefined);
  await pass(5_000);
  expect(await store.list({ status: "completed" })).toMatchObject({ threads: [{ id: "thread_1" }] });
  await end(second.stop());
});

test("a timer that fires too early is set again", async () => {
  const on = await stage();
  const { tools } = paying({ timeoutMs: LIMIT });
  const after: typeof on.ports.after = (ms, run) => on.ports.after(Math.min(ms, LIMIT / 4), run);
  const server = await on.start({ script: [CALL, "Not paid."], tools }, { ports: { ...on.ports, after } });
  const request = await asked(on, server);
  await on.pass(LIMIT - 1);
  expect(request.state).toBe("waiting");
  await on.pass(2);
  expect((await on.end(request.result)).text).toBe("Not paid.");
});

test("a limit that is none is refused when the agent is defined", () => {
  for (const approval of [
    true,
    5,
    {},
    { timeoutMs: 0 },
    { timeoutMs: 1.5 },
    { timeoutMs: 1, onTimeout: "allow" },
    { timeout: 1 },
  ]) {
    expect(() => agentOf([], { approval })).toThrowError(expect.objectContaining({ code: "invalid_agent" }));
    const pay = { inputSchema: anything, approval };
    expect(() => agentOf([], { tools: { pay } })).toThrowError(expect.objectContaining({ code: "invalid_tool" }));
  }
});
