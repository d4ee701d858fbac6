import { SpanStatusCode } from "@opentelemetry/api";
import { StoreError, type ThreadStore, type ToolOptions } from "heddle";
import { describe, expect, test } from "vitest";
import { anything, eventsOf, expectWhole, failureOf, gate, type Stage, stage, told } from "../support/stage.ts";
import { recorder } from "../telemetry/support/recorder.ts";

const TTL = 9_000;

/** A stage with one process that can be cut off from the store, and frozen. */
async function cuttable() {
  const state = { isAway: false, frozenMs: 0 };
  const on = await stage({ around: (store) => cut(store, () => state.isAway) });
  const ports = { ...on.ports, monotonic: () => on.ports.monotonic() + state.frozenMs };
  return { on, state, options: { ports, leaseTtlMs: TTL, holder: "one" } };
}

function cut<Part extends object>(store: Part, isAway: () => boolean): Part {
  return new Proxy(store, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method === "object" && method !== null) return cut(method, isAway); // leases
      if (typeof method !== "function") return method;
      return (...given: unknown[]) => {
        if (!isAway()) return method.apply(target, given);
        return Promise.reject(new StoreError({ code: "store_unreachable", retryable: true, message: "It is away." }));
      };
    },
  });
}

/** Another process has the thread, as after the claim has run out. */
async function takeOver({ store, threadId }: Stage): Promise<void> {
  await store.release(threadId, 1);
  await store.claim(threadId, { holder: "two", ttlMs: 60_000 });
}

const charges = (count: number) => ({ calls: Array.from({ length: count }, () => ({ name: "charge" })) });

describe("a process that can not renew its claim", () => {
  test("starts no tool once two thirds of the claim have passed", async () => {
    const { on, state, options } = await cuttable();
    const started: number[] = [];
    const { promise: first, resolve: end } = gate<string>();
    const execute = () => {
      started.push(on.ports.clock());
      return started.length === 1 ? first : "charged";
    };
    const charge = { inputSchema: anything, execute };
    const server = await on.start({ script: [charges(12)], tools: { charge }, toolConcurrency: 1 }, options);
    const begun = on.ports.clock();
    const request = await on.end(server.ask("Charge."));
    await on.pass(1);
    state.isAway = true;
    await on.pass(6_000);
    end("charged");
    await on.pass(60_000);
    expect(started.filter((at) => at - begun >= 6_000)).toEqual([]);
    const events = await on.end(eventsOf(request));
    expectWhole(events);
    expect(events.at(-1)).toMatchObject({ kind: "request_suspended", data: { reason: "store" } });
  });

  test("makes no further attempt of a tool and of a model", async () => {
    const { on, state, options } = await cuttable();
    let attempts = 0;
    const flaky = {
      inputSchema: anything,
      maxRetries: 20,
      execute: () => {
        attempts += 1;
        throw Object.assign(new Error("again"), { retryable: true });
      },
    };
    const script = [{ calls: [{ name: "flaky" }] }];
    const server = await on.start({ script, tools: { flaky }, toolRetryBackoffMs: 7_000 }, options);
    await on.end(server.ask("Go."));
    await on.pass(1);
    expect(attempts).toBe(1);
    state.isAway = true;
    await on.pass(120_000);
    expect(attempts).toBe(1);

    const other = await cuttable();
    let calls = 0;
    const model = () => {
      calls += 1;
      return { error: { status: 529, retryAfterMs: 7_000 } };
    };
    const busy = await other.on.start(
      { script: Array.from({ length: 20 }, () => model as never), modelMaxRetries: 20 },
      other.options,
    );
    await other.on.end(busy.ask("Go."));
    await other.on.pass(1);
    other.state.isAway = true;
    const before = calls;
    await other.on.pass(120_000);
    expect([before, calls]).toEqual([1, 1]);
  });

  test("emits no delta once two thirds of the claim have passed", async () => {
    const { on, state, options } = await cuttable();
    const text = Array.from({ length: 40 }, (_, n) => `word${n} `);
    const server = await on.start({ script: [{ text, deltaDelayMs: 500 }], captureDeltas: true }, options);
    const begun = on.ports.clock();
    const request = await on.end(server.ask("Tell."));
    state.isAway = true;
    await on.pass(60_000);
    const events = await on.end(eventsOf(request));
    const late = events.filter(({ kind, at }) => kind !== "request_suspended" && at - begun >= 6_000);
    expect(events.filter(({ kind }) => kind === "llm_delta").length).toBeGreaterThan(3);
    expect(late.map(({ kind, at }) => [kind, at - begun])).toEqual([]);
    expect(events.at(-1)).toMatchObject({ kind: "request_suspended", data: { reason: "store" } });
  });

  test("continues when a renewal succeeds in time: withheld events are emitted, each once and in order", async () => {
    const { on, state, options } = await cuttable();
    const text = Array.from({ length: 30 }, (_, n) => `word${n} `);
    const server = await on.start({ script: [{ text, deltaDelayMs: 500 }], captureDeltas: true }, options);
    const request = await on.end(server.ask("Tell."));
    state.isAway = true;
    await on.pass(8_000);
    state.isAway = false;
    expect((await on.end(request.result)).text).toBe(text.join(""));
    const events = await on.end(eventsOf(request));
    expectWhole(events);
    expect(events.flatMap((event) => (event.kind === "llm_delta" ? event.data.text : []))).toEqual(text);
  });
});

describe("a process that was frozen", () => {
  test("starts nothing more when another process has the thread: its last event names the holder", async () => {
    const { on, state, options } = await cuttable();
    const { promise: first, resolve: end } = gate<string>();
    let started = 0;
    const held: boolean[] = [];
    const execute = async (_input: unknown, { isHeld }: ToolOptions) => {
      started += 1;
      held.push(isHeld());
      await first;
      held.push(isHeld());
      return "charged";
    };
    const charge = { inputSchema: anything, execute };
    const server = await on.start({ script: [charges(12)], tools: { charge }, toolConcurrency: 1 }, options);
    const request = await on.end(server.ask("Charge."));
    await on.settled();
    await takeOver(on);
    state.frozenMs = 60_000;
    end("charged");
    await on.settled();
    expect(started).toBe(1);
    expect(held).toEqual([true, false]);
    const error = await failureOf(request.result);
    expect(error).toMatchObject({ code: "request_suspended", suspension: { reason: "lost", holder: "two" } });
    const events = await on.end(eventsOf(request));
    expectWhole(events);
    expect(events.at(-1)).toMatchObject({ kind: "request_suspended", data: { reason: "lost", holder: "two" } });
    await on.settled();
    await expect(server.ask("Again.")).rejects.toMatchObject({ code: "thread_held", holder: "two" });
    await expect(server.cancel()).rejects.toMatchObject({ code: "request_suspended" });
  });

  test.each([
    ["before it learns of the loss", 0],
    ["after it has learned of the loss", 60_000],
  ])("warns of a tool that ends %s, and its span is an error", async (_when, learnsMs) => {
    const { on, state, options } = await cuttable();
    const record = await recorder();
    const { promise: first, resolve: end } = gate<string>();
    const charge = { inputSchema: anything, execute: () => first };
    const script = [{ calls: [{ id: "call_1", name: "charge" }] }];
    const tools = { script, tools: { charge }, toolTimeoutMs: 600_000 };
    const server = await on.start(tools, { ...options, telemetry: record.telemetry });
    const { id } = await on.end(server.ask("Charge."));
    await on.settled();
    await takeOver(on);
    state.frozenMs = 60_000;
    if (learnsMs === 0) end("charged");
    await on.pass(learnsMs);
    end("charged");
    await on.settled();
    expect(on.warnings.filter((text) => text.includes("call_1"))).toEqual([
      `Thread ${on.threadId}, request ${id}: the result of the call call_1 of the tool charge is dropped. ` +
        "The tool may have run. This process no longer runs the request.",
    ]);
    const { status, attributes } = record.span("execute_tool charge");
    expect(status.code).toBe(SpanStatusCode.ERROR);
    expect(attributes["error.type"]).toBe(learnsMs === 0 ? "request_suspended" : "tool_aborted");
  });

  test("continues when no process took its thread, after it has renewed its claim", async () => {
    const { on, state, options } = await cuttable();
    const { promise: first, resolve: end } = gate<string>();
    const charge = { inputSchema: anything, execute: () => first };
    const script = [charges(3), { text: "Charged." }];
    const server = await on.start({ script, tools: { charge }, toolConcurrency: 1 }, options);
    const request = await on.end(server.ask("Charge."));
    await on.settled();
    state.frozenMs = 8_000;
    end("charged");
    expect((await on.end(request.result)).text).toBe("Charged.");
    expectWhole(await on.end(eventsOf(request)));
  });
});

describe("a process whose thread another one has claimed under the same name, with a lease that looks fresh", () => {
  const ask = { inputSchema: anything };
  const asking = { calls: [{ id: "call_1", name: "ask" }] };

  test("starts no model call when the other one answers for it", async () => {
    const { on, options } = await cuttable();
    let calls = 0;
    const model = () => {
      calls += 1;
      return calls === 1 ? asking : "Of the first.";
    };
    const first = await on.start({ script: [model as never, model as never], tools: { ask } }, options);
    const request = await on.end(first.ask("Go."));
    await on.pass(1);
    expect(request.state).toBe("waiting");
    const second = await on.start({ script: ["Of the second."], tools: { ask } }, { ...options, ports: on.ports });
    await on.end(second.answer("call_1", "yes"));
    expect((await on.end(second.result(request.id))).text).toBe("Of the second.");
    const error = await failureOf(on.end(request.result));
    expect([calls, error]).toMatchObject([
      1,
      { code: "request_suspended", suspension: { reason: "lost", holder: "one" } },
    ]);
  });

  test("makes no further attempt of a model or a tool after a wait", async () => {
    const { on, options } = await cuttable();
    let runs = 0;
    const flaky = {
      inputSchema: anything,
      maxRetries: 20,
      execute: () => {
        runs += 1;
        throw Object.assign(new Error("again"), { retryable: true });
      },
    };
    const script = [{ calls: [{ name: "flaky" }] }];
    const first = await on.start({ script, tools: { flaky }, toolRetryBackoffMs: 2_000 }, options);
    const request = await on.end(first.ask("Go."));
    await on.pass(1);
    await on.store.claim(on.threadId, { holder: "one", ttlMs: 60_000 });
    await on.pass(2_500); // the lease is renewed at 3,000
    expect(runs).toBe(1);
    expect(await failureOf(request.result)).toMatchObject({ suspension: { reason: "lost" } });

    const other = await cuttable();
    let calls = 0;
    const model = () => {
      calls += 1;
      return { error: { status: 529, retryAfterMs: 2_000 } };
    };
    const busy = await other.on.start({ script: Array.from({ length: 9 }, () => model as never) }, other.options);
    const asked = await other.on.end(busy.ask("Go."));
    await other.on.pass(1);
    await other.on.store.claim(other.on.threadId, { holder: "one", ttlMs: 60_000 });
    await other.on.pass(2_500);
    expect(calls).toBe(1);
    expect(await failureOf(asked.result)).toMatchObject({ suspension: { reason: "lost" } });
  });
});

describe("a process whose store goes away while it writes an ask", () => {
  /** The store takes the next append and is away from then on. Its answer comes when it is back, or never. */
  async function cutAtAsk(isAnswered: boolean) {
    const { promise: written, resolve: write } = gate();
    const { promise: back, resolve: comeBack } = gate();
    const state = { isAway: false };
    const away = () => new StoreError({ code: "store_unreachable", retryable: true, message: "It is away." });
    const around = (store: ThreadStore): ThreadStore => {
      const append = store.append.bind(store);
      const once: ThreadStore["append"] = async (...given) => {
        store.append = append;
        const result = await append(...given);
        state.isAway = true;
        write();
        if (!isAnswered) throw away();
        await back;
        return result;
      };
      store.append = once;
      return cut(store, () => state.isAway);
    };
    const on = await stage({ around });
    const script = [{ expect: { system: "For Ada." }, text: "Hello." }];
    const systemPrompt = (name: string) => `For ${name}.`;
    const server = await on.start({ script, systemPrompt } as never, { leaseTtlMs: TTL });
    const asked = server.ask("Hi.", { requestId: "req_1", context: "Ada" } as never).then(
      () => undefined,
      (error: unknown) => error,
    );
    await on.end(written);
    await on.pass(300_000);
    state.isAway = false;
    comeBack();
    return { on, server, error: await on.end(asked) };
  }

  const failure = { code: "store_unreachable" };
  test.each([
    [true, { code: "request_suspended", requestId: "req_1", suspension: { reason: "store" }, failure }],
    [false, { code: "store_unreachable", retryable: true }],
  ])("runs the request once when the store is back, with its context; the answer came: %s", async (isAnswered, why) => {
    const { on, server, error } = await cutAtAsk(isAnswered);
    expect(error).toMatchObject(why);
    await on.pass(60_000);
    expect(told(await on.log())).toEqual(["ask Hi.", "says Hello. end:completed"]);
    const again = await on.end(server.ask("Hi.", { requestId: "req_1" }));
    expect((await on.end(again.result)).text).toBe("Hello.");
  });
});

test("a server that is stopped suspends its request with that reason", async () => {
  const on = await stage();
  const server = await on.start({ script: [{ hang: true }] });
  const request = await on.end(server.ask("Hi."));
  await on.end(server.stop({ graceMs: 0 }));
  const events = await on.end(eventsOf(request));
  expectWhole(events);
  expect(events.at(-1)).toMatchObject({ kind: "request_suspended", data: { reason: "stopped" } });
  expect(await failureOf(request.result)).toMatchObject({
    code: "request_suspended",
    suspension: { reason: "stopped" },
    retryable: false,
  });
});

test("an ask that waits in the queue waits for a request that is suspended and resumed, in one trace", async () => {
  const { on, state, options: own } = await cuttable();
  const { telemetry, spans } = await recorder();
  const options = { ...own, telemetry };
  const { promise: looked, resolve: end } = gate<string>();
  const look = { inputSchema: anything, repeatable: true, execute: () => looked };
  const script = [{ calls: [{ name: "look" }] }, "One.", "Two."];
  const server = await on.start({ script, tools: { look }, busy: "queue" }, options);
  const one = await on.end(server.ask("One?"));
  await on.pass(1);
  const two = server.ask("Two?");
  state.isAway = true;
  end("seen");
  expect((await failureOf(on.end(one.result))).code).toBe("request_suspended");
  state.isAway = false;
  expect((await on.end((await on.end(two)).result)).text).toBe("Two.");
  expect((await on.end(server.result(one.id))).text).toBe("One.");
  const roots = spans().filter(({ attributes }) => attributes["heddle.request.status"] !== undefined);
  const statuses = roots.map(({ attributes }) => attributes["heddle.request.status"]);
  expect(statuses).toEqual(["suspended", "completed", "completed"]);
  expect(roots[1]?.parentSpanContext?.spanId).toBe(roots[0]?.spanContext().spanId);
  expect(roots[2]?.parentSpanContext).toBeUndefined();
});

describe.each(["cancel", "finish"] as const)("%s", (command) => {
  test("rejects when the store is away, because the end is not durable", async () => {
    const { on, state, options } = await cuttable();
    const { promise: looked, resolve: end } = gate<string>();
    const look = { inputSchema: anything, execute: () => looked };
    const server = await on.start({ script: [{ calls: [{ name: "look" }] }, "Seen."], tools: { look } }, options);
    const request = await on.end(server.ask("Look."));
    await on.pass(1);
    state.isAway = true;
    const refused = failureOf(on.end(server[command]()));
    end("seen");
    expect(await refused).toMatchObject({
      code: "request_suspended",
      suspension: { reason: "store" },
      retryable: true,
    });
    expect((await failureOf(request.result)).code).toBe("request_suspended");
    state.isAway = false;
    expect((await on.log()).at(-1)).toMatchObject({ kind: "ai_message", payload: { role: "assistant" } });
  });

  test("rejects when another process has taken the thread", async () => {
    const { on, options } = await cuttable();
    const server = await on.start({ script: [{ hang: true }] }, options);
    await on.end(server.ask("Hi."));
    await on.pass(1);
    await takeOver(on);
    const error = await failureOf(on.end(server[command]()));
    expect(error).toMatchObject({ code: "request_suspended", suspension: { reason: "lost" } });
  });
});

test("a call of another process whose outcome cannot be written is not made again", async () => {
  const { on, state, options } = await cuttable();
  const server = await on.start({ script: [{ hang: true }], busy: "queue" }, options);
  const { promise: made, resolve: make } = gate();
  const calls: unknown[] = [];
  server.finish = async (...given: unknown[]) => {
    calls.push(given);
    await made;
    return true;
  };
  await on.store.post(on.threadId, { id: "call_1", type: "call", method: "finish", args: [["req_1"]] });
  await on.pass(1);
  state.isAway = true;
  make();
  await on.pass(6_000);
  state.isAway = false;
  await on.pass(60_000);
  expect(await on.store.outcome(on.threadId, "call_1")).toEqual({ status: "answered", value: true });
  expect(calls).toEqual([["req_1"]]);
});

test("a cancel after the suspension rejects, because the request is open elsewhere", async () => {
  const { on, options } = await cuttable();
  const server = await on.start({ script: [{ hang: true }] }, options);
  const request = await on.end(server.ask("Go."));
  await takeOver(on);
  await on.pass(TTL);
  expect((await failureOf(on.end(request.result))).code).toBe("request_suspended");
  for (const end of [() => server.cancel(), () => server.cancel(request.id), () => server.finish()]) {
    expect(await failureOf(on.end(end()))).toMatchObject({ code: "request_suspended", requestId: request.id });
  }
  expect(await on.end(server.cancel("req_other"))).toBe(false);
});
