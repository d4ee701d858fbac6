import { AgentHost, memoryStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { agentOf } from "../host/support/hosts.ts";
import { anything, eventsOf, expectWhole, failureOf, gate, proveAll, stage, told } from "../support/stage.ts";

const NODE = { holder: "node" };
const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
const CALL = { calls: [{ id: "call_1", name: "pay" }] };

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("a deadline on %s", (_name, open) => {
  test("ends a request during a model call, as failed and once", async () => {
    const on = await stage({ store: open() });
    const server = await on.start({ script: [{ hang: true }, "Ok."] });
    const request = await on.end(server.ask("Go.", { deadline: 5_000 }));
    const deadline = on.ports.clock() + 5_000;
    expect((await on.log())[0]?.payload).toMatchObject({ options: { deadline } });
    await on.pass(4_999);
    expect(request.state).toBe("running");
    await on.pass(1);
    expect((await failureOf(on.end(request.result))).failure?.code).toBe("deadline_exceeded");
    expectWhole(await eventsOf(request));
    expect((await on.log()).at(-1)?.payload).toMatchObject({ code: "deadline_exceeded", end: { status: "failed" } });
    expect((await on.end((await on.end(server.ask("Again."))).result)).text).toBe("Ok.");
    await proveAll(on.store, on.threadId);
  });

  test("ends a request that waits for an approval, whose call did not run", async () => {
    const on = await stage({ store: open() });
    const server = await on.start({ script: [CALL], tools: { pay } });
    const request = await on.end(server.ask("Pay.", { deadline: new Date(on.ports.clock() + 60_000) }));
    await on.pass(59_000);
    expect(request.state).toBe("waiting");
    await on.pass(1_000);
    expect((await failureOf(on.end(request.result))).failure?.code).toBe("deadline_exceeded");
    expect((await failureOf(on.end(server.approve("call_1")))).code).toBe("not_waiting");
    expect(told(await on.log()).filter((line) => line.includes("end:"))).toHaveLength(1);
    await proveAll(on.store, on.threadId);
  });

  test("holds in the process that takes the request over, counted from the ask", async () => {
    const on = await stage({ store: open() });
    const first = await on.start({ script: [CALL], tools: { pay } }, NODE);
    await on.end(first.ask("Pay.", { deadline: 10_000 }));
    await on.pass(4_000);
    await on.end(first.stop());
    await on.pass(2_000);
    const second = await on.start({ script: [], tools: { pay } }, NODE);
    await on.pass(3_999);
    const { request } = second;
    expect(request?.state).toBe("waiting");
    await on.pass(1);
    expect((await failureOf(on.end<unknown>(request?.result ?? Promise.resolve()))).failure?.code).toBe(
      "deadline_exceeded",
    );
  });

  test("that came while no process held the thread ends the request when one takes it up, and nothing runs", async () => {
    const on = await stage({ store: open() });
    let paid = 0;
    const tools = { pay: { ...pay, execute: () => `paid ${++paid}` } };
    const first = await on.start({ script: [CALL], tools }, NODE);
    const { id } = await on.end(first.ask("Pay.", { deadline: 10_000 }));
    await on.settled();
    await on.end(first.stop());
    await on.pass(10_000);
    const agent = agentOf(["Never."], { tools });
    const host = AgentHost.create({ agent, store: on.store, ports: on.ports, warn: () => undefined });
    await on.end(host.approve(on.threadId, "call_1")).catch(() => undefined);
    const server = await on.end(host.get(on.threadId));
    expect((await failureOf(on.end(server.result(id)))).failure?.code).toBe("deadline_exceeded");
    expect(paid).toBe(0);
    expect((await on.log()).filter(({ payload }) => "end" in payload)).toHaveLength(1);
    await on.end(host.stop());
  });

  test("is not that of a request that continues it, whose mode stays", async () => {
    const on = await stage({ store: open() });
    const modes = { plan: { systemPrompt: "Plan." } };
    const script = [{ hang: true }, { expect: { system: "Plan." }, text: "Done.", delayMs: 10 }];
    const server = await on.start({ script, modes });
    const request = await on.end(server.ask("Go.", { deadline: 5_000, mode: "plan" }));
    await on.pass(5_000);
    expect((await failureOf(on.end(request.result))).failure?.code).toBe("deadline_exceeded");
    const next = await on.end(server.continueRequest(request.id));
    expect((await on.end(next.result)).text).toBe("Done.");
  });

  test("that came after a kill in a model call ends the request without another call", async () => {
    const on = await stage({ store: open() });
    const first = await on.start({ script: [{ hang: true }] }, NODE);
    const { id } = await on.end(first.ask("Go.", { deadline: 10_000 }));
    await on.end(first.stop({ graceMs: 0 }));
    await on.pass(20_000);
    const second = await on.start({ script: [] }, NODE);
    expect((await failureOf(on.end(second.result(id)))).failure?.code).toBe("deadline_exceeded");
  });
});

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("the deadline of an ask that waits for its turn, on %s", (_name, open) => {
  const queue = { tools: { pay }, busy: "queue" } as const;

  test("refuses the ask when it comes, in any place of the queue, and the others stay", async () => {
    const on = await stage({ store: open() });
    const server = await on.start({ script: [CALL, "Paid.", "Two.", "Four."], ...queue });
    const first = await on.end(server.ask("1?"));
    const second = server.ask("2?", { requestId: "r2" });
    const third = failureOf(server.ask("3?", { deadline: 1_000, requestId: "r3" }));
    const again = failureOf(server.ask("3?", { deadline: 5_000, requestId: "r3" }));
    const fourth = server.ask("4?", { deadline: 60_000 });
    await on.pass(999);
    expect((await on.end(server.pending())).length).toBe(3);
    await on.pass(1);
    expect([(await on.end(third)).code, (await on.end(again)).code]).toEqual([
      "deadline_exceeded",
      "deadline_exceeded",
    ]);
    expect(await on.store.outcome(on.threadId, "r3")).toMatchObject({ status: "refused", code: "deadline_exceeded" });
    expect(first.state).toBe("waiting");
    await on.end(server.approve("call_1"));
    await on.end(first.result);
    expect((await on.end((await on.end(second)).result)).text).toBe("Two.");
    expect((await on.end((await on.end(fourth)).result)).text).toBe("Four.");
    expect(told(await on.log()).filter((line) => line.startsWith("ask"))).toEqual(["ask 1?", "ask 2?", "ask 4?"]);
  });

  test.each(["holds the thread", "takes the thread after it"])("holds in the next process, which %s", async (when) => {
    const on = await stage({ store: open() });
    const before = await on.start({ script: [CALL], ...queue }, NODE);
    await on.end(before.ask("1?"));
    const left = failureOf(before.ask("2?", { deadline: 10_000, requestId: "r2" }));
    await on.settled();
    await on.end(before.stop());
    expect((await on.end(left)).code).toBe("request_suspended");
    await on.pass(when === "holds the thread" ? 4_000 : 20_000);
    const server = await on.start({ script: [], ...queue }, NODE);
    await on.pass(6_000);
    expect(await on.store.outcome(on.threadId, "r2")).toMatchObject({ status: "refused", code: "deadline_exceeded" });
    expect(on.warnings.filter((line) => line.includes("r2"))).toHaveLength(1);
    expect([server.request?.state, (await on.end(server.pending())).length]).toEqual(["waiting", 0]);
  });
});

test("an ask whose deadline comes while it waits for its turn is refused, and is not written", async () => {
  const on = await stage();
  const hold = gate();
  const wait = { inputSchema: anything, execute: () => hold.promise };
  const server = await on.start({ script: [{ calls: [{ name: "wait" }] }, "One."], tools: { wait }, busy: "queue" });
  const first = await on.end(server.ask("1?"));
  const second = failureOf(server.ask("2?", { deadline: 1_000 }));
  await on.pass(2_000);
  hold.resolve();
  expect((await on.end(first.result)).text).toBe("One.");
  expect((await on.end(second)).code).toBe("deadline_exceeded");
  expect(told(await on.log())).not.toContain("ask 2?");
});

test("a deadline that is farther than a timer can wait is looked at again, and a request that ends before it is left alone", async () => {
  const on = await stage();
  const days = 24 * 3_600_000;
  const lease = { leaseTtlMs: 100 * days };
  const server = await on.start({ script: [CALL, "Paid."], tools: { pay } }, lease);
  const request = await on.end(server.ask("Pay.", { deadline: 40 * days }));
  await on.pass(39 * days);
  expect(request.state).toBe("waiting");
  await on.end(server.approve("call_1"));
  expect((await on.end(request.result)).text).toBe("Paid.");
  await on.pass(2 * days);
  expect(told(await on.log()).at(-1)).toBe("says Paid. end:completed");
});

test.each([0, -1, Number.NaN, "soon", "1970-01-02", new Date("never")])(
  "the deadline %s is refused",
  async (deadline) => {
    const on = await stage();
    const server = await on.start({ script: [] });
    const error = await failureOf(on.end(server.ask("Go.", { deadline: deadline as number })));
    expect(error).toMatchObject({ code: "invalid_options", message: expect.stringContaining("deadline must be") });
    const past = { deadline: new Date(on.ports.clock()) };
    expect((await failureOf(on.end(server.ask("Go.", past)))).code).toBe("deadline_exceeded");
    expect(await on.log()).toEqual([]);
  },
);

const NOW = Date.UTC(2026, 10, 24);

test.each<readonly [what: string, time: number | Date | string]>([
  ["a number that counts from 1970", NOW + 300_000],
  ["a date after eleven years", new Date(11 * 366 * 24 * 3_600_000)],
  ["a text after eleven years", "1982-01-01T00:00:00Z"],
])("%s is refused as a deadline and as a time, because it is too far away", async (_what, time) => {
  const on = await stage();
  const refused = (name: string) => ({
    code: "invalid_options",
    message: expect.stringMatching(`^${name} must be at most ten years away.*milliseconds from now.*a date`),
  });
  const server = await on.start({ script: [] });
  expect(await failureOf(on.end(server.ask("Go.", { deadline: time })))).toMatchObject(refused("deadline"));
  expect(await failureOf(on.end(server.ask("Go.", { at: time })))).toMatchObject(refused("at"));
  await on.end(server.stop());
  const host = AgentHost.create({ agent: agentOf([]), store: on.store, ports: on.ports });
  expect(await failureOf(on.end(host.ask("thread_2", "Go.", { deadline: time })))).toMatchObject(refused("deadline"));
  await on.end(host.stop());
  expect(await on.log()).toEqual([]);
});
