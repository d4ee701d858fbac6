import { AgentHost, memoryStore } from "heddle";
import { acceptSummary, type SummaryRange, summaryRangeOf } from "heddle/core";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { agentOf } from "../host/support/hosts.ts";
import { eventsOf, expectWhole, failureOf, proveAll, type Stage, stage } from "../support/stage.ts";

const long = (text: string) => `${text} ${"and so on ".repeat(60)}`;
const contextPolicy = { keepLastTurns: 1, summarization: "request_new" } as const;
const SHOWN = { expect: { system: /The sum/ }, text: "3." } as never;
const UNSEEN = { expect: { messages: [{ text: /One/ }, {}, {}, {}, { text: "Three?" }] }, text: "3." } as never;
const NODE = { holder: "node" };

const summaries = async (on: Stage) =>
  (await on.log()).filter(({ kind }) => kind === "summary").map((entry) => entry.payload);

type Server = Awaited<ReturnType<Stage["start"]>>;

/** Two requests that need no summary: the third one does. */
async function begin(
  on: Stage,
  config: object = {},
  script: readonly never[] = [SHOWN],
  options: object = NODE,
): Promise<Server> {
  const before = await on.start({ script: ["1.", "2."] }, NODE);
  for (const text of [long("One?"), long("Two?")]) await on.end((await on.end(before.ask(text))).result);
  await on.end(before.stop());
  return on.start({ script, contextPolicy, ...config }, options);
}

const kinds = async (request: Awaited<ReturnType<Server["ask"]>>) => (await eventsOf(request)).map(({ kind }) => kind);

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("a call that needs a summary, on %s,", (_name, open) => {
  test("waits for that of onNeedsSummary, which gets the facts and the range", async () => {
    const on = await stage({ store: open() });
    const asked: unknown[] = [];
    const onNeedsSummary = async (...args: unknown[]) => {
      asked.push(args);
      return { content: "The sum.", details: { by: "ann" } };
    };
    const server = await begin(on, { onNeedsSummary });
    const request = await on.end(server.ask("Three?"));
    expect((await on.end(request.result)).text).toBe("3.");
    const events = await eventsOf(request);
    expectWhole(events);
    expect(events.map(({ kind }) => kind).slice(0, 4)).toEqual([
      "request_started",
      "summary_requested",
      "summary_completed",
      "llm_started",
    ]);
    expect(events[1]?.data).toEqual({ fromSeq: 0, toSeq: 3, reason: "requested" });
    expect(asked).toMatchObject([
      [{ needsSummary: true, boundary: 3 }, { fromSeq: 0, toSeq: 3 }, { requestId: request.id }],
    ]);
    expect(await summaries(on)).toMatchObject([{ fromSeq: 0, toSeq: 3, content: "The sum.", details: { by: "ann" } }]);
    await proveAll(on.store, on.threadId);
  });

  test("continues after server.summarize, and the hook of a server comes before that of its agent", async () => {
    const on = await stage({ store: open() });
    const asked: string[] = [];
    const summarizer = { summarize: async () => "The sum." };
    const onNeedsSummary = () => void asked.push("agent");
    const own = { ...NODE, onNeedsSummary: () => void asked.push("server") };
    const server = await begin(on, { onNeedsSummary, summarizer }, [SHOWN], own);
    const request = await on.end(server.ask("Three?"));
    await on.pass(59_000);
    expect(request.state).toBe("running");
    await on.end(server.summarize());
    expect((await on.end(request.result)).text).toBe("3.");
    expect(asked).toEqual(["server"]);
    expectWhole(await eventsOf(request));
    expect(await summaries(on)).toHaveLength(1);
  });

  test("continues when another process appends what acceptSummary has made", async () => {
    const on = await stage({ store: open() });
    const server = await begin(on, { summaryWaitMs: 60_000 });
    const request = await on.end(server.ask("Three?"));
    await on.settled();
    const thread = await on.end(on.store.load(on.threadId));
    const range = thread && summaryRangeOf({ thread }, 3);
    const verdict = acceptSummary(range as SummaryRange, "The sum.");
    if (!verdict.accepted) throw new Error(verdict.reason);
    await on.end(on.store.append(on.threadId, [{ kind: "summary", payload: verdict.payload }]));
    await on.pass(6_000); // a store may poll
    expect(request.state).toBe("done");
    expect((await on.end(request.result)).text).toBe("3.");
    expect(await kinds(request)).toContain("summary_completed");
    expectWhole(await eventsOf(request));
    await proveAll(on.store, on.threadId);
  });

  test("continues without one after summaryWaitMs, also in the process that takes over after a kill", async () => {
    const on = await stage({ store: open() });
    let asked = 0;
    const onNeedsSummary = () => void asked++;
    const first = await begin(on, { onNeedsSummary, summaryWaitMs: 10_000 }, [UNSEEN]);
    const { id } = await on.end(first.ask("Three?"));
    await on.pass(6_000);
    await on.end(first.stop({ graceMs: 0 }));
    const config = { script: [UNSEEN], contextPolicy, onNeedsSummary, summaryWaitMs: 10_000 };
    const second = await on.start(config, NODE);
    await on.pass(3_900);
    expect(second.request?.state).toBe("running");
    const request = second.request as NonNullable<typeof second.request>;
    await on.pass(200);
    expect(request.state).toBe("done");
    expect((await on.end(second.result(id))).text).toBe("3.");
    expect(await kinds(request)).toContain("summary_failed");
    expect(asked).toBe(2);
    expect((await on.log()).filter(({ payload }) => "summaryFailed" in payload)).toMatchObject([
      { payload: { summaryFailed: { code: "summary_timeout", toSeq: 3 } } },
    ]);
    await proveAll(on.store, on.threadId);
  });

  test("ends by a cancel or a finish, and no summary is noted as failed", async () => {
    const on = await stage({ store: open() });
    const server = await begin(on, { summaryWaitMs: 10_000 }, []);
    const one = await on.end(server.ask("Three?"));
    await on.settled();
    expect(await on.end(server.cancel())).toBe(true);
    expectWhole(await eventsOf(one));
    const two = await on.end(server.ask("Four?"));
    await on.settled();
    const before = on.ports.clock();
    expect(await on.end(server.finish())).toBe(true);
    expect(on.ports.clock() - before).toBeLessThan(1_000);
    expect((await on.end(two.result)).terminationReason).toBe("stopped");
    expect((await on.log()).filter(({ payload }) => "summaryFailed" in payload)).toEqual([]);
  });

  test("has the hook of its host", async () => {
    const on = await stage({ store: open() });
    await on.end((await begin(on)).stop());
    const agent = agentOf([SHOWN], { contextPolicy });
    const { store, ports } = on;
    const host = AgentHost.create({ agent, store, ports, onNeedsSummary: () => "The sum.", warn: () => undefined });
    const request = await on.end(host.ask(on.threadId, "Three?"));
    expect((await on.end(request.result)).text).toBe("3.");
    await on.end(host.stop());
  });
});

test.each([
  ["throws", () => Promise.reject(new Error("no"))],
  ["never answers", () => new Promise(() => undefined)],
  ["gives no text", () => 7],
  ["gives a blank text", () => " "],
])("a hook that %s is a failed summary, and the request goes on", async (_what, onNeedsSummary) => {
  const on = await stage();
  const server = await begin(on, { onNeedsSummary }, [UNSEEN]);
  const request = await on.end(server.ask("Three?"));
  expect((await on.end(request.result)).text).toBe("3.");
  expect(await kinds(request)).toContain("summary_failed");
});

test("without the hook and summaryWaitMs no call waits, and with autoSummarize the agent writes the summary", async () => {
  const on = await stage();
  const server = await begin(on, {}, [UNSEEN]);
  expect((await on.end((await on.end(server.ask("Three?"))).result)).text).toBe("3.");
  const other = await stage();
  const summarizer = { summarize: async () => "The sum." };
  const config = {
    summarizer,
    onNeedsSummary: () => "Never.",
    contextPolicy: { ...contextPolicy, autoSummarize: true },
  };
  const second = await begin(other, config);
  expect((await other.end((await other.end(second.ask("Three?"))).result)).text).toBe("3.");
});

describe("server.summarize", () => {
  test("with a focus passes it to the summarizer, and stores it with the details", async () => {
    const on = await stage();
    let focused: string | undefined;
    const summarizer = {
      summarize: async (_range: SummaryRange, { focus }: { focus?: string | undefined }) => {
        focused = focus;
        return { content: "The sum.", details: [1] };
      },
    };
    const server = await begin(on, { summarizer });
    expect(await on.end(server.summarize({ focus: "numbers" }))).toMatchObject({ seq: 4, usage: {} });
    expect(focused).toBe("numbers");
    expect(await summaries(on)).toMatchObject([{ content: "The sum.", details: [1], focus: "numbers" }]);
    expect((await failureOf(on.end(server.summarize({ focus: 7 as never })))).code).toBe("invalid_options");
  });

  test("asks the model to keep most of the focus, and returns the usage", async () => {
    const on = await stage();
    const script = [
      { expect: { system: /Keep most of what concerns this, and less of the rest: numbers/ }, text: "The sum." },
    ];
    const server = await begin(on, {}, script as never);
    const { usage } = await on.end(server.summarize({ focus: "numbers" }));
    expect(usage.outputTokens).toBeGreaterThan(0);
  });

  test("is cancelled by its signal: nothing is written, and the next one is tried at once", async () => {
    const on = await stage();
    const server = await begin(on, {}, [{ hang: true }, "The sum."] as never);
    const stop = new AbortController();
    const running = failureOf(server.summarize({ signal: stop.signal }));
    await on.settled();
    stop.abort();
    expect((await on.end(running)).code).toBe("summary_cancelled");
    expect((await failureOf(on.end(server.summarize({ signal: AbortSignal.abort() })))).code).toBe("summary_cancelled");
    expect(await on.log()).toHaveLength(4);
    expect(await on.end(server.summarize())).toMatchObject({ seq: 4 });
  });

  test("that is broken off has an estimated usage, in its answer, the log and the usage of the thread", async () => {
    const on = await stage();
    const server = await begin(on, { modelMaxRetries: 1 }, [
      { text: ["The ", "sum"], error: { status: 503 }, after: 2 },
      { text: "The sum is", hang: true },
    ] as never);
    const stop = new AbortController();
    const running = failureOf(server.summarize({ signal: stop.signal }));
    await on.pass(1_000);
    stop.abort();
    const { code, usage = {} } = await on.end(running);
    expect([code, usage.estimated, usage.outputTokens]).toEqual(["summary_cancelled", true, 1 + 2]);
    expect(usage.inputTokens).toBeGreaterThan(1000); // a prompt has about 600
    expect((await on.log()).at(-1)?.payload).toMatchObject({
      summaryFailed: {},
      call: { usage, finishReason: "error" },
    });
    expect((await server.usage()).usage.inputTokens).toBeGreaterThan(usage.inputTokens ?? 0);
  });

  test("reports what it has used when it is cancelled: here a part of the range is written", async () => {
    const on = await stage();
    const stop = new AbortController();
    const policy = { ...contextPolicy, maxInputTokens: 8000, reserveOutputTokens: 100 };
    const before = await on.start({ script: ["1.", "2.", "3."], contextPolicy: { maxInputTokens: 90_000 } }, NODE);
    for (const text of ["One?", "Two?", "Three?"]) {
      await on.end((await on.end(before.ask(`${text} ${"and so on ".repeat(1_800)}`))).result);
    }
    await on.end(before.stop());
    const script = [{ text: "The sum.", usage: { inputTokens: 70, outputTokens: 7 } }, { hang: true }] as const;
    const server = await on.start({ script, contextPolicy: policy }, NODE);
    const running = failureOf(server.summarize({ signal: stop.signal, toSeq: 5 }));
    await on.settled();
    stop.abort();
    expect(await on.end(running)).toMatchObject({
      code: "summary_cancelled",
      usage: { inputTokens: 70, outputTokens: 7 },
    });
    expect(await summaries(on)).toMatchObject([{ content: "The sum.", toSeq: 0 }]);
  });

  test("refuses a fromSeq where the summary does not begin", async () => {
    const on = await stage();
    const summarizer = { summarize: async () => "The sum." };
    const server = await begin(on, { summarizer });
    expect(await failureOf(on.end(server.summarize({ fromSeq: 2 })))).toMatchObject({
      code: "summary_range_mismatch",
      message: "The summary covers the entries from 0 on, not from 2. Leave fromSeq out.",
    });
    await on.end(server.summarize({ fromSeq: 0, toSeq: 1 }));
    expect((await failureOf(on.end(server.summarize({ fromSeq: 2, toSeq: 3 })))).code).toBe("summary_range_mismatch");
    await on.end(server.summarize({ fromSeq: 0, toSeq: 3 }));
    expect(await summaries(on)).toMatchObject([
      { fromSeq: 0, toSeq: 1 },
      { fromSeq: 0, toSeq: 3 },
    ]);
  });
});
