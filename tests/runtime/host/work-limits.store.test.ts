import { randomUUID } from "node:crypto";
import type { AgentHost } from "heddle";
import { sqliteDatabase } from "heddle/sqlite";
import { memoryDatabase, type ThreadDatabase } from "heddle/store";
import { scriptedModel } from "heddle/testing";
import { describe, expect, inject, test } from "vitest";
import { openAt } from "../../support/open-at.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { clockwork } from "../support/clockwork.ts";
import { agentOf, type House, house, realTime } from "./support/hosts.ts";

const DATABASES: readonly [string, (at: { readonly clock: () => number }) => ThreadDatabase][] = [
  ["memory", (ports) => memoryDatabase({ clock: ports.clock })],
  ["SQLite", (ports) => sqliteDatabase(fastFile(), { clock: ports.clock })],
];
const MODEL = "scripted:scripted-model";

/** Model calls of several hosts: who made them, when, and how many there were at once. Each takes a while. */
function recorded(at: Pick<House, "ports">, ms: number) {
  const seen = { now: 0, most: 0, calls: [] as { readonly by: string; readonly at: number }[] };
  const script = (by: string, count: number) =>
    Array.from({ length: count }, () => async (): Promise<string> => {
      seen.calls.push({ by, at: at.ports.clock() });
      seen.most = Math.max(seen.most, ++seen.now);
      await new Promise<void>((resolve) => void at.ports.after(ms, resolve));
      seen.now--;
      return "Done.";
    });
  return { seen, script };
}

describe.each(DATABASES)("a host that works, on %s,", (_name, open) => {
  async function world() {
    const clock = clockwork();
    const database = open(clock.ports);
    return house(database.tenant("t"), clock);
  }

  async function pass({ pass: go, settled }: House, ms: number) {
    for (let left = ms; left > 0; left -= 100) {
      await go(100);
      await settled();
    }
  }

  const post = (at: House, id: string, priority?: number) =>
    at.store.post(id, { id: `req_${id}`, type: "ask", content: "Go." }, { priority });
  const completed = async (at: House) =>
    (await at.store.list({ status: "completed", order: "id" })).threads.map(({ id }) => id);

  test("begins no more model calls in a time than its rate", async () => {
    const at = await world();
    const { seen, script } = recorded(at, 10);
    const host = at.host({ agent: agentOf(script("one", 12)) });
    host.work({ rate: { calls: 3, perMs: 1_000 } });
    for (let n = 0; n < 12; n++) await at.end(host.ask(`thread_${n}`, "Go."));
    await pass(at, 5_000);
    expect(seen.calls).toHaveLength(12);
    const times = seen.calls.map((call) => call.at);
    for (const [n, time] of times.entries())
      if (n >= 3) expect(time - (times[n - 3] ?? 0)).toBeGreaterThanOrEqual(1_000);
    await at.end(host.stop());
  });

  test.each([MODEL, "scripted"])(
    "shares the calls of %s with the other hosts, and leaves them their part",
    async (name) => {
      const at = await world();
      const { seen, script } = recorded(at, 300);
      const hosts = ["one", "two"].map((by) => at.host({ agent: agentOf(script(by, 20)), holder: by }));
      for (const host of hosts) host.work({ modelCalls: { [name]: 4 } });
      const asks = hosts.flatMap((host, of) =>
        Array.from({ length: 20 }, (_, n) => at.end(host.ask(`thread_${of}_${n}`, "Go."))),
      );
      await Promise.all(asks);
      await pass(at, 8_000);
      expect([seen.calls.length, seen.most]).toEqual([40, 4]);
      const first = seen.calls.slice(8, 28).map(({ by }) => by); // while both have many
      for (const by of ["one", "two"]) expect(first.filter((one) => one === by).length).toBeGreaterThanOrEqual(6);
      for (const host of hosts) await at.end(host.stop());
    },
  );

  test("makes all calls also where there are fewer places than hosts, and others than the capped ones at once", async () => {
    const at = await world();
    const { seen, script } = recorded(at, 100);
    const free = recorded(at, 100);
    const hosts = ["one", "two", "three"].map((by) => at.host({ agent: agentOf(script(by, 4)), holder: by }));
    for (const host of hosts) host.work({ modelCalls: { [MODEL]: 1 } });
    const other = at.host({ agent: agentOf(free.script("free", 5)), holder: "free" });
    other.work({ modelCalls: { "anthropic:claude": 1 } });
    for (const [of, host] of hosts.entries())
      for (let n = 0; n < 4; n++) await at.end(host.ask(`thread_${of}_${n}`, "Go."));
    for (let n = 0; n < 5; n++) await at.end(other.ask(`free_${n}`, "Go."));
    await pass(at, 100);
    expect(free.seen.most).toBe(5);
    await pass(at, 20_000);
    expect([seen.calls.length, seen.most]).toEqual([12, 1]);
    for (const host of [...hosts, other]) await at.end(host.stop());
  });

  test("frees the calls of a host that has died when its lease has ended", async () => {
    const at = await world();
    const { seen, script } = recorded(at, 600_000);
    const dead = at.host({ agent: agentOf(script("dead", 2)), holder: "dead", leaseTtlMs: 5_000 });
    dead.work({ modelCalls: { [MODEL]: 2 } });
    for (let n = 0; n < 2; n++) await at.end(dead.ask(`thread_${n}`, "Go."));
    await pass(at, 500);
    expect(seen.now).toBe(2);
    const host = at.host({ agent: agentOf(["Done."]), holder: "next" });
    host.work({ modelCalls: { [MODEL]: 2 }, agents: ["agent"] });
    const request = await at.end(host.ask("thread_next", "Go."));
    await pass(at, 3_000);
    expect(request.state).toBe("running");
    await at.end(dead.stop({ graceMs: 0 }));
    await pass(at, 1_000);
    expect((await at.end(request.result)).text).toBe("Done.");
    await at.end(host.stop());
  });

  test("gives the place of a summary that waits for its retry to other calls", async () => {
    const at = await world();
    const small = scriptedModel([{ error: { status: 429 } }, "They counted."]);
    const contextPolicy = { keepLastTurns: 1, summarizationModel: "small" };
    const config = { models: { small }, contextPolicy, modelRetryBackoffMs: 20_000 };
    const host = at.host({ agent: agentOf(["1.", "2.", "3."], config) });
    host.work({ concurrency: 1 });
    for (const text of ["One?", "Two?"]) await at.end((await at.end(host.ask("one", text.repeat(200)))).result);
    const summary = host.summarize("one");
    await at.settled();
    expect(small.requests).toHaveLength(1);
    const before = at.ports.clock();
    expect((await at.end((await at.end(host.ask("two", "Three?"))).result)).text).toMatch(/\d/);
    expect(at.ports.clock() - before).toBeLessThan(10_000);
    await at.end(summary);
    expect(small.requests).toHaveLength(2);
    await at.end(host.stop());
  });

  test("takes the threads with the highest priority first", async () => {
    const at = await world();
    const order: string[] = [];
    const onRequestEnd = ({ threadId }: { readonly threadId: string }) => void order.push(threadId);
    await post(at, "low", -1);
    await post(at, "some");
    await post(at, "high", 9);
    await post(at, "mid", 5);
    const host = at.host({ agent: agentOf(["One.", "Two.", "Three.", "Four."], { onRequestEnd }) });
    host.work({ concurrency: 1 });
    await pass(at, 6_000);
    expect(order).toEqual(["high", "mid", "some", "low"]);
    await at.end(host.stop());
  });

  test("asks whether a thread may start: now, later, or at a time", async () => {
    const at = await world();
    const until = new Date(at.ports.clock() + 30_000);
    const asked: string[] = [];
    const answers: Record<string, (boolean | Date | Error)[]> = { a: [true], b: [false, true], c: [until, true] };
    answers["d"] = [new Error("The budget is away."), true];
    const host = at.host({ agent: agentOf(["One.", "Two.", "Three.", "Four."]) });
    for (const id of ["a", "b", "c", "d"]) await post(at, id);
    host.work({
      mayStart: async ({ tenant, threadId }) => {
        asked.push(`${tenant} ${threadId}`);
        const answer = answers[threadId]?.shift() ?? expect.fail("it was not asked that often");
        if (answer instanceof Error) throw answer;
        return answer;
      },
    });
    await pass(at, 2_000);
    expect([await completed(at), asked.toSorted()]).toEqual([["a"], ["t a", "t b", "t c", "t d"]]);
    expect(at.warnings).toEqual([
      expect.stringMatching(/^Thread d could not be started: mayStart failed.*: The budget is away\.$/),
    ]);
    await pass(at, 30_000);
    expect(await completed(at)).toEqual(["a", "c"]);
    await pass(at, 32_000);
    expect(await completed(at)).toEqual(["a", "b", "c", "d"]);
    await at.end(host.stop());
  });

  test("asks again before each further ask of a thread, and gives it back with the rest", async () => {
    const at = await world();
    let [asked, left] = [0, 3];
    const host = at.host({ agent: agentOf(["1.", "2.", "3.", "4.", "5."], { onRequestEnd: () => void left-- }) });
    for (let n = 1; n <= 5; n++) await at.store.post("a", { id: `ask_${n}`, type: "ask", content: `${n}?` });
    const waiting = async () => (await at.store.pending("a")).filter(({ type }) => type === "ask").map(({ id }) => id);
    host.work({ mayStart: () => ++asked > 0 && left > 0 });
    await pass(at, 10_000);
    expect([asked, await waiting(), host.size, await at.isFree("a")]).toEqual([4, ["ask_4", "ask_5"], 0, true]);
    left = 1;
    await pass(at, 62_000);
    expect([asked, await waiting()]).toEqual([6, ["ask_5"]]);
    left = 9;
    await pass(at, 62_000);
    expect([asked, await waiting()]).toEqual([7, []]);
    expect(at.warnings).toEqual([]);
    await at.end(host.stop());
  });

  test("asks before an ask that waits behind a request which is resumed", async () => {
    const at = await world();
    const dead = at.host({ agent: agentOf([{ hang: true }]), holder: "dead" });
    await at.end(dead.ask("a", "1?", { requestId: "one" }));
    await at.store.post("a", { id: "two", type: "ask", content: "2?" });
    await at.end(dead.stop({ graceMs: 0 }));
    const answers = [true, false];
    const host = at.host({ agent: agentOf(["1.", "2."]) });
    host.work({ mayStart: () => answers.shift() ?? true });
    await pass(at, 10_000);
    expect((await at.store.pending("a")).map(({ id }) => id)).toEqual(["two"]);
    await pass(at, 62_000);
    expect(await at.store.pending("a")).toEqual([]);
    await at.end(host.stop());
  });

  test.each([
    ["while its thread runs", 100],
    ["when its thread was given back", 5_000],
  ])("does not hold back an ask of a caller in this process, %s, nor what waits before it", async (_what, ms) => {
    const at = await world();
    const { seen, script } = recorded(at, 1_000);
    const host = at.host({ agent: agentOf(script("host", 3), { busy: "queue" }) });
    for (const id of ["one", "two"]) await at.store.post("a", { id, type: "ask", content: "Go." });
    const answers = [true];
    host.work({ mayStart: () => answers.shift() ?? false });
    await pass(at, ms);
    const asked = host.ask("a", "Mine.");
    await pass(at, 5_000);
    expect((await at.end((await at.end(asked)).result)).text).toBe("Done.");
    expect([seen.calls.length, await at.store.pending("a")]).toEqual([3, []]);
    await at.end(host.stop());
  });

  test("warns once when it fails before a further ask, and asks again after a minute", async () => {
    const at = await world();
    const answers = [() => true, () => 1 as never, () => true];
    const host = at.host({ agent: agentOf(["1.", "2."]) });
    for (const id of ["one", "two"]) await at.store.post("a", { id, type: "ask", content: "Go." });
    host.work({ mayStart: () => answers.shift()?.() ?? true });
    await pass(at, 10_000);
    expect(at.warnings).toEqual([expect.stringContaining("mayStart failed")]);
    expect((await at.store.pending("a")).map(({ id }) => id)).toEqual(["two"]);
    await pass(at, 62_000);
    expect(await at.store.pending("a")).toEqual([]);
    await at.end(host.stop());
  });

  test.each([
    ["is released after it", {}],
    ["has an ask for later", { at: 3_600_000 }],
  ])("takes a thread once when `onRequestEnd` was called for its request, and the thread %s", async (_what, more) => {
    const at = await world();
    const seen: string[] = [];
    const onRequestEnd = ({ requestId }: { readonly requestId: string }): void => void seen.push(`ended ${requestId}`);
    const host = at.host({ agent: agentOf(["One.", "Two."], { onRequestEnd }), idleMs: 500 });
    host.work({ mayStart: ({ threadId }) => seen.push(`taken ${threadId}`) > 0 });
    await post(at, "a");
    if ("at" in more) await at.store.post("a", { id: "later", type: "ask", content: "Go.", ...more });
    await pass(at, 10_000);
    expect(seen).toEqual(["taken a", "ended req_a"]);
    expect(await at.isFree("a")).toBe(true);
    await at.store.post("a", { id: "next", type: "ask", content: "Go." });
    await pass(at, 10_000);
    expect(seen).toEqual(["taken a", "ended req_a", "taken a", "ended next"]);
    await at.end(host.stop());
  });

  test.each<readonly [what: string, answer: () => unknown]>([
    ["a number", () => 1],
    ["nothing", () => undefined],
    ["a date that is none", () => new Date(Number.NaN)],
    ["no answer in time", () => new Promise(() => undefined)],
  ])("warns of a `mayStart` that returns %s, and asks again after a minute", async (_what, answer) => {
    const at = await world();
    const answers = [answer, () => true];
    const host = at.host({ agent: agentOf(["One."]) });
    await post(at, "a");
    host.work({ mayStart: (async () => answers.shift()?.()) as never }); // as from code without types
    await pass(at, 20_000);
    expect(await completed(at)).toEqual([]);
    expect(at.warnings).toEqual([expect.stringMatching(/mayStart failed.*It (must return|did not answer)/)]);
    await pass(at, 60_000);
    expect(await completed(at)).toEqual(["a"]);
    await at.end(host.stop());
  });

  test("leaves threads to a newer version while that one has free places", async () => {
    const at = await world();
    const { seen, script } = recorded(at, 5_000);
    const [old, fresh] = ["old", "new"].map((by) => at.host({ agent: agentOf(script(by, 4)), holder: by })) as [
      AgentHost,
      AgentHost,
    ];
    old.work({ version: 7, concurrency: 2 });
    fresh.work({ version: 8, concurrency: 2 });
    await pass(at, 2_000);
    for (const id of ["a", "b"]) await post(at, id);
    await pass(at, 2_000);
    expect(seen.calls.map(({ by }) => by)).toEqual(["new", "new"]);
    await post(at, "c");
    await pass(at, 2_500); // the newer one is full
    expect(seen.calls.map(({ by }) => by)).toEqual(["new", "new", "old"]);
    await at.end(fresh.stop());
    await post(at, "d");
    await pass(at, 2_000);
    expect(seen.calls.at(-1)?.by).toBe("old");
    await at.end(old.stop());
  });

  test("takes no more threads after its signal, and leaves them to an older version", async () => {
    const at = await world();
    const { seen, script } = recorded(at, 3_000);
    const [old, fresh] = ["old", "new"].map((by) => at.host({ agent: agentOf(script(by, 4)), holder: by })) as [
      AgentHost,
      AgentHost,
    ];
    const draining = new AbortController();
    old.work({ version: 7 });
    fresh.work({ version: 8, signal: draining.signal });
    await pass(at, 2_000);
    await post(at, "a");
    await pass(at, 2_000);
    draining.abort();
    await post(at, "b");
    await pass(at, 2_000);
    expect(seen.calls.map(({ by }) => by)).toEqual(["new", "old"]);
    await pass(at, 4_000);
    expect(await completed(at)).toEqual(["a", "b"]); // the one that ran continues
    for (const host of [old, fresh]) await at.end(host.stop());
  });

  test("refuses limits that are none", async () => {
    const at = await world();
    const host = at.host({ agent: agentOf([]) });
    expect(() => host.work({ rate: { calls: 0, perMs: 1 } })).toThrow("rate.calls must be a whole number from 1.");
    expect(() => host.work({ rate: {} as never })).toThrow("rate.calls must be a whole number from 1.");
    expect(() => host.work({ modelCalls: { openai: 0.5 } })).toThrow('modelCalls["openai"] must be');
    expect(() => host.work({ modelCalls: [5] as never })).toThrow("modelCalls must be an object of numbers");
    expect(() => host.work({ version: 0 })).toThrow("version must be a whole number from 1.");
    expect(() => host.work({ mayStart: true as never })).toThrow("mayStart must be a function.");
    const leases = at.store.leases && { ...at.store.leases, hasCounters: false };
    for (const options of [{ modelCalls: { openai: 5 } }, { version: 2 }]) {
      const bare = at.host({ agent: agentOf([]), store: { ...at.store, leases } });
      expect(() => bare.work(options)).toThrow(expect.objectContaining({ code: "store_unsupported" }));
    }
    await at.end(host.stop());
  });
});

test("hosts in several processes on Postgres share the calls of a model", async () => {
  const [url, tenant] = [inject("postgresUrl"), randomUUID()];
  const stores = await Promise.all([1, 2, 3].map(() => openAt(url, { tenant })));
  const at = await house(stores[0], realTime());
  const { seen, script } = recorded(at, 30);
  const hosts = stores.map((store, n) => at.host({ agent: agentOf(script(`${n}`, 15)), store, holder: `node_${n}` }));
  for (const host of hosts) host.work({ modelCalls: { [MODEL]: 5 }, agents: ["agent"] });
  const asks = hosts.flatMap((host, of) =>
    Array.from({ length: 15 }, async (_, n) => (await host.ask(`thread_${of}_${n}`, "Go.")).result),
  );
  await Promise.all(asks);
  expect(seen.calls).toHaveLength(45);
  expect(seen.most).toBeLessThanOrEqual(5);
  for (const host of hosts) await host.stop();
  for (const store of stores) await store.close();
});
