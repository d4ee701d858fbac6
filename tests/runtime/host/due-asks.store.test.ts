import { type AgentHost, type AnyAgent, defineAgent, memoryStore, sleep, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { openStore } from "../../stores/postgres/open.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { clockwork } from "../support/clockwork.ts";
import { agentOf, anything, type House, house, PAY, realTime } from "./support/hosts.ts";

const HOUR = 3_600_000;
const T = "thread_1";
const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
const idle = { idleMs: 1_000 };

const completed = async ({ store }: House) =>
  (await store.list({ status: "completed" })).threads.map(({ id }) => id).toSorted();
const asksIn = async ({ store }: House, threadId = T) =>
  ((await store.load(threadId))?.toArray() ?? []).flatMap(({ payload }) =>
    "role" in payload && payload["role"] === "user" ? [payload["content"]] : [],
  );

const STORES: readonly [string, (at: { readonly clock: () => number }) => ThreadStore | undefined][] = [
  ["in memory", () => undefined],
  ["on SQLite", ({ clock }) => sqliteStore(fastFile(), { clock })],
];

function houseOn(open: (typeof STORES)[number][1]): Promise<House> {
  const time = clockwork();
  return house(open(time.ports), time);
}

describe.each(STORES)("a host with asks that have a time, %s", (_, open) => {
  test("releases the thread, and starts it at the time", async () => {
    const at = await houseOn(open);
    const host = at.host({ agent: agentOf(["One.", "Two."]), ...idle });
    const request = await at.end(host.ask(T, "One?", { at: HOUR }));
    await at.end(host.ask(T, "Two?", { at: 2 * HOUR }));
    await at.pass(2_000);
    expect([host.size, request.state]).toEqual([0, "done"]);
    await expect(request.result).rejects.toMatchObject({ code: "request_suspended" });
    expect((await host.pending(T)).map(({ id, type }) => [id === request.id, type])).toEqual([
      [true, "ask"],
      [false, "ask"],
    ]);
    expect((await host.waiting()).calls).toEqual([]); // only calls of tools
    await at.pass(HOUR);
    expect([await asksIn(at), await completed(at), host.size]).toEqual([["One?"], [T], 0]);
    expect((await at.store.waiting()).calls).toMatchObject([{ kind: "ask", deadline: 2 * HOUR + 1_000 }]);
    await at.pass(HOUR);
    expect([await asksIn(at), host.size]).toEqual([["One?", "Two?"], 0]);
    expect((await at.store.waiting()).calls).toEqual([]);
    await at.end(host.stop());
  });

  test("keeps the thread live for a caller that awaits the result", async () => {
    const at = await houseOn(open);
    const host = at.host({ agent: agentOf(["Later."]), ...idle });
    const request = await at.end(host.ask(T, "Later?", { at: HOUR }));
    const result = request.result;
    await at.pass(HOUR / 2);
    expect(host.size).toBe(1);
    await at.pass(HOUR / 2);
    expect((await at.end(result)).text).toBe("Later.");
    await at.end(host.stop());
  });

  test("starts those of a host that has stopped, also on a new thread of one of several agents", async () => {
    const at = await houseOn(open);
    const agents = (script: readonly string[]) => ({ sales: agentOf(script), support: agentOf([]) });
    const first = at.host({ agents: agents([]), ...idle });
    for (const [threadId, time] of [
      ["thread_past", HOUR],
      ["thread_later", 2 * HOUR],
    ] as const)
      await at.end(first.ask(threadId, "Later?", { at: time, agent: "sales" }));
    await at.end(first.stop());
    await at.pass(HOUR + 1_000);
    const second = at.host({ agents: agents(["One.", "Two."]), ...idle });
    second.work();
    await at.pass(2_000);
    expect([await completed(at), second.size]).toEqual([["thread_past"], 0]);
    await at.pass(HOUR);
    expect(await completed(at)).toEqual(["thread_later", "thread_past"]);
    await at.end(second.stop());
  });

  test("follows a change of the time by a host that has not the thread live", async () => {
    const at = await houseOn(open);
    const first = at.host({ agent: agentOf([]), ...idle });
    await at.end(first.ask(T, "Sooner?", { at: 3 * HOUR, requestId: "sooner" }));
    await at.end(first.ask(T, "Never?", { at: 3 * HOUR, requestId: "never" }));
    await at.end(first.stop());
    const second = at.host({ agent: agentOf([]), ...idle });
    await at.end(second.amend(T, "sooner", { at: HOUR }));
    await at.end(second.withdraw(T, "never"));
    await at.end(second.stop());
    const third = at.host({ agent: agentOf(["Sooner."]), ...idle });
    third.work();
    await at.pass(HOUR);
    expect([await asksIn(at), await completed(at)]).toEqual([["Sooner?"], [T]]);
    await at.pass(3 * HOUR);
    expect([await asksIn(at), third.size]).toEqual([["Sooner?"], 0]);
    await at.end(third.stop());
  });

  test("forgets a time that another program has taken back", async () => {
    const at = await houseOn(open);
    const first = at.host({ agent: agentOf([]), ...idle });
    await at.end(first.ask(T, "Never?", { at: HOUR, requestId: "never" }));
    await at.end(first.stop());
    await at.store.withdraw(T, "never");
    await at.pass(2 * HOUR);
    expect((await at.store.waiting()).calls).toHaveLength(1);
    const second = at.host({ agent: agentOf([]), ...idle });
    second.work();
    await at.pass(2_000);
    expect((await at.store.waiting()).calls).toEqual([]);
    await at.end(second.stop());
  });
});

describe.each(STORES)("host.advance, %s", (_, open) => {
  const soon = { calls: [{ id: "call_s", name: "rest" }] };

  /** A host whose threads nothing else starts. */
  async function byHand(script: Parameters<typeof scriptedModel>[0], config: object = {}) {
    const at = await houseOn(open);
    const woken: (readonly [string, number])[] = [];
    const scheduler = { wake: (threadId: string, time: number) => void woken.push([threadId, time]) };
    const make = (more: typeof script) => {
      const model = scriptedModel(more, { after: at.ports.after });
      return at.host({ agent: defineAgent({ ...config, model }) as AnyAgent, ...idle, scheduler });
    };
    return { at, woken, host: make(script), make };
  }

  test("starts what is due, and says when the next is", async () => {
    const { at, woken, host } = await byHand(["One.", "Two."]);
    expect(await at.end(host.advance(T))).toEqual({ state: "idle" });
    const now = at.ports.clock();
    await at.end(host.ask(T, "One?", { at: HOUR }));
    await at.end(host.ask(T, "Two?", { at: 2 * HOUR }));
    expect(woken.at(0)).toEqual([T, now + HOUR]);
    expect(await at.end(host.advance(T))).toEqual({ state: "waiting", until: now + HOUR });
    await at.pass(5_000);
    expect(host.size).toBe(0);
    await at.pass(2 * HOUR);
    expect([await asksIn(at), host.size]).toEqual([[], 0]); // the scheduler has the times
    expect(await at.end(host.advance(T))).toEqual({ state: "idle" });
    expect(await asksIn(at)).toEqual(["One?", "Two?"]);
    await at.end(host.stop());
  });

  test("takes what another process has posted, also without a notice", async () => {
    const time = clockwork();
    const store = open(time.ports) ?? memoryStore({ clock: time.ports.clock });
    const deaf: ThreadStore = Object.create(store, {
      onPosted: { value: () => () => undefined },
      watch: { value: () => (async function* () {})() },
    });
    const at = await house(deaf, time);
    const host = at.host({ agent: agentOf(["One.", "Two."]), ...idle });
    await at.end((await at.end(host.ask(T, "One?"))).result);
    expect(host.size).toBe(1);
    await store.post(T, { id: "req_2", type: "ask", content: "Two?" });
    expect(await at.end(host.advance(T))).toEqual({ state: "idle" });
    expect(await asksIn(at)).toEqual(["One?", "Two?"]);
    expect(await completed(at)).toEqual([T]);
    await at.end(host.stop());
  });

  test("returns more when its time is over, and the request runs on", async () => {
    const { at, host } = await byHand([{ text: "Long.", delayMs: 60_000 }]);
    await at.end(host.ask(T, "Long?", { at: 10_000 }));
    await at.pass(20_000);
    const state = host.advance(T, { untilMs: at.ports.clock() + 1_000 });
    await at.pass(1_000);
    expect(await at.end(state)).toEqual({ state: "more" });
    await at.pass(60_000);
    expect([await completed(at), await at.end(host.advance(T))]).toEqual([[T], { state: "idle" }]);
    await at.end(host.stop());
  });

  test("waits for no person, and for a deadline of an approval, a sleep, or the ask", async () => {
    const rest = { inputSchema: anything, execute: () => sleep(HOUR) };
    const { at, host, woken } = await byHand([PAY, soon, PAY, "Rested."], { tools: { pay, rest } });
    const now = at.ports.clock();
    await at.end((await at.end(host.ask("thread_pay", "Pay."))).settled());
    expect(await at.end(host.advance("thread_pay"))).toEqual({ state: "idle" });
    await at.end((await at.end(host.ask("thread_rest", "Rest."))).settled());
    const until = at.ports.clock() + HOUR;
    expect(await at.end(host.advance("thread_rest"))).toEqual({ state: "waiting", until });
    await at.end((await at.end(host.ask("thread_late", "Pay.", { deadline: 2 * HOUR }))).settled());
    expect(await at.end(host.advance("thread_late"))).toMatchObject({ state: "waiting" });
    expect(new Set(woken.map(([threadId, time]) => `${threadId} ${time}`))).toEqual(
      new Set([
        ...["thread_pay", "thread_rest", "thread_late"].map((threadId) => `${threadId} ${now}`), // this process might have died in the request
        `thread_rest ${until}`,
        `thread_late ${now + 2 * HOUR}`,
      ]),
    );
    await at.pass(HOUR + 5_000);
    expect(await at.end(host.advance("thread_rest"))).toEqual({ state: "idle" });
    expect(await completed(at)).toEqual(["thread_rest"]);
    await at.end(host.stop());
  });

  test("is refused while another process holds the thread, and with options that are not its own", async () => {
    const { at, host, make } = await byHand([{ hang: true }]);
    await at.end(host.ask(T, "Go."));
    const other = make([]);
    await expect(at.end(other.advance(T))).rejects.toMatchObject({ code: "thread_held" });
    for (const options of [{ untilMs: -1 }, { until: 5 }])
      await expect(host.advance(T, options as never)).rejects.toMatchObject({ code: "invalid_options" });
    expect(() => at.host({ agent: agentOf([]), scheduler: {} as never })).toThrow(
      expect.objectContaining({ code: "invalid_options" }),
    );
    for (const one of [host, other]) await at.end(one.stop({ graceMs: 0 }));
  });

  test("errors of a scheduler are warnings", async () => {
    const { at } = await byHand([]);
    const wake = (): void => {
      throw new Error("out of order");
    };
    const host = at.host({ agent: agentOf(["Later."]), ...idle, scheduler: { wake } });
    await at.end(host.ask(T, "Later?", { at: HOUR }));
    await at.settled();
    expect(new Set(at.warnings)).toEqual(new Set([expect.stringContaining("out of order")]));
    await at.end(host.stop());
  });
});

test("an engine has the clock of its machine, also where the clock of the store is hours ahead", async () => {
  const time = clockwork();
  const at = await house(memoryStore({ clock: () => time.ports.clock() + 3 * HOUR }), time);
  const woken: number[] = [];
  const scheduler = { wake: (_threadId: string, due: number) => void woken.push(due) };
  const host = at.host({ agent: agentOf(["One."]), ...idle, scheduler });
  await at.end(host.ask(T, "One?", { at: HOUR }));
  const due = at.ports.clock() + HOUR;
  const near = (ms: number | undefined): number => Math.abs((ms ?? 0) - due);
  expect(near(woken.at(-1))).toBeLessThan(2_000);
  const advanced = await at.end(host.advance(T));
  expect(near(advanced.state === "waiting" ? advanced.until : undefined)).toBeLessThan(2_000);
  await at.pass(HOUR);
  expect(await at.end(host.advance(T))).toEqual({ state: "idle" });
  expect(await completed(at)).toEqual([T]);
  await at.end(host.stop());
});

test("asks at a time on Postgres are listed, and start in another host", async () => {
  const at = await house(await openStore(), realTime());
  const first: AgentHost = at.host({ agent: agentOf([]) });
  await first.ask(T, "Later?", { at: 3_000 });
  await first.stop();
  expect((await at.store.waiting()).calls).toMatchObject([{ threadId: T, kind: "ask" }]);
  const second = at.host({ agent: agentOf(["Later."]) });
  second.work();
  await expect.poll(() => completed(at), { timeout: 15_000 }).toEqual([T]);
  expect((await at.store.waiting()).calls).toEqual([]);
  await second.stop();
});
