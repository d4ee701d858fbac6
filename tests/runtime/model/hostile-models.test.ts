import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { callModel } from "../../../src/runtime/model/call.ts";
import {
  callOf,
  fake,
  fakeTime,
  finish,
  modelErrorOf,
  says,
  settled,
  streamOf,
  stuckAfter,
  text,
} from "./support/fakes.ts";

const unhandled: unknown[] = [];
const note = (reason: unknown): number => unhandled.push(reason);

beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", note);
});

afterEach(async () => {
  await settled();
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

const begun = [
  { type: "reasoning-start", id: "r" },
  { type: "reasoning-delta", id: "r", delta: "Hm" },
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: "Half an" },
];

describe("an abort", () => {
  test("ends a call whose model ignores it, keeps the text, and closes the stream", async () => {
    const cancelled: unknown[] = [];
    const model = fake(() => stuckAfter(begun, (reason) => cancelled.push(reason)));
    const controller = new AbortController();
    const call = callModel(callOf(model, { signal: controller.signal, onDelta: () => {} }));
    await settled();
    controller.abort();
    const error = await modelErrorOf(call);
    expect(error).toMatchObject({ code: "model_aborted", retryable: false });
    expect(error.partial).toEqual({ content: "Half an", usage: {} });
    expect(model.calls[0]?.abortSignal?.aborted).toBe(true);
    await settled();
    expect(cancelled).toHaveLength(1);
  });

  test("leaves no call behind, of ours or of the provider, that nothing will answer", async () => {
    const controller = new AbortController();
    const parts = [
      ...text("0", "Look:"),
      { type: "tool-call", toolCallId: "p", toolName: "search", input: "{}", providerExecuted: true },
      { type: "tool-call", toolCallId: "c", toolName: "f", input: "{}" },
      ...text("1", "And:"),
    ];
    const call = callModel(
      callOf(
        fake(() => stuckAfter(parts)),
        { signal: controller.signal },
      ),
    );
    await settled();
    controller.abort();
    expect((await modelErrorOf(call)).partial?.content).toEqual([
      { type: "text", text: "Look:" },
      { type: "text", text: "And:" },
    ]);
  });

  test("ends a call that has not begun to answer; what it does later is closed, or swallowed", async () => {
    for (const streaming of [true, false]) {
      const cancelled: unknown[] = [];
      const late = Promise.withResolvers<never>();
      const opened = Promise.withResolvers<{ stream: ReadableStream<unknown> }>();
      const controller = new AbortController();
      const model = { ...says([]), doStream: () => opened.promise, doGenerate: () => late.promise };
      const call = callModel(callOf(model, { signal: controller.signal, streaming }));
      await settled();
      controller.abort();
      expect((await modelErrorOf(call)).code).toBe("model_aborted");
      if (streaming) late.promise.catch(() => undefined);
      late.reject(new Error("too late"));
      opened.resolve({ stream: stuckAfter(begun, (reason) => cancelled.push(reason)) });
      await settled();
      expect(cancelled).toHaveLength(streaming ? 1 : 0);
    }
  });

  test("before the call means that the model is not asked", async () => {
    const model = says([finish]);
    expect((await modelErrorOf(callModel(callOf(model, { signal: AbortSignal.abort() })))).code).toBe("model_aborted");
    expect(model.calls).toEqual([]);
  });

  test("explains whatever the model throws when it hears of it", async () => {
    const controller = new AbortController();
    const stream = new ReadableStream({
      pull(controls) {
        controller.signal.addEventListener("abort", () => controls.error(new Error("socket hang up")));
      },
    });
    const call = callModel(
      callOf(
        fake(() => stream),
        { signal: controller.signal },
      ),
    );
    await settled();
    controller.abort();
    expect((await modelErrorOf(call)).code).toBe("model_aborted");
  });

  test("leaves no listener on the signal of the caller once the call is over", async () => {
    const { signal } = new AbortController();
    const listeners = new Set<unknown>();
    Object.assign(signal, {
      addEventListener: (_: string, listener: unknown) => listeners.add(listener),
      removeEventListener: (_: string, listener: unknown) => listeners.delete(listener),
    });
    await callModel(callOf(says([...text("0", "Hi"), finish]), { signal }));
    expect(listeners.size).toBe(0);
  });
});

describe("silence", () => {
  test("that lasts too long ends the call, before the first part and after any", async () => {
    for (const parts of [[], begun]) {
      const ports = fakeTime();
      const model = fake(() => stuckAfter(parts));
      const call = callModel(callOf(model, { ports, idleTimeoutMs: 5000 }));
      const error = modelErrorOf(call);
      await ports.pass(4999);
      expect(ports.waits()).toEqual([5000]);
      await ports.pass(1);
      expect(await error).toMatchObject({ code: "model_stream_idle", retryable: true });
      expect((await error).partial?.content).toBe(parts.length === 0 ? undefined : "Half an");
      expect(model.calls[0]?.abortSignal?.aborted).toBe(true);
      expect(ports.waits()).toEqual([]);
    }
  });

  test("is broken by every part, also by one that says nothing", async () => {
    const ports = fakeTime();
    let send: (part: unknown) => void = () => {};
    const stream = new ReadableStream({
      start: (controls) => {
        send = (part) => controls.enqueue(part);
      },
    });
    const call = callModel(
      callOf(
        fake(() => stream),
        { ports, idleTimeoutMs: 5000 },
      ),
    );
    for (const part of [{ type: "ping" }, { type: "text-delta", id: "0", delta: "Hi" }, { type: "ping" }]) {
      await ports.pass(4000);
      send(part);
    }
    await ports.pass(4000);
    send(finish);
    expect((await call).content).toBe("Hi");
  });
});

describe("a stream that ends without a word", () => {
  test("is interrupted, and retried, when it has no content", async () => {
    const thinking = begun.slice(0, 2);
    const thought = [...thinking, { type: "reasoning-end", id: "r" }];
    for (const parts of [[], thinking, thought, [{ type: "finish", finishReason: { unified: "interrupted" } }]]) {
      const error = await modelErrorOf(callModel(callOf(says(parts))));
      expect(error).toMatchObject({ code: "model_stream_interrupted", retryable: true });
    }
  });

  test("is an answer when it has content, without the thinking that has no end", async () => {
    expect(await callModel(callOf(says(begun)))).toMatchObject({
      content: "Half an",
      finishReason: "interrupted",
      usage: {},
    });
  });
});

test("a silence that the filter or an error explains is no answer; with text it is one", async () => {
  const ends = { "content-filter": "model_refused", error: "model_answer_empty", other: "model_answer_empty" };
  for (const [unified, code] of Object.entries(ends)) {
    const end = { ...finish, finishReason: { unified } };
    const error = await modelErrorOf(callModel(callOf(says([end]))));
    expect(error).toMatchObject({
      code,
      retryable: unified !== "content-filter",
      partial: { content: "", usage: { inputTokens: 10 } },
    });
    expect(await callModel(callOf(says([...text("0", "I"), end])))).toMatchObject({
      content: "I",
      finishReason: unified,
    });
  }
});

test("a stream is not read any more after its finish", async () => {
  const cancelled: unknown[] = [];
  const parts = [...text("0", "Hi"), finish, ...text("1", "more")];
  const model = fake(() => stuckAfter(parts, (reason) => cancelled.push(reason)));
  expect((await callModel(callOf(model))).content).toBe("Hi");
  expect(cancelled).toHaveLength(1);
});

test("an answer without end is too large at some point, also one of empty parts", async () => {
  for (const delta of ["x".repeat(100), ""]) {
    let sent = 0;
    const stream = new ReadableStream({
      pull: (controls) => {
        sent++;
        controls.enqueue({ type: "text-delta", id: "0", delta });
      },
    });
    const error = await modelErrorOf(
      callModel(
        callOf(
          fake(() => stream),
          { maxAnswerBytes: 100_000 },
        ),
      ),
    );
    expect(error).toMatchObject({ code: "model_answer_too_large", retryable: false });
    expect(sent).toBeLessThan(4000);
  }
  const part = { type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array(2000) } };
  const whole = callModel(callOf(says([part]), { streaming: false, maxAnswerBytes: 1000 }));
  expect((await modelErrorOf(whole)).code).toBe("model_answer_too_large");
});

test("parts that are none are passed over", async () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const garbage = [
    undefined,
    null,
    7,
    "text",
    {},
    [],
    proxy,
    { type: 5 },
    { type: "text-delta" },
    { type: "text-delta", id: 7, delta: { a: 1 } },
    { type: "tool-input-delta", id: "none", delta: "{" },
    { type: "file", mediaType: "image/png", data: 7 },
    { type: "file", mediaType: "image/png", data: { type: "url", url: "no url" } },
    { type: "something-new", text: "?" },
  ];
  expect((await callModel(callOf(says([...garbage, ...text("0", "Hi"), finish])))).content).toBe("Hi");
  for (const content of [undefined, 7, garbage]) {
    const model = { ...says([]), doGenerate: async () => ({ content, finishReason: 7, usage: "none" }) as never };
    const error = await modelErrorOf(callModel(callOf(model, { streaming: false })));
    expect(error).toMatchObject({ code: "model_answer_empty", retryable: true });
  }
});

test.each([
  [
    "throws at once",
    () => {
      throw new Error("boom");
    },
  ],
  ["rejects", async () => Promise.reject(new Error("boom"))],
  ["gives no stream", async () => ({})],
  ["gives nothing", () => undefined],
  [
    "gives a stream that somebody else reads",
    async () => {
      const stream = streamOf([]);
      stream.getReader();
      return { stream };
    },
  ],
  [
    "throws in pull",
    async () => ({
      stream: new ReadableStream({
        pull: () => {
          throw new Error("boom");
        },
      }),
    }),
  ],
  ["rejects with nothing", async () => Promise.reject(undefined)],
])("a model that %s gives a ModelError", async (_, doStream) => {
  const model = { ...says([]), doStream: doStream as never };
  expect(await modelErrorOf(callModel(callOf(model)))).toMatchObject({ code: "model_error", retryable: false });
});

test("an error in the stream is classified, with the text before it", async () => {
  const error = { message: "Overloaded", type: "overloaded_error", isRetryable: true };
  const thrown = await modelErrorOf(callModel(callOf(says([...begun, { type: "error", error }, finish]))));
  expect(thrown).toMatchObject({
    code: "model_overloaded",
    retryable: true,
    cause: error,
    partial: { content: "Half an" },
  });
});

test("what onDelta throws is thrown on as it is, and the stream is closed", async () => {
  const cancelled: unknown[] = [];
  const model = fake(() => stuckAfter(begun, (reason) => cancelled.push(reason)));
  const own = new Error("mine");
  const onDelta = (): void => {
    throw own;
  };
  await expect(callModel(callOf(model, { onDelta }))).rejects.toBe(own);
  await settled();
  expect(cancelled).toHaveLength(1);
  expect(model.calls[0]?.abortSignal?.aborted).toBe(true);
});

test("a model of no known specification is refused with what to pass", async () => {
  const model = { ...says([]), specificationVersion: "v1" as never };
  expect((await modelErrorOf(callModel(callOf(model)))).code).toBe("model_unsupported");
});

test("a message that cannot be sent says so under its own code", async () => {
  const file = { type: "file", mediaType: "image/png", data: { blob: "abc" } } as const;
  const call = callModel(callOf(says([finish]), { messages: [{ role: "user", content: [file] }] }));
  expect((await modelErrorOf(call)).code).toBe("file_unsendable");
});
