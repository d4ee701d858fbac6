import { type AgentRequest, rebuildCall } from "heddle";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { anything, eventsOf, expectWhole, failureOf, proveAll, stage, told } from "../support/stage.ts";

const look = { inputSchema: anything, execute: () => "seen" };
const looking = { text: "Looking.", calls: [{ name: "look" }] };

describe("the time of a request", () => {
  test("is limited by totalTimeoutMs", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ hang: true }], totalTimeoutMs: 500 });
    const request = await on.end(server.ask("Go."));
    await on.pass(499);
    expect(request.state).toBe("running");
    await on.pass(1);
    const error = await failureOf(on.end(request.result));
    expect({ code: error.code, failure: error.failure?.code }).toEqual({
      code: "request_failed",
      failure: "request_timeout",
    });
    expectWhole(await eventsOf(request));
  });

  test("is not counted while it waits for a person", async () => {
    const on = await stage();
    const pay = { inputSchema: anything, needsApproval: true, execute: () => "paid" };
    const server = await on.start({
      script: [{ calls: [{ name: "pay" }], delayMs: 300 }, { hang: true }],
      tools: { pay },
      totalTimeoutMs: 500,
    });
    const request = await on.end(server.ask("Go."));
    await on.pass(100_000);
    expect(request.state).toBe("waiting");
    await server.approve("call_1");
    await on.pass(199);
    expect(request.state).toBe("running");
    await on.pass(1);
    expect((await failureOf(on.end(request.result))).failure?.code).toBe("request_timeout");
  });

  test("is not that of a silent model, which streamIdleTimeoutMs ends", async () => {
    const on = await stage();
    const server = await on.start({
      script: [{ text: "One", hang: true }],
      streamIdleTimeoutMs: 50,
      modelMaxRetries: 0,
    });
    const request = await on.end(server.ask("Go."));
    expect((await failureOf(on.end(request.result))).failure?.code).toBe("model_stream_idle");
    expect(told(await on.log()).slice(-2)).toEqual(["says One", "error end:failed"]);
  });
});

describe("a model whose answer comes whole", () => {
  test("has five times the silence limit of one that streams, and is then aborted", async () => {
    const on = await stage();
    const signals: AbortSignal[] = [];
    const model = {
      ...scriptedModel([]),
      doGenerate: ({ abortSignal }: { readonly abortSignal?: AbortSignal }) => {
        if (abortSignal !== undefined) signals.push(abortSignal);
        return new Promise<never>(() => undefined);
      },
    };
    const config = { model: model as never, streaming: false, streamIdleTimeoutMs: 100, modelMaxRetries: 1 };
    const server = await on.start(config);
    const request = await on.end(server.ask("Go."));
    await on.pass(499);
    expect([signals.length, signals[0]?.aborted]).toEqual([1, false]);
    const { failure } = await failureOf(on.end(request.result));
    expect({ ...failure, message: "" }).toEqual({ code: "model_answer_timeout", message: "", retryable: true });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    const events = await eventsOf(request);
    expect(events.flatMap((event) => (event.kind === "llm_retried" ? [event.data.failure.code] : []))).toEqual([
      "model_answer_timeout",
    ]);
    expectWhole(events);
    expect(told(await on.log()).at(-1)).toBe("error end:failed");
  });

  test("may take as long as that", async () => {
    const on = await stage();
    const server = await on.start({
      script: [{ text: "At last.", delayMs: 499 }],
      streaming: false,
      streamIdleTimeoutMs: 100,
    });
    expect((await on.end((await on.end(server.ask("Go."))).result)).text).toBe("At last.");
  });

  test("writes summaries under the same limit", async () => {
    const on = await stage();
    const script = ["1.", "2.", { hang: true }];
    const contextPolicy = { keepLastTurns: 1 };
    const server = await on.start({ script, streaming: false, modelMaxRetries: 0, contextPolicy });
    for (const content of ["One? ".repeat(100), "Two?"]) await on.end((await on.end(server.ask(content))).result);
    await expect(on.end(server.summarize())).rejects.toMatchObject({ code: "model_answer_timeout" });
  });
});

describe("the calls of a request", () => {
  const ended = async (on: Awaited<ReturnType<typeof stage>>, request: AgentRequest) => {
    const { text, terminationReason, calls } = await on.end(request.result);
    expectWhole(await eventsOf(request));
    await proveAll(on.store, on.threadId);
    return { text, terminationReason, calls: calls.length };
  };

  test("are no more than maxIterations, and the last text is kept", async () => {
    const on = await stage();
    const server = await on.start({ script: [looking, looking], tools: { look }, maxIterations: 2 });
    const request = await on.end(server.ask("Go."));
    expect(await ended(on, request)).toEqual({ text: "Looking.", terminationReason: "max_iterations", calls: 2 });
  });

  test("are a hundred, unless the agent says otherwise", async () => {
    const on = await stage();
    const script = Array.from({ length: 100 }, (_, n) => ({ calls: [{ id: `look_${n}`, name: "look" }] }));
    const server = await on.start({ script, tools: { look } });
    const request = await on.end(server.ask("Go."));
    expect(await ended(on, request)).toMatchObject({ terminationReason: "max_iterations", calls: 100 });
  });

  test("may be fewer for one request", async () => {
    const on = await stage();
    const server = await on.start({ script: [looking], tools: { look } });
    const request = await on.end(server.ask("Go.", { maxIterations: 1 }));
    expect(await ended(on, request)).toEqual({ text: "Looking.", terminationReason: "max_iterations", calls: 1 });
    expect((await failureOf(server.ask("Go.", { maxIterations: 0 }))).code).toBe("invalid_options");
  });

  test("end when they have cost what they may", async () => {
    const on = await stage();
    const costly = { ...looking, usage: { inputTokens: 90, outputTokens: 20 } };
    const server = await on.start({ script: [costly], tools: { look }, limits: { maxTokens: 100 } });
    const request = await on.end(server.ask("Go."));
    expect(await ended(on, request)).toEqual({ text: "Looking.", terminationReason: "limit", calls: 1 });
  });
});

describe("what a request has used", () => {
  const contextPolicy = { keepLastTurns: 1, autoSummarize: true, summarizeThreshold: 1, summarizationModel: "small" };
  const costly = scriptedModel([{ text: "x".repeat(2000), usage: { inputTokens: 70, outputTokens: 30 } }], {
    provider: "test",
    modelId: "small",
  });
  const model = () => scriptedModel(["1.", { text: "2.", usage: { inputTokens: 5, outputTokens: 1 } }]);

  test("is reported for each model, with a discarded summary, and the same after a restart", async () => {
    const on = await stage();
    const server = await on.start({ model: model(), models: { small: costly }, contextPolicy });
    await on.end((await on.end(server.ask("One?"))).result);
    const request = await on.end(server.ask("Two?"));
    const { usage, usageByModel } = await on.end(request.result);
    expect(usageByModel).toMatchObject({
      "scripted:scripted-model": { inputTokens: 5, outputTokens: 1 },
      "test:small": { inputTokens: 70, outputTokens: 30 },
    });
    expect([usage.inputTokens, usage.outputTokens]).toEqual([75, 31]);
    const events = await eventsOf(request);
    expect(events.at(-1)?.data).toMatchObject({ usage, usageByModel });
    expect(events.find(({ kind }) => kind === "summary_failed")?.data).toMatchObject({ usage: { inputTokens: 70 } });
    expect((await on.log()).find(({ payload }) => "summaryFailed" in payload)?.payload).toMatchObject({
      call: { model: "test:small", usage: { inputTokens: 70, outputTokens: 30 } },
    });
    await on.end(server.stop());
    const later = await on.start({ model: model() });
    expect((await on.end(later.result(request.id))).usageByModel).toEqual(usageByModel);
    expect(await on.store.usage({ threadId: on.threadId })).toMatchObject([
      {
        asks: 2,
        models: [
          { model: "scripted:scripted-model", calls: 2 },
          { model: "test:small", inputTokens: 70, calls: 1 },
        ],
      },
    ]);
  });

  test("is priced by model, and counts against the limit also where the summary was discarded", async () => {
    const on = await stage();
    const spender = scriptedModel([{ text: "x".repeat(2000), usage: { inputTokens: 70, outputTokens: 30 } }], {
      provider: "test",
      modelId: "small",
    });
    const prices: { readonly [model: string]: number } = { "test:small": 1, "scripted:scripted-model": 100 };
    const asked: string[] = [];
    const costUsd = ({ inputTokens = 0 }: { readonly inputTokens?: number }, name: string) => {
      asked.push(name);
      return inputTokens * (prices[name] ?? 0);
    };
    const limits = { maxCostUsd: 70, costUsd };
    const server = await on.start({ model: model(), models: { small: spender }, contextPolicy, limits });
    await on.end((await on.end(server.ask("One?"))).result);
    const { terminationReason, usageByModel } = await on.end((await on.end(server.ask("Two?"))).result);
    expect(terminationReason).toBe("limit");
    expect(Object.keys(usageByModel)).toEqual(["test:small"]);
    expect(asked).toContain("test:small");
  });
});

test("a price function that returns a promise ends the request, also when it rejects", async () => {
  const on = await stage();
  const unhandled: unknown[] = [];
  const listen = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", listen);
  try {
    const limits = { maxCostUsd: 70, costUsd: () => Promise.reject(new Error("no price list")) as never };
    const look = { inputSchema: anything, execute: () => "seen" };
    const server = await on.start({ script: [{ calls: [{ name: "look" }] }, "Seen."], tools: { look }, limits });
    const { terminationReason } = await on.end((await on.end(server.ask("Look."))).result);
    expect(terminationReason).toBe("limit");
    await new Promise((resolve) => setImmediate(resolve)); // Node reports it after the microtasks
    expect(unhandled).toEqual([]);
  } finally {
    process.off("unhandledRejection", listen);
  }
});

test("a tool is chosen, tokens are limited, and what is sent may be changed: the record proves what was sent", async () => {
  const on = await stage();
  const sent: unknown[] = [];
  const script = [
    (request: { messages: readonly { text?: string }[]; toolChoice?: unknown }) => {
      sent.push(request.messages.map(({ text }) => text));
      return "Hi.";
    },
  ];
  const server = await on.start({
    script,
    tools: { look },
    toolChoice: "required",
    maxOutputTokens: 50,
    transformRequest: ({ messages, settings }) => ({
      messages: messages.map((message) => (message.role === "user" ? { ...message, content: "Changed." } : message)),
      settings: { ...settings, temperature: 1 },
    }),
  });
  const request = await on.end(server.ask("Original."));
  await on.end(request.result);
  expect(sent).toEqual([["Changed."]]);
  const { rebuildCall } = await import("heddle");
  const [call] = (await request.result).calls;
  const rebuilt = await rebuildCall(on.store, on.threadId, call?.callId ?? "");
  expect(rebuilt.messages).toEqual([{ role: "user", content: "Changed." }]);
  expect(rebuilt.settings).toMatchObject({ toolChoice: "required", maxOutputTokens: 50, temperature: 1 });
  expect(told(await on.log())[0]).toBe("ask Original.");
});

describe("of what a transformer changed", () => {
  const CHANGES = {
    messages: [{ role: "user", content: "Changed." }],
    tools: [{ name: "look", description: "Look again.", inputSchema: { type: "object" } }],
    settings: { temperature: 1 },
  };
  const tools = { look: { description: "Look.", inputSchema: anything, execute: () => "seen" } };

  test.each([
    ["messages"],
    ["tools"],
    ["settings"],
    ["messages", "settings"],
    ["messages", "tools", "settings"],
  ] as const)("only what differs is stored, and the call is proven: %s %s %s", async (...given) => {
    const names = given.filter((name) => name !== undefined);
    const on = await stage();
    const changes = Object.fromEntries(names.map((name) => [name, CHANGES[name]]));
    const server = await on.start({ script: ["Yes."], tools, transformRequest: () => changes } as never);
    const request = await on.end(server.ask("Original."));
    const [call] = (await on.end(request.result)).calls;
    const rebuilt = await rebuildCall(on.store, on.threadId, call?.callId ?? "");
    const blob = await on.store.getBlob(rebuilt.record.sent ?? "");
    expect(blob).toEqual(changes);
    expect(rebuilt.messages).toEqual(
      names.includes("messages") ? CHANGES.messages : [{ role: "user", content: "Original." }],
    );
    expect(rebuilt.toolSpec).toMatchObject([{ description: names.includes("tools") ? "Look again." : "Look." }]);
    expect(rebuilt.settings["temperature"]).toBe(names.includes("settings") ? 1 : undefined);
    expect(rebuilt.proven).toBe(true);
  });

  test("settings that change with each call do not store the conversation again", async () => {
    const on = await stage();
    let seed = 0;
    let bytes = 0;
    const putBlob = on.store.putBlob.bind(on.store);
    on.store.putBlob = (blob) => {
      bytes += JSON.stringify(blob).length;
      return putBlob(blob);
    };
    const transformRequest = ({ settings }: { settings: object }) => ({ settings: { ...settings, seed: seed++ } });
    const server = await on.start({ script: Array.from({ length: 10 }, () => "Yes."), transformRequest } as never);
    for (let n = 0; n < 10; n++) await on.end((await on.end(server.ask("x".repeat(1_000)))).result);
    expect(bytes).toBeLessThan(10_000); // the words alone are 55,000, when they are stored at each call
    expect(await proveAll(on.store, on.threadId)).toBe(10);
  });

  test("what an earlier version stored, all three, is still proven", async () => {
    const on = await stage();
    const server = await on.start({
      script: ["Yes."],
      tools,
      transformRequest: () => ({ settings: CHANGES.settings }),
    } as never);
    const request = await on.end(server.ask("Original."));
    await on.end(request.result);
    const sent = await on.store.putBlob({
      messages: [{ role: "user", content: "Original." }],
      tools: [{ name: "look", description: "Look.", inputSchema: { type: "object" } }],
      settings: CHANGES.settings,
    });
    const old = (await on.log()).map(({ kind, payload, refs, at }) => {
      const isCall = "call" in payload;
      return {
        kind,
        payload: isCall ? { ...payload, call: { ...(payload["call"] as object), sent } } : payload,
        refs,
        at,
      };
    });
    await on.store.append("thread_old", old as never);
    const [{ refs: { callId = "" } = {} } = {}] = old.filter(({ payload }) => "call" in payload);
    expect(await rebuildCall(on.store, "thread_old", callId)).toMatchObject({
      proven: true,
      settings: CHANGES.settings,
    });
  });
});

test("a transformer that throws or gives nonsense fails the request", async () => {
  for (const transformRequest of [() => Promise.reject(new Error("no")), () => ({ messages: [() => 1] })]) {
    const on = await stage();
    const server = await on.start({ script: [], transformRequest } as never);
    const request = await on.end(server.ask("Go."));
    const error = await failureOf(on.end(request.result));
    expect(error.code).toBe("request_failed");
    expectWhole(await eventsOf(request));
  }
});

test("what the agent does not accept leaves the thread as it is", async () => {
  const on = await stage();
  const accept = (_agent: unknown, { content }: { content: unknown }) => (content === "No." ? "not that" : undefined);
  const server = await on.start({ script: ["Yes."], accept } as never);
  const error = await failureOf(on.end(server.ask("No.")));
  expect({ code: error.code, message: error.message }).toEqual({ code: "not_accepted", message: "not that" });
  expect((await failureOf(on.end(server.ask("x".repeat(1_000_000))))).code).toBe("pending_overflow");
  expect((await failureOf(on.end(server.ask("  ")))).code).toBe("empty_ask");
  expect(await on.log()).toEqual([]);
  await on.end((await on.end(server.ask("Yes?"))).result);
  expect(await on.log()).toHaveLength(2);
});
