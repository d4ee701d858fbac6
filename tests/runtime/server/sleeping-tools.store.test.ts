import { AgentHost, type AnyTool, defineTool, fail, ok, StoreError, sleep, suspend, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { defineAgent } from "../support/recovery-tools.ts";
import { spied } from "../support/spied-store.ts";
import { anything, eventsOf, expectWhole, proveAll, type Stage, stage, told } from "../support/stage.ts";

const HOUR = 3_600_000;
const CALL = { calls: [{ id: "call_w", name: "wait" }] };
const BOTH = { calls: [...CALL.calls, { id: "call_l", name: "look" }] };

/** A tool that sleeps, and notes its runs. */
function waiting(result: unknown = "The hour is over.", runs: unknown[] = []): AnyTool {
  return defineTool({
    inputSchema: anything,
    repeatable: true,
    execute: (input) => {
      runs.push(input);
      return sleep(HOUR, result);
    },
  }) as AnyTool;
}

const STORES: readonly [string, (at: { readonly clock: () => number }) => ThreadStore | undefined][] = [
  ["in memory", () => undefined],
  ["on SQLite", ({ clock }) => sqliteStore(fastFile(), { clock })],
];
const results = async (on: Stage) =>
  (await on.log()).flatMap(({ payload }) => (payload["role"] === "tool" ? [payload["content"]] : []));

describe.each(STORES)("a tool that sleeps, %s", (_, open) => {
  const begin = (): Promise<Stage> => stage({ store: open });

  test("has its result at the time, though its timeout and that of the request are shorter", async () => {
    const on = await begin();
    const runs: unknown[] = [];
    const wait = { ...waiting("The hour is over.", runs), timeoutMs: 1_000 };
    const server = await on.start({ script: [CALL, "Done."], tools: { wait }, totalTimeoutMs: 60_000 });
    const request = await on.end(server.ask("Wait."));
    expect(await on.end(request.settled())).toBe("waiting");
    const deadline = on.ports.clock() + HOUR;
    const listed = { toolCallId: "call_w", name: "wait", arguments: {}, kind: "sleep", deadline };
    expect(await server.waiting()).toEqual([listed]);
    await on.pass(HOUR - 1);
    expect(request.state).toBe("waiting");
    await on.pass(1);
    expect((await on.end(request.result)).text).toBe("Done.");
    expect([await results(on), runs.length]).toEqual([["The hour is over."], 1]);
    expectWhole(await eventsOf(request));
    expect(await server.waiting()).toEqual([]);
    expect(told(await on.log())).toEqual([
      "ask Wait.",
      "calls call_w",
      "sleep_started call_w",
      "result call_w",
      "says Done. end:completed",
    ]);
    await proveAll(on.store, on.threadId);
  });

  test("wakes in the next process, also when the time has passed, and is not run again", async () => {
    const on = await begin();
    const runs: unknown[] = [];
    const execute = () => {
      runs.push("once");
      return sleep(HOUR);
    };
    const tools = { wait: { inputSchema: anything, execute } };
    const first = await on.start({ script: [CALL], tools });
    const { id } = await on.end(first.ask("Wait."));
    await on.settled();
    const until = on.ports.clock() + HOUR;
    await on.end(first.stop());
    await on.pass(HOUR / 2);
    const second = await on.start({ script: [], tools });
    expect(await second.waiting()).toMatchObject([{ kind: "sleep", deadline: until }]);
    await on.end(second.stop());
    await on.pass(HOUR);
    const third = await on.start({ script: [{ text: "Done.", delayMs: 5 }], tools });
    expect((await on.end(third.result(id).catch(() => third.request?.result)))?.text).toBe("Done.");
    expect(await results(on)).toEqual([`Slept until ${new Date(until).toISOString()}.`]);
    expect(runs).toHaveLength(1);
    await proveAll(on.store, on.threadId);
  });

  test("continues after a kill at any commit, and has one result", async () => {
    for (let commit = 1; ; commit++) {
      const on = await begin();
      const spy = spied(on.store);
      let commits = 0;
      let isDead = false;
      const error = () =>
        new StoreError({ code: "store_unavailable", message: "The process is dead.", retryable: true });
      spy.trouble = (write, _number, entries) => {
        if (!isDead && write === "append" && entries.length > 0) commits += 1;
        const dies = !isDead && commits === commit;
        const trouble = isDead ? { error } : dies ? { error, after: true } : undefined;
        if (dies) isDead = true;
        return trouble;
      };
      const tools = { wait: waiting() };
      const options = { store: spy.store, holder: "the same" };
      const first = await on.start({ script: [CALL, "Done."], tools }, options);
      void first.ask("Wait.", { requestId: "r" }).catch(() => undefined);
      await on.pass(HOUR + 60_000);
      if (!isDead) break;
      const said = (await on.log()).some(({ payload }) => payload["toolCalls"] !== undefined);
      const script = said ? ["Done."] : [CALL, "Done."];
      const second = await on.start({ script, tools: { wait: waiting() } }, { holder: "the same" });
      await on.pass(HOUR + 60_000);
      expect((await on.end(second.result("r"))).text).toBe("Done.");
      expect(await results(on)).toEqual(["The hour is over."]);
      expect(told(await on.log()).filter((line) => line.startsWith("sleep_started"))).toHaveLength(1);
    }
  });

  test("is woken by a host that has released the thread, and by one that starts later", async () => {
    const on = await begin();
    const hostOf = (script: readonly (string | typeof CALL)[]) => {
      const agent = defineAgent({ model: scriptedModel(script), tools: { wait: waiting() } });
      return AgentHost.create({ agent, store: on.store, ports: on.ports, idleMs: 1_000 });
    };
    const first = hostOf([CALL, CALL, "Done."]);
    for (const id of ["thread_1", "thread_2"]) await on.end(first.ask(id, "Wait."));
    await on.pass(2_000);
    expect(first.size).toBe(0);
    const { calls } = await first.waiting({ kind: "sleep" });
    expect(calls.map(({ threadId, deadline }) => [threadId, deadline !== undefined])).toEqual([
      ["thread_1", true],
      ["thread_2", true],
    ]);
    expect((await first.waiting("thread_1"))[0]?.kind).toBe("sleep");
    await on.pass(HOUR - 2_100);
    await on.end(first.stop());
    const second = hostOf(["Done.", "Done."]);
    second.work();
    await on.pass(60_000);
    expect((await on.store.list({ status: "completed" })).threads).toHaveLength(2);
    expect((await second.waiting()).calls).toEqual([]);
    await on.end(second.stop());
  });

  test.each(["cancel", "finish", "steer"] as const)("does not sleep on after %s", async (how) => {
    const on = await begin();
    const server = await on.start({ script: [CALL, "Next."], tools: { wait: waiting() } });
    const request = await on.end(server.ask("Wait."));
    await on.end(request.settled());
    if (how === "steer") await on.end(server.steer("Stop that.", { skip: true }));
    else await on.end(server[how]());
    await on.end(request.result.catch(() => undefined));
    expect(await results(on)).toEqual([
      expect.stringContaining(how === "finish" ? "before the time" : "waited for its time"),
    ]);
    const rev = (await on.log()).length;
    await on.pass(2 * HOUR);
    expect(await on.log()).toHaveLength(rev);
    await proveAll(on.store, on.threadId);
  });

  test("waits beside other calls, which have their results before", async () => {
    const on = await begin();
    const look = defineTool({ inputSchema: anything, execute: () => "seen" }) as AnyTool;
    const server = await on.start({ script: [BOTH, "Done."], tools: { wait: waiting(), look } });
    const request = await on.end(server.ask("Wait."));
    await on.pass(10);
    expect(await results(on)).toEqual(["seen"]);
    await on.pass(HOUR);
    expect((await on.end(request.result)).text).toBe("Done.");
    expect(await results(on)).toEqual(["seen", "The hour is over."]);
  });

  test("fails at its deadline when the ask has an earlier one", async () => {
    const on = await begin();
    const server = await on.start({ script: [CALL], tools: { wait: waiting() } });
    const request = await on.end(server.ask("Wait.", { deadline: 60_000 }));
    await on.pass(60_001);
    await expect(on.end(request.result)).rejects.toMatchObject({ failure: { code: "deadline_exceeded" } });
  });
});

test.each([
  ["details", ok({ a: 1 }, { details: "for people" }), '{"a":1}', { details: "for people" }],
  ["an error", fail("too early"), '{"error":"too early"}', { isError: true }],
])("what it gives then may have %s", async (_, given, content, more) => {
  const on = await stage();
  const server = await on.start({ script: [CALL, "Done."], tools: { wait: waiting(given) } });
  const request = await on.end(server.ask("Wait."));
  await on.pass(HOUR);
  await on.end(request.result);
  const [entry] = (await on.log()).filter(({ payload }) => payload["role"] === "tool");
  expect(entry?.payload).toMatchObject({ content, ...more });
});

test("afterToolCall changes the result before it is stored", async () => {
  const on = await stage();
  const afterToolCall = (_: unknown, { content }: { readonly content: unknown }) => ({ content: `(${content})` });
  const server = await on.start({ script: [CALL, "Done."], tools: { wait: waiting() }, afterToolCall });
  const request = await on.end(server.ask("Wait."));
  await on.pass(HOUR);
  await on.end(request.result);
  expect(await results(on)).toEqual(["(The hour is over.)"]);
});

test.each([
  ["0 ms", () => sleep(0)],
  ["no number", () => sleep(Number.NaN)],
  ["a text without a time zone", () => sleep("2026-11-24T09:00:00")],
  ["a day without a time zone", () => sleep("2026-11-24")],
  ["a day that does not exist", () => sleep("2026-13-01T00:00:00Z")],
  ["a bad date", () => sleep(new Date("then"))],
  ["another wait", () => sleep(5, suspend("Why?"))],
])("sleep refuses %s", (_, call) => {
  expect(call).toThrow(expect.objectContaining({ code: "invalid_options", message: expect.stringMatching(/sleep/) }));
});

test.each([new Date(HOUR), HOUR - 1_000, "1970-01-01T01:00:00Z", "1970-01-01T02:00+01:00"])(
  "a time may be %s",
  async (until) => {
    const on = await stage();
    const wait = { inputSchema: anything, execute: () => sleep(until) };
    const server = await on.start({ script: [CALL, "Done."], tools: { wait } });
    await on.end((await on.end(server.ask("Wait."))).settled());
    expect((await server.waiting())[0]?.deadline).toBe(HOUR);
  },
);
