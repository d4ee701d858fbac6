import { AgentServer, type AnyAgent, defineAgent, type ThreadStore, type Tools } from "heddle";
import { toUIMessages, uiMessageStream } from "heddle/ai-sdk";
import { faultStore, type ScriptedAnswer, type ScriptedStep, scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { isSoak } from "../../support/case-budget.ts";
import {
  anything,
  eventsOf,
  expectWhole,
  failureOf,
  gate,
  proveAll,
  type Stage,
  stage,
  told,
} from "../support/stage.ts";
import { readBySdk } from "../ui-messages/chat.ts";

const CUT: readonly (readonly [what: string, step: ScriptedAnswer])[] = [
  ["an error of the provider", { text: ["Wro", "ng"], error: { status: 503 }, after: 1 }],
  ["a lost connection", { text: ["Wro", "ng"], error: new Error("socket hang up"), after: 2 }],
  ["a finish with an error", { text: ["Wro", "ng"], finishReason: "error" }],
  ["an error within a tool call", { text: "Wro", calls: [{ name: "pay" }], error: { status: 529 }, after: 2 }],
];

/** The notes of failed attempts. */
async function failedAttempts(on: Stage): Promise<readonly unknown[]> {
  return (await on.log()).flatMap(({ payload }) => ("retried" in payload ? [payload["retried"]] : []));
}

describe.each(CUT)("a stream that is cut after its first word by %s", (_what, cut) => {
  test("is made again, and its words are discarded", async () => {
    const on = await stage();
    const ran: string[] = [];
    const pay = { inputSchema: anything, execute: () => void ran.push("pay") };
    const server = await on.start({ script: [cut, "Right."], tools: { pay } });
    const request = await on.end(server.ask("Go."));
    const result = await on.end(request.result);
    expect(result.text).toBe("Right.");
    expect(ran).toEqual([]);
    const events = await eventsOf(request);
    expectWhole(events);
    const retried = events.filter(({ kind }) => kind === "llm_retried");
    expect(retried).toMatchObject([{ data: { attempt: 1, waitMs: 500 } }]);
    expect(new Set(events.flatMap(({ kind, callId }) => (kind.startsWith("llm_") ? [callId] : []))).size).toBe(1);
    expect(told(await on.log())).toEqual(["ask Go.", "note", "says Right. end:completed"]);
    expect((await on.log()).at(-1)?.payload).toMatchObject({ call: { attempts: 2 } });
    expect(await proveAll(on.store, on.threadId)).toBe(1);
  });

  test("is shown once on a page, also after a reload", async () => {
    const on = await stage();
    const pay = { inputSchema: anything, execute: () => "paid" };
    const server = await on.start({ script: [cut, "Right."], tools: { pay } });
    const request = await on.end(server.ask("Go."));
    const read = readBySdk(uiMessageStream(request));
    await on.end(request.result);
    const { message, errors } = await on.end(read);
    expect(errors).toEqual([]);
    const texts = message.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
    expect(texts).toEqual(["Right."]);
    const reloaded = toUIMessages(await server.thread()).at(-1);
    expect(reloaded?.parts.flatMap((part) => (part.type === "text" ? [part.text] : []))).toEqual(["Right."]);
  });
});

test("the usage of a cut attempt counts, where the provider has sent it", async () => {
  const on = await stage();
  const usage = { inputTokens: 100, outputTokens: 7 };
  const script: readonly ScriptedStep[] = [
    { text: "Wrong", usage, finishReason: "error" },
    { text: "Right.", usage },
  ];
  const server = await on.start({ script });
  const result = await on.end((await on.end(server.ask("Go."))).result);
  expect(result.usage).toMatchObject({ inputTokens: 200, outputTokens: 14 });
  expect(result.calls).toHaveLength(1);
});

test("the usage of a cut attempt is estimated where the provider has not sent it", async () => {
  const on = await stage();
  const cut: ScriptedStep = { text: ["Wro", "ng words"], error: { status: 503 }, after: 2 };
  const usage = { inputTokens: 100, outputTokens: 7 };
  const tokenCounter = { id: "letters", count: (text: string) => text.length };
  const contextPolicy = { tokenEstimator: "exact" } as const;
  const server = await on.start({ script: [cut, { text: "Right.", usage }], tokenCounter, contextPolicy });
  const result = await on.end((await on.end(server.ask("Go."))).result);
  const [first] = (await on.log()).flatMap(({ payload }) =>
    "retried" in payload ? [Object(payload["call"]).usage] : [],
  );
  expect(first).toMatchObject({ outputTokens: "Wrong words".length, estimated: true });
  const inputTokens = 100 + Number(Object(first).inputTokens);
  expect(result.usage).toMatchObject({ inputTokens, outputTokens: 7 + "Wrong words".length, estimated: true });
});

const busy: ScriptedAnswer = { text: ["Wro", "ng"], error: { status: 503 }, after: 1 };

test("a call is made five times; the last attempt keeps its words and fails the request", async () => {
  const on = await stage();
  const server = await on.start({ script: Array.from({ length: 9 }, () => busy) });
  const request = await on.end(server.ask("Go."));
  const error = await failureOf(on.end(request.result));
  expect(error.failure).toMatchObject({ code: "model_unavailable", retryable: true });
  const waits = (await eventsOf(request)).flatMap((event) => (event.kind === "llm_retried" ? [event.data.waitMs] : []));
  expect(waits).toEqual([500, 1_000, 2_000, 4_000]);
  expect(told(await on.log())).toEqual(["ask Go.", ...waits.map(() => "note"), "says Wro", "error end:failed"]);
  expect((await on.log()).at(-2)?.payload).toMatchObject({ partial: true, call: { attempts: 5 } });
});

test("the counter begins again with each call", async () => {
  const on = await stage();
  const look = { inputSchema: anything, execute: () => "seen" };
  const calls = { calls: [{ name: "look" }] };
  const server = await on.start({ script: [busy, calls, busy, "Done."], tools: { look }, modelMaxRetries: 1 });
  expect((await on.end((await on.end(server.ask("Go."))).result)).text).toBe("Done.");
});

test("a wait that the provider asks for is kept", async () => {
  const on = await stage();
  const asks = { text: ["Wro", "ng"], error: { status: 429, retryAfterMs: 7_000 }, after: 1 };
  const server = await on.start({ script: [asks, "Right."] });
  const request = await on.end(server.ask("Go."));
  await on.end(request.result);
  const retried = (await eventsOf(request)).find(({ kind }) => kind === "llm_retried");
  expect(retried?.data).toMatchObject({ waitMs: 7_000 });
});

test("a request that is cancelled while it waits makes no other attempt", async () => {
  const on = await stage();
  const server = await on.start({ script: [busy, () => Promise.reject(new Error("It was called."))] });
  const request = await on.end(server.ask("Go."));
  for await (const { kind } of request.events()) if (kind === "llm_retried") break;
  await on.end(server.cancel());
  expect((await failureOf(request.result)).code).toBe("request_cancelled");
  expect(told(await on.log())).toEqual(["ask Go.", "note", "error end:cancelled"]);
});

test("another process that takes over continues the count", async () => {
  const on = await stage();
  const store = faultStore(on.store);
  const first = await on.start({ script: [busy, busy, { hang: true }] }, { store });
  const request = await on.end(first.ask("Go."));
  let retries = 0;
  void (async () => {
    for await (const { kind } of request.events()) if (kind === "llm_retried") retries += 1;
  })();
  while (retries < 2) await on.pass(100);
  await on.pass(2_000); // the third attempt hangs
  store.crash();
  const model = scriptedModel(Array.from({ length: 9 }, () => busy));
  const second = await on.start({ model });
  expect((await failureOf(on.end(second.result(request.id)))).failure?.code).toBe("model_unavailable");
  expect(await failedAttempts(on)).toHaveLength(3);
  expect((await on.log()).at(-2)?.payload).toMatchObject({ partial: true, call: { attempts: 5 } });
});

const STEPS = 20;
const AT_ONCE = 50;

/** Numbers from 0 up to 1; the same for the same seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** A model that calls a tool in each of its steps but the last; one of ten of its streams is cut. */
function unreliable(random: () => number, cut: () => void): () => ScriptedAnswer {
  let step = 0;
  return () => {
    const calls = [{ id: `call_${step}`, name: "work" }];
    const whole = step < STEPS - 1 ? { text: ["Step ", `${step}`], calls } : { text: ["Do", "ne."] };
    if (random() >= 0.1) {
      step += 1;
      return whole;
    }
    cut();
    if (random() < 0.3) return { ...whole, finishReason: "error" };
    return random() < 0.5
      ? { ...whole, error: { status: 503 }, after: 1 }
      : { ...whole, error: new Error("socket hang up"), after: 2 };
  };
}

test("with one stream in ten cut, long requests complete, and no tool runs twice", async () => {
  const requests = isSoak ? 1_000 : AT_ONCE;
  const on = await stage();
  let cuts = 0;
  let completed = 0;
  const asked = async (seed: number): Promise<void> => {
    const ran: string[] = [];
    const execute = (_input: unknown, { toolCallId }: { toolCallId: string }): string => {
      ran.push(toolCallId);
      return "worked";
    };
    const answer = unreliable(seeded(seed), () => {
      cuts += 1;
    });
    const model = scriptedModel(Array.from({ length: STEPS * 6 }, () => answer));
    const tools: Tools = { work: { inputSchema: anything, execute } };
    const agent = defineAgent({ model, tools }) as AnyAgent;
    const options = { agent, store: on.store, threadId: `thread_${seed}`, ports: on.ports };
    const server = await AgentServer.start(options);
    const end = await (await server.ask("Go.")).result.catch(() => undefined);
    if (end?.text === "Done.") completed += 1;
    expect(new Set(ran).size).toBe(ran.length);
    await server.stop();
  };
  for (let first = 1; first <= requests; first += AT_ONCE) {
    await on.end(Promise.all(Array.from({ length: AT_ONCE }, (_, index) => asked(first + index))));
  }
  expect(cuts).toBeGreaterThan(requests);
  expect(completed).toBeGreaterThanOrEqual(requests - requests / 1_000);
}, 300_000);

describe("the usage of a call that a stop cuts", () => {
  const usage = { inputTokens: 100, outputTokens: 7 };
  const hanging: ScriptedStep = { text: ["Half an", " answer"], hang: true };
  const letters = { id: "letters", count: (text: string) => text.length };
  const config = { tokenCounter: letters, contextPolicy: { tokenEstimator: "exact" } } as const;
  const half = "Half an answer".length;

  /** The usage of a thread in the result of its request, and in the sums of the store. */
  async function resumed(on: Stage, requestId: string, script: readonly ScriptedStep[]) {
    const next = await on.start({ script, ...config });
    const result = await on.end(next.result(requestId));
    const all = await next.usage();
    const [day] = await on.store.usage({ threadId: on.threadId });
    await on.end(next.stop());
    const { model: _name, calls, ...sum } = day?.models[0] ?? { model: "", calls: 0 };
    return { result: result.usage, all: all.usage, calls, sum };
  }

  const notes = async (on: Stage) =>
    (await on.log()).flatMap(({ payload }) => ("handedOver" in payload ? [payload["call"]] : []));

  test.each([0, 200])("with a grace of %s ms is estimated in the log, and counts once", async (graceMs) => {
    const on = await stage();
    const server = await on.start({ script: [hanging], ...config });
    const { id } = await on.end(server.ask("Go."));
    await on.settled();
    await on.end(server.stop({ graceMs }));
    const cut = { inputTokens: expect.any(Number), outputTokens: half, estimated: true };
    expect(await notes(on)).toEqual([{ model: "scripted:scripted-model", usage: cut, finishReason: "error" }]);
    const { result, all, calls, sum } = await resumed(on, id, [{ text: "Right.", usage }]);
    expect(result).toMatchObject({ outputTokens: 7 + half, estimated: true });
    expect(result.inputTokens).toBeGreaterThan(100);
    expect([all.inputTokens, all.outputTokens]).toEqual([result.inputTokens, result.outputTokens]);
    expect([calls, sum]).toMatchObject([2, { inputTokens: result.inputTokens, outputTokens: result.outputTokens }]);
  });

  test("is nothing before the first word", async () => {
    const on = await stage();
    const server = await on.start({ script: [{ hang: true }], ...config });
    const { id } = await on.end(server.ask("Go."));
    await on.settled();
    await on.end(server.stop({ graceMs: 0 }));
    expect(await notes(on)).toEqual([undefined]);
    expect(await resumed(on, id, [{ text: "Right.", usage }])).toMatchObject({ result: usage, calls: 1 });
  });

  test("does not count a cut attempt again, whose next one waits", async () => {
    const on = await stage();
    const cut: ScriptedStep = { text: "Half an answer", error: { status: 503 }, after: 1 };
    const server = await on.start({ script: [cut, hanging], ...config });
    const { id } = await on.end(server.ask("Go."));
    await on.settled();
    expect(await failedAttempts(on)).toHaveLength(1);
    await on.end(server.stop({ graceMs: 0 }));
    expect(await notes(on)).toEqual([undefined]);
    const { result, calls } = await resumed(on, id, [{ text: "Right.", usage }]);
    expect([result.outputTokens, calls]).toEqual([7 + half, 2]);
  });

  test.each(["retried", "toolCalls"])(
    "is that of one call where the stop comes as its %s is written",
    async (field) => {
      const [written, isWriting] = [gate(), gate()];
      const around = (store: ThreadStore): ThreadStore => ({
        ...store,
        append: async (id, entries, options) => {
          if ([entries].flat().some(({ payload }) => Object(payload)[field] !== undefined)) {
            isWriting.resolve();
            await written.promise;
          }
          return store.append(id, entries, options);
        },
      });
      const on = await stage({ around });
      const look = { inputSchema: anything, execute: () => new Promise<string>(() => undefined), repeatable: true };
      const cut: ScriptedStep = { text: "Half an answer", error: { status: 503 }, after: 1 };
      const calls: ScriptedStep = { calls: [{ name: "look" }], usage };
      const script = [field === "retried" ? cut : calls];
      const server = await on.start({ script, ...config, tools: { look } });
      await on.end(server.ask("Go."));
      await on.end(isWriting.promise);
      const stopped = server.stop({ graceMs: 0 });
      written.resolve();
      await on.end(stopped);
      expect(await notes(on)).toEqual([undefined]);
      expect((await on.store.usage({ threadId: on.threadId }))[0]?.models).toMatchObject([{ calls: 1 }]);
    },
  );

  test("is that of the provider where the answer is whole, and its blobs are being stored", async () => {
    const stored = gate();
    let isSlow = true;
    const around = (store: ThreadStore): ThreadStore => ({
      ...store,
      putBlob: async (...args) => {
        if (isSlow) await stored.promise;
        return store.putBlob(...args);
      },
    });
    const on = await stage({ around });
    const server = await on.start({ script: [{ text: "Half an answer", usage }], ...config });
    const { id } = await on.end(server.ask("Go."));
    await on.settled();
    const stopped = server.stop({ graceMs: 0 });
    await on.settled();
    isSlow = false;
    stored.resolve();
    await on.end(stopped);
    expect(await notes(on)).toMatchObject([{ usage }]);
    expect(await resumed(on, id, [{ text: "Right.", usage }])).toMatchObject({
      result: { inputTokens: 200, outputTokens: 14 },
      calls: 2,
    });
  });

  test("counts once where its request is cancelled at the same time", async () => {
    const on = await stage();
    const server = await on.start({ script: [hanging], ...config });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    const cancelled = server.cancel();
    await on.end(server.stop({ graceMs: 0 }));
    await on.end(cancelled);
    const { usage: own } = await on.end(failureOf(request.result));
    expect(own).toMatchObject({ outputTokens: half, estimated: true });
    const [day] = await on.store.usage({ threadId: on.threadId });
    expect(day?.models).toMatchObject([{ calls: 1, outputTokens: half }]);
  });
});
