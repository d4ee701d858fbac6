import type { SummaryRange } from "heddle/core";
import { assistant, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { eventsOf, expectWhole, failureOf, proveAll, type Stage, stage, told } from "../support/stage.ts";

const long = (text: string) => `${text} ${"and so on ".repeat(60)}`;
const summaries = async (on: Stage) =>
  (await on.log()).filter(({ kind }) => kind === "summary").map(({ payload }) => payload);
const asked = async (on: Stage, server: Awaited<ReturnType<Stage["start"]>>, ...texts: string[]) => {
  for (const text of texts) await on.end((await on.end(server.ask(text))).result);
};

describe("a summary on demand", () => {
  test("is written by the model, leaves the last turns alone, and takes the place of what it covers", async () => {
    const on = await stage();
    const script = [
      "1.",
      "2.",
      "3.",
      "They counted.",
      { expect: { system: /They counted/, messages: [{ text: "Three?" }, {}, { text: "Four?" }] }, text: "4." },
    ];
    const server = await on.start({ script: script as never, contextPolicy: { keepLastTurns: 1 } });
    await asked(on, server, long("One?"), long("Two?"), "Three?");
    const { seq } = await on.end(server.summarize());
    expect((await on.log())[seq]).toMatchObject({
      kind: "summary",
      payload: {
        fromSeq: 0,
        toSeq: 3,
        content: "They counted.",
        call: { usage: { outputTokens: expect.any(Number) }, finishReason: "stop", model: expect.any(String) },
      },
    });
    await asked(on, server, "Four?");
    await proveAll(on.store, on.threadId);
  });

  test("reaches to the beginning of a thread of which only the end is loaded", async () => {
    const on = await stage();
    const ranges: SummaryRange[] = [];
    const turns = Array.from({ length: 200 }, (_, n) => [user(`Question ${n}?`), assistant(`Answer ${n}.`)]);
    await on.store.append(on.threadId, turns.flat());
    const summarizer = { summarize: async (range: SummaryRange) => `Summary ${ranges.push(range)}.` };
    const first = await on.start({ script: ["Yes."] });
    await asked(on, first, "There?");
    await on.end(first.stop());
    const contextPolicy = { maxInputTokens: 600, reserveOutputTokens: 100, keepLastTurns: 1 };
    const server = await on.start({ script: [], summarizer, contextPolicy });
    expect((await server.thread()).firstSeq).toBeGreaterThan(20);
    await on.end(server.summarize({ toSeq: 11 }));
    expect(ranges.map(({ fromSeq, toSeq, messages }) => [fromSeq, toSeq, messages.length])).toEqual([[0, 11, 12]]);
    expect(await failureOf(on.end(server.summarize({ toSeq: 11 })))).toMatchObject({ code: "nothing_to_summarize" });
  });

  test("rolls: the next one is made from it, and nothing is summarized twice", async () => {
    const on = await stage();
    const ranges: SummaryRange[] = [];
    const summarizer = { summarize: async (range: SummaryRange) => `Summary ${ranges.push(range)}.` };
    const server = await on.start({ script: ["1.", "2.", "3."], summarizer, contextPolicy: { keepLastTurns: 1 } });
    await asked(on, server, long("One?"), long("Two?"));
    await on.end(server.summarize());
    expect((await failureOf(on.end(server.summarize()))).code).toBe("nothing_to_summarize");
    await asked(on, server, "Three?");
    await on.end(server.summarize());
    expect(ranges[1]).toMatchObject({ fromSeq: 2, toSeq: 4, previous: { content: "Summary 1.", toSeq: 1 } });
    expect(await summaries(on)).toMatchObject([{ toSeq: 1 }, { fromSeq: 0, toSeq: 4 }]);
    expect((await failureOf(on.end(server.summarize({ toSeq: 99 })))).code).toBe("invalid_options");
  });

  test("may be asked for while a request runs, which is not disturbed", async () => {
    const on = await stage();
    const summarizer = { summarize: async () => "Counted." };
    const server = await on.start({
      script: ["1.", "2.", { text: "3.", delayMs: 50 }, { expect: { system: /Counted/ }, text: "4." }] as never,
      summarizer,
      contextPolicy: { keepLastTurns: 1 },
    });
    await asked(on, server, long("One?"), long("Two?"));
    const request = await on.end(server.ask("Three?"));
    const { seq } = await on.end(server.summarize({ toSeq: 3 }));
    expect(seq).toBe(5);
    expect((await on.end(request.result)).text).toBe("3.");
    expectWhole(await eventsOf(request));
    await asked(on, server, "Four?");
    await proveAll(on.store, on.threadId);
  });

  test.each([
    ["throws", () => Promise.reject(new Error("no"))],
    ["says nothing", async () => " "],
    ["is no smaller", async () => "x".repeat(50_000)],
    ["gives no text", async () => 7],
  ])("by a summarizer that %s is refused, and nothing is written", async (_what, summarize) => {
    const on = await stage();
    const server = await on.start({
      script: ["1.", "2."],
      summarizer: { summarize } as never,
      contextPolicy: { keepLastTurns: 1 },
    });
    await asked(on, server, long("One?"), "Two?");
    await expect(on.end(server.summarize())).rejects.toThrow();
    expect(await summaries(on)).toEqual([]);
  });
});

describe("an automatic summary", () => {
  const policy = { keepLastTurns: 1, autoSummarize: true, summarizeThreshold: 3 } as const;

  test("is written before the call that needs it", async () => {
    const on = await stage();
    const server = await on.start({
      script: ["1.", "2.", "The sum.", { expect: { system: /The sum/ }, text: "3." }] as never,
      contextPolicy: policy,
    });
    await asked(on, server, long("One?"), long("Two?"));
    const request = await on.end(server.ask("Three?"));
    expect((await on.end(request.result)).text).toBe("3.");
    const events = await eventsOf(request);
    expectWhole(events);
    expect(events.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["summary_started", "summary_completed"]));
    const { usage, calls } = await request.result;
    const [completed] = events.filter(({ kind }) => kind === "summary_completed");
    const ofSummary = completed?.kind === "summary_completed" ? (completed.data.usage?.inputTokens ?? 0) : 0;
    expect(ofSummary).toBeGreaterThan(0);
    expect(usage.inputTokens).toBe(ofSummary + (calls[0]?.usage.inputTokens ?? 0));
    await proveAll(on.store, on.threadId);
  });

  test.each([
    ["throws", () => Promise.reject(new Error("no"))],
    ["says nothing", async () => " "],
    ["is no smaller", async () => "x".repeat(50_000)],
  ])("that %s is left out, told of, and not tried again for the same boundary", async (_what, summarize) => {
    const on = await stage();
    let tries = 0;
    const summarizer = {
      summarize: () => {
        tries += 1;
        return summarize();
      },
    };
    const look = { inputSchema: { type: "object" }, execute: () => "seen" } as const;
    const script = ["1.", "2.", { calls: [{ name: "look" }] }, { calls: [{ name: "look" }] }, "3."];
    const server = await on.start({ script, summarizer, contextPolicy: policy, tools: { look } });
    await asked(on, server, long("One?"), long("Two?"));
    const request = await on.end(server.ask("Three?"));
    expect((await on.end(request.result)).text).toBe("3.");
    expect(tries).toBe(1);
    const events = await eventsOf(request);
    expectWhole(events);
    expect(events.filter(({ kind }) => kind === "summary_failed")).toHaveLength(1);
    await proveAll(on.store, on.threadId);
  });

  test("that never comes is left behind by a cancel", async () => {
    const on = await stage();
    const summarizer = { summarize: () => new Promise<string>(() => undefined) };
    const server = await on.start({ script: ["1.", "2."], summarizer, contextPolicy: policy });
    await asked(on, server, long("One?"), long("Two?"));
    const request = await on.end(server.ask("Three?"));
    await on.settled();
    expect(await on.end(server.cancel())).toBe(true);
    expectWhole(await eventsOf(request));
  });
});

describe("a provider that says the context is too long", () => {
  const tooLong = { error: { status: 400, message: "This model's maximum context length is 8192 tokens." } };

  test("gets less, once, after a summary", async () => {
    const on = await stage();
    const summarizer = { summarize: async () => "Short." };
    const server = await on.start({
      script: ["1.", "2.", tooLong, { expect: { system: /Short/ }, text: "3." }] as never,
      summarizer,
      contextPolicy: { keepLastTurns: 1 },
    });
    await asked(on, server, long("One?"), long("Two?"));
    const request = await on.end(server.ask("Three?"));
    expect((await on.end(request.result)).text).toBe("3.");
    expectWhole(await eventsOf(request));
    await proveAll(on.store, on.threadId);
  });

  test("twice fails the request", async () => {
    const on = await stage();
    const server = await on.start({
      script: ["1.", tooLong, tooLong, tooLong],
      contextPolicy: { summarization: "none" },
    });
    await asked(on, server, long("One?"));
    const request = await on.end(server.ask("Two?"));
    expect((await failureOf(on.end(request.result))).failure?.code).toBe("model_context_too_long");
    expect(told(await on.log()).slice(-2)).toEqual(["error", "error end:failed"]);
    await proveAll(on.store, on.threadId);
  });
});
