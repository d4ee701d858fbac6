import { type AgentEvent, type AgentServer, createProjector, ToolError, type ToolOptions } from "heddle";
import { describe, expect, test } from "vitest";
import { spied } from "../support/spied-store.ts";
import { anything, eventsOf, expectWhole, failureOf, gate, proveAll, stage, told } from "../support/stage.ts";

const results = (events: readonly AgentEvent[]) =>
  events.flatMap((event) =>
    event.kind === "tool_completed" ? [[event.toolCallId, event.data.content, event.data.isError]] : [],
  );

describe("tools of one answer", () => {
  test("run side by side, are committed as they end, and are emitted in the order of the calls", async () => {
    const on = await stage();
    const slow = gate<string>();
    const tools = {
      slow: { inputSchema: anything, execute: () => slow.promise },
      fast: { inputSchema: anything, execute: () => slow.resolve("slow") ?? "fast" },
    };
    const server = await on.start({ script: [{ calls: [{ name: "slow" }, { name: "fast" }] }, "Done."], tools });
    const request = await server.ask("Go.");
    await on.end(request.result);
    const events = await eventsOf(request);
    expectWhole(events);
    expect(results(events)).toEqual([
      ["call_1", "slow", false],
      ["call_2", "fast", false],
    ]);
    await proveAll(on.store, on.threadId);
  });

  test("a key __proto__ goes from the arguments to the tool and from its result to the model as data", async () => {
    const on = await stage();
    const odd = '{"__proto__":{"admin":true},"a":1}';
    const echo = { inputSchema: anything, execute: (input: unknown) => input };
    const call = { name: "echo", input: odd };
    const server = await on.start({ script: [{ calls: [call] }, "Done."], tools: { echo } });
    const request = await on.end(server.ask("Go."));
    await on.end(request.result);
    expect(results(await eventsOf(request))).toEqual([["call_1", odd, false]]);
    const log = JSON.stringify((await on.store.load(on.threadId))?.toArray());
    expect(log).toContain(`"arguments":${odd}`);
    await proveAll(on.store, on.threadId);
  });

  test("a generator that is cancelled leaves its last output in the log, marked partial", async () => {
    const on = await stage();
    const charge = {
      inputSchema: anything,
      async *execute() {
        yield { charged: 12 };
        await new Promise(() => undefined);
      },
    };
    const server = await on.start({ script: [{ calls: [{ name: "charge" }] }, "Done."], tools: { charge } });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    await on.end(server.cancel());
    await expect(request.result).rejects.toMatchObject({ code: "request_cancelled" });
    const entries = (await on.store.load(on.threadId))?.filterByRef("toolCallId", "call_1") ?? [];
    const payloads = entries
      .map(({ payload }) => payload)
      .filter((payload) => "role" in payload && payload["role"] === "tool");
    expect(payloads).toMatchObject([
      {
        content: '{"charged":12}\n[Partial result: the request was cancelled while the tool ran.]',
        partial: "cancelled",
      },
    ]);
  });

  test("whatever they do wrong, the model reads it and continues", async () => {
    const on = await stage();
    const circular: { self?: unknown } = {};
    circular.self = circular;
    const tools = {
      throws: {
        inputSchema: anything,
        execute: () => {
          throw new Error("secret");
        },
      },
      slow: { inputSchema: anything, execute: () => new Promise(() => undefined), timeoutMs: 50 },
      big: { inputSchema: anything, execute: () => "x".repeat(40 * 1024 * 1024) },
      odd: { inputSchema: anything, execute: () => circular },
    };
    const names = ["nobody", "throws", "slow", "big", "odd"];
    const calls = [...names.map((name) => ({ name })), { name: "odd", input: "{not json" }];
    const server = await on.start({ script: [{ calls }, "Done."], tools });
    const request = await on.end(server.ask("Go."));
    expect((await on.end(request.result)).text).toBe("Done.");
    const told = results(await eventsOf(request));
    expect(told).toHaveLength(6);
    expect(told.filter(([, , isError]) => isError !== true)).toEqual([]);
    expect(JSON.stringify(told).length).toBeLessThan(10_000);
    await proveAll(on.store, on.threadId);
  });

  test("are no more at once than toolConcurrency says, and give signs of life", async () => {
    const on = await stage();
    let atOnce = 0;
    let most = 0;
    const work = {
      inputSchema: anything,
      execute: () =>
        new Promise((resolve) => {
          most = Math.max(most, ++atOnce);
          on.ports.after(25, () => resolve(--atOnce));
        }),
    };
    const calls = Array.from({ length: 5 }, () => ({ name: "work" }));
    const server = await on.start({
      script: [{ calls }, "Done."],
      tools: { work },
      toolConcurrency: 2,
      toolHeartbeatMs: 10,
    });
    const request = await on.end(server.ask("Go."));
    await on.end(request.result);
    expect(most).toBe(2);
    const beats = (await eventsOf(request)).flatMap((event) =>
      event.kind === "keepalive" ? [event.data.runningMs] : [],
    );
    expect(beats).toEqual([20, 20, 20, 20, 20]); // the last of each call
  });

  test("may call the server that runs them", async () => {
    const on = await stage();
    const found: unknown[] = [];
    let server: AgentServer | undefined;
    const call = {
      inputSchema: anything,
      execute: async () => {
        const { accepted } = (await server?.steer("Be brief.")) ?? {};
        found.push(accepted, await server?.ask("Me too.").catch(({ code }) => code), (await server?.reset())?.status);
        return "ok";
      },
    };
    server = await on.start({ script: [{ calls: [{ name: "call" }] }, "Done."], tools: { call } });
    const request = await on.end(server.ask("Go."));
    await on.end(request.result);
    expect(found).toEqual([true, "busy", "deferred"]);
    expect(told(await on.log())).toEqual([
      "ask Go.",
      "calls call_1",
      "result call_1",
      "steer Be brief.",
      "says Done. end:completed",
      "ai_context_operation",
    ]);
    await proveAll(on.store, on.threadId);
  });

  test("are given the conversation, the context of the request, and an id to be idempotent by", async () => {
    const on = await stage();
    const seen: unknown[] = [];
    const look = {
      inputSchema: anything,
      execute: (_input: unknown, given: { context: unknown; toolCallId: string; messages: readonly unknown[] }) => {
        seen.push(given.context, given.toolCallId, given.messages.length);
        return "ok";
      },
    };
    const server = await on.start({ script: [{ calls: [{ name: "look" }] }, "Done."], tools: { look } as never });
    const request = await on.end(server.ask("Go.", { context: { user: "u1" } as never }));
    await on.end(request.result);
    expect(seen).toEqual([{ user: "u1" }, "call_1", 1]);
  });
});

describe("the tools of an agent", () => {
  const ok = (say: string) => ({ inputSchema: anything, execute: () => say });

  test("may be joined by those of one request, which are gone with it", async () => {
    const on = await stage();
    const script = [
      { expect: { tools: ["own", "mine"] }, calls: [{ name: "mine" }] },
      { expect: { endsWith: [{ results: [{ value: "mine" }] }] }, text: "One." },
      { expect: { tools: ["own"] }, text: "Two." },
      { expect: { tools: ["own", "late"] }, text: "Three." },
    ];
    const server = await on.start({ script, tools: { own: ok("own") } });
    const first = await on.end(server.ask("Go.", { tools: { mine: ok("mine") } }));
    await on.end(first.result);
    const second = await on.end(server.ask("Go."));
    await on.end(second.result);
    const third = await on.end(server.ask("Go.", { tools: { late: ok("late") } }));
    expect((await on.end(third.result)).text).toBe("Three.");
    await proveAll(on.store, on.threadId);
  });

  test("that are refused with their ask are gone, and do no harm to the request that runs", async () => {
    const on = await stage();
    const model = [
      { expect: { tools: ["own", "mine"] }, text: "One.", delayMs: 20 },
      { expect: { tools: ["own"] }, text: "Two." },
    ];
    const server = await on.start({ script: model, tools: { own: ok("own") } });
    const [first, second] = await on.end(
      Promise.allSettled([
        server.ask("Go.", { tools: { mine: ok("mine") } }),
        server.ask("Go.", { tools: { other: ok("") } }),
      ]),
    );
    expect(second).toMatchObject({ status: "rejected", reason: { code: "busy" } });
    if (first?.status !== "fulfilled") throw new Error("the first ask was refused");
    await on.end(first.value.result);
    await expect(on.end(server.ask(" ", { tools: { other: ok("") } }))).rejects.toMatchObject({ code: "empty_ask" });
    const last = await on.end(server.ask("Go."));
    expect((await on.end(last.result)).text).toBe("Two.");
  });

  test("of one request are not taken back by the end of the one before", async () => {
    const script = ["One.", { expect: { tools: ["lent"] }, calls: [{ name: "lent" }] }, "Two."];
    // With a token more is told behind the answer, so that there is more time in between.
    for (const [told, config] of [
      ["llm_completed", { tokenSecret: "a secret of at least 32 bytes...." }],
      ["request_completed", {}],
    ] as const) {
      const on = await stage();
      const server = await on.start({ script, ...config });
      const first = await server.ask("One?");
      for await (const { kind } of first.events()) if (kind === told) break;
      const second = await server.ask("Two?", { tools: { lent: ok("lent") } });
      expect(results(await eventsOf(second))).toEqual([["call_1", "lent", false]]);
    }
  });

  test("can be registered and taken away, also while a request has its own", async () => {
    const on = await stage();
    const script = [
      { text: "One.", delayMs: 20 },
      { expect: { tools: ["own", "new", "newer"] }, text: "Two." },
      { expect: { tools: ["new", "newer"] }, text: "Three." },
    ];
    const server = await on.start({ script, tools: { own: ok("own") } });
    const first = await on.end(server.ask("Go.", { tools: { mine: ok("mine") } }));
    await on.end(Promise.all([server.registerTool("new", ok("new")), server.registerTool("newer", ok("newer"))]));
    await on.end(first.result);
    await on.end((await on.end(server.ask("Go."))).result);
    expect((await on.end(server.unregisterTool("own"))).status).toBe("applied");
    expect((await on.end(server.unregisterTool("own"))).status).toBe("duplicate");
    expect((await on.end((await on.end(server.ask("Go."))).result)).text).toBe("Three.");
    await expect(on.end(server.registerTool("no good name", ok("")))).rejects.toMatchObject({
      code: "tool_name_invalid",
    });
  });

  test("may be narrowed for one request", async () => {
    const on = await stage();
    const script = [
      { expect: { tools: ["a"] }, calls: [{ name: "b" }] },
      { expect: { tools: ["a"], endsWith: [{ results: [{ isError: true }] }] }, text: "One." },
    ];
    const server = await on.start({ script, tools: { a: ok("a"), b: ok("b") } });
    const request = await on.end(server.ask("Go.", { allowedTools: ["a"] }));
    expect((await on.end(request.result)).text).toBe("One.");
    await expect(on.end(server.ask("Go.", { allowedTools: ["c"] }))).rejects.toMatchObject({ code: "unknown_tool" });
  });

  test("may be narrowed for one request that brings tools of its own, which are allowed", async () => {
    const on = await stage();
    const script = [{ expect: { tools: ["a", "lent"] }, calls: [{ name: "lent" }] }, "One."];
    const server = await on.start({ script, tools: { a: ok("a"), b: ok("b") } });
    const options = { tools: { lent: ok("lent") }, allowedTools: ["a"] };
    const request = await on.end(server.ask("Go.", options));
    expect((await on.end(request.result)).text).toBe("One.");
    expect(results(await eventsOf(request))).toEqual([["call_1", "lent", false]]);
  });
});

describe("the guard of tools", () => {
  const run = async (guardTools: (call: { name: string }) => unknown) => {
    const on = await stage();
    let ran = 0;
    const pay = { inputSchema: anything, execute: () => `paid ${++ran}` };
    const server = await on.start({
      script: [{ calls: [{ name: "pay" }] }, "Done."],
      tools: { pay },
      guardTools: guardTools as never,
    });
    const request = await on.end(server.ask("Pay."));
    return { on, server, request, ran: () => ran };
  };

  test.each([
    ["allows", () => "allow", "paid 1"],
    ["denies with a reason", () => ({ deny: "not today" }), /not today/],
    ["throws", () => Promise.reject(new Error("x")), /guard failed/],
    ["says something else", () => undefined, /did not allow/],
  ])("that %s", async (_what, guard, result) => {
    const { on, request, ran } = await run(guard);
    await on.end(request.result);
    const [told] = results(await eventsOf(request));
    expect(String(told?.[1])).toMatch(result);
    expect(ran()).toBe(result === "paid 1" ? 1 : 0);
  });

  test("that asks makes the call wait for approval", async () => {
    const { on, server, request, ran } = await run(() => "ask");
    await on.settled();
    expect({ state: request.state, ran: ran() }).toEqual({ state: "waiting", ran: 0 });
    await on.end(server.approve("call_1"));
    await on.end(request.result);
    expect(ran()).toBe(1);
  });

  test("that never answers is left behind when the request is cancelled", async () => {
    const { on, server, request, ran } = await run(() => new Promise(() => undefined));
    await on.settled();
    expect(await on.end(server.cancel())).toBe(true);
    expect((await failureOf(request.result)).code).toBe("request_cancelled");
    expect(ran()).toBe(0);
  });
});

describe("what runs is what the log says", () => {
  const pays = (given: unknown[]) => ({
    pay: { inputSchema: anything, execute: async (input: unknown) => void given.push(input) },
  });
  const script = [{ calls: [{ name: "pay", arguments: { amount: 10 } }] }, "Done."];

  test("whatever a listener does to an event", async () => {
    const on = await stage();
    const given: unknown[] = [];
    const heard = gate();
    const server = await on.start({
      tools: pays(given),
      guardTools: async () => {
        await heard.promise; // the listener comes before the tool
        return "allow" as const;
      },
      script,
    });
    const request = await server.ask("Pay.");
    for await (const event of request.events()) {
      if (event.kind === "llm_completed") {
        for (const call of event.data.toolCalls) Reflect.set(call.arguments as object, "amount", 9999);
        heard.resolve();
      }
    }
    expect(given).toEqual([{ amount: 10 }]);
  });

  test("whatever a guard does to a call", async () => {
    const on = await stage();
    const given: unknown[] = [];
    const server = await on.start({
      tools: pays(given),
      guardTools: (call) => {
        Reflect.set(call.arguments as object, "amount", 1);
        return "allow";
      },
      script,
    });
    const request = await server.ask("Pay.");
    await on.end(request.result);
    expect(given).toEqual([{ amount: 10 }]);
  });
});

describe("an idempotency key", () => {
  test("is another one for each call of a thread, also where a model gives two calls one id", async () => {
    const on = await stage();
    const keys: string[] = [];
    const execute = (_: unknown, { idempotencyKey }: ToolOptions) => void keys.push(idempotencyKey);
    const script = [
      { calls: [{ id: "call_0", name: "pay", arguments: { to: "ann" } }] },
      { calls: [{ id: "call_0", name: "pay", arguments: { to: "bob" } }] },
      "Done.",
    ];
    const server = await on.start({ tools: { pay: { inputSchema: anything, execute } }, script });
    await on.end((await server.ask("Pay both.")).result);
    const calls = (await on.log()).flatMap(({ refs, payload }) => ("toolCalls" in payload ? [refs.callId] : []));
    expect(keys).toEqual(calls.map((callId) => `${callId}.call_0`));
    expect(new Set(keys).size).toBe(2);
  });

  test("is the same in every attempt, and when a call is run again after a crash", async () => {
    const on = await stage();
    const keys: string[] = [];
    const hangs = (_: unknown, { idempotencyKey }: ToolOptions) => {
      keys.push(idempotencyKey);
      if (keys.length === 1) throw new ToolError({ message: "Busy.", retryable: true });
      return keys.length === 2 ? new Promise(() => undefined) : "paid";
    };
    const tools = { pay: { inputSchema: anything, repeatable: true, execute: hangs } };
    const first = await on.start({ tools, script: [{ calls: [{ name: "pay" }] }] });
    await first.ask("Pay.");
    await on.pass(1_000);
    await on.end(first.stop({ graceMs: 0 }));
    await on.start({ tools, script: ["Done."] });
    await on.pass(1_000);
    expect(keys).toEqual([expect.stringMatching(/^call_\d+\.call_1$/), keys[0], keys[0]]);
  });
});

describe("what the caller's own functions throw after a tool ran", () => {
  test.each(["projector", "tokenCounter", "stopWhen"] as const)(
    "a %s: the result is durable before it runs, and the request fails with a code and the cause",
    async (which) => {
      const journal: string[] = [];
      const on = await stage({
        around: (store) => {
          const spy = spied(store);
          spy.journal = journal;
          return spy.store;
        },
      });
      const broken = new Error("no memory");
      let hasRun = false;
      let stored: boolean | undefined;
      const breaks = (): void => {
        if (!hasRun) return;
        stored ??= journal.includes("result call_1");
        throw broken;
      };
      const plain = createProjector();
      const own = {
        projector: {
          project: (input: Parameters<typeof plain.project>[0]) => {
            breaks();
            return plain.project(input);
          },
          explain: plain.explain,
        },
        tokenCounter: {
          count: (text: string) => {
            breaks();
            return text.length;
          },
        },
        stopWhen: () => {
          breaks();
          return false;
        },
      };
      const execute = () => {
        hasRun = true;
        return "charged";
      };
      const errors: unknown[] = [];
      const server = await on.start(
        {
          script: [{ calls: [{ name: "charge" }] }, "Done."],
          tools: { charge: { inputSchema: anything, execute } },
          ...(which === "tokenCounter" && { contextPolicy: { tokenEstimator: "exact" } }),
          [which]: own[which],
        },
        { onError: (error) => errors.push(error) },
      );
      const request = await on.end(server.ask("Go."));
      const error = await on.end(failureOf(request.result));
      expect(stored).toBe(true);
      const code = which === "stopWhen" ? "stop_when_failed" : "projection_failed";
      expect(error).toMatchObject({ code: "request_failed", failure: { code } });
      if (which !== "stopWhen") {
        expect(error.cause).toBe(broken);
        expect(errors).toEqual([broken]);
      }
      const events = await eventsOf(request);
      expectWhole(events);
      expect(results(events)).toEqual([["call_1", "charged", false]]);
      expect(told(await on.log()).slice(-2)).toEqual(["result call_1", "error end:failed"]);
      expect(server.request).toBeUndefined();
    },
  );
});
