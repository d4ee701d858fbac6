import { assistant, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { eventsOf, expectWhole, proveAll, type Stage, stage } from "../support/stage.ts";
import { promptTokens, windowedModel } from "../support/windowed-model.ts";

/** gpt-4 has 8192 tokens, as the table of models says. */
const SMALL_WINDOW = 8192;

function small(answer: Parameters<typeof windowedModel>[0]["answer"] = () => "They went on.", window = SMALL_WINDOW) {
  return windowedModel({ provider: "openai", modelId: "gpt-4", window, answer });
}

function large() {
  return windowedModel({ provider: "anthropic", modelId: "claude-sonnet-4", window: 200_000, answer: () => "Yes." });
}

const policy = {
  autoSummarize: true,
  summarizationModel: "small",
  maxInputTokens: 60_000,
  reserveOutputTokens: 4000,
  keepLastTurns: 1,
} as const;

async function ask(on: Stage, server: Awaited<ReturnType<Stage["start"]>>, text: string) {
  const request = await on.end(server.ask(text));
  const result = await on.end(request.result);
  const events = await eventsOf(request);
  expectWhole(events);
  return { result, kinds: events.map(({ kind }) => kind), events };
}

async function summariesOf(on: Stage) {
  return (await on.log()).filter(({ kind }) => kind === "summary").map(({ payload }) => payload);
}

describe("a summary of more than its summarizer can read", () => {
  test("shortens a message of 200 kB, and later summaries are still made", async () => {
    const on = await stage();
    const clerk = small();
    const server = await on.start({
      model: large() as never,
      models: { small: clerk as never },
      contextPolicy: policy,
    });
    await ask(on, server, `Start. ${"word ".repeat(40_000)}`);
    for (let n = 1; n <= 12; n++) await ask(on, server, `Question ${n}. ${"more ".repeat(4000)}`);
    expect(clerk.requests.length).toBeGreaterThan(1);
    for (const request of clerk.requests) expect(promptTokens(request as never)).toBeLessThanOrEqual(SMALL_WINDOW);
    expect((await on.log()).filter(({ payload }) => "summaryFailed" in payload)).toEqual([]);
    expect((await summariesOf(on)).length).toBe(clerk.requests.length);
    await proveAll(on.store, on.threadId);
  });

  test("is written piece by piece, each a roll-up of the one before, and each kept", async () => {
    const on = await stage();
    const turns = Array.from({ length: 1500 }, (_, n) => [
      user(`Question ${n}? ${"so ".repeat(30)}`),
      assistant(`${n}.`),
    ]);
    await on.store.append(on.threadId, turns.flat());
    let written = 0;
    const clerk = small(() => {
      written += 1;
      return `Summary ${written}.`;
    });
    const server = await on.start({
      model: large() as never,
      models: { small: clerk as never },
      contextPolicy: { ...policy, maxInputTokens: 20_000 },
    });
    const { events, result } = await ask(on, server, "Where are we?");
    expect(clerk.requests.length).toBeGreaterThan(10);
    for (const request of clerk.requests) expect(promptTokens(request as never)).toBeLessThanOrEqual(SMALL_WINDOW);
    const summaries = await summariesOf(on);
    expect(summaries.map(({ content }) => content)).toEqual(clerk.requests.map((_, at) => `Summary ${at + 1}.`));
    const ends = summaries.map(({ toSeq }) => Number(toSeq));
    expect(ends).toEqual([...ends].sort((a, b) => a - b));
    expect(ends.at(-1)).toBe(2999);
    expect(clerk.requests.at(-1)?.messages[0]?.text).toContain(`Summary ${written - 1}.`);
    expect(events.filter(({ kind }) => kind === "summary_completed")).toHaveLength(clerk.requests.length);
    expect(result.usageByModel["openai:gpt-4"]?.outputTokens).toBe(10 * clerk.requests.length);
    await proveAll(on.store, on.threadId);
  });

  test("that was asked for is written piece by piece too", async () => {
    const on = await stage();
    const turns = Array.from({ length: 500 }, (_, n) => [
      user(`Question ${n}? ${"so ".repeat(30)}`),
      assistant(`${n}.`),
    ]);
    await on.store.append(on.threadId, turns.flat());
    const clerk = small();
    const contextPolicy = { ...policy, autoSummarize: false };
    const server = await on.start({ model: large() as never, models: { small: clerk as never }, contextPolicy });
    const { seq } = await on.end(server.summarize());
    expect(clerk.requests.length).toBeGreaterThan(2);
    expect((await on.log())[seq]).toMatchObject({ kind: "summary", payload: { fromSeq: 0, toSeq: 997 } });
  });

  test("that is refused as too long is tried at once in smaller pieces, until they fit", async () => {
    const on = await stage();
    const clerk = small(undefined, 2000); // much less than the table says
    const server = await on.start({
      model: large() as never,
      models: { small: clerk as never },
      contextPolicy: policy,
    });
    await ask(on, server, `Start. ${"word ".repeat(40_000)}`);
    const all: string[] = [];
    for (let n = 1; n <= 4; n++) all.push(...(await ask(on, server, `Question ${n}. ${"more ".repeat(4000)}`)).kinds);
    expect(all).toContain("summary_failed");
    expect(all).toContain("summary_completed");
    await proveAll(on.store, on.threadId);
  });

  test("that is refused permanently blocks nothing: its piece is skipped with a line that says so, and an event", async () => {
    const on = await stage();
    const clerk = small(({ messages }) => {
      return JSON.stringify(messages).includes("poison")
        ? { error: { status: 400, message: "flagged as potentially violating" } }
        : "They went on.";
    });
    const server = await on.start({
      model: large() as never,
      models: { small: clerk as never },
      contextPolicy: { ...policy, maxInputTokens: 20_000 },
    });
    await ask(on, server, "The poison.");
    const kinds: string[] = [];
    for (let n = 1; n <= 16; n++) {
      kinds.push(...(await ask(on, server, `Question ${n}. ${"more ".repeat(4000)}`)).kinds);
    }
    expect(kinds).toContain("summary_skipped");
    expect(kinds.slice(kinds.indexOf("summary_skipped"))).toContain("summary_completed");
    const sizes = clerk.requests.filter((request) => JSON.stringify(request.messages).includes("poison"));
    expect(sizes.length).toBeLessThanOrEqual(6);
    const [gap] = (await summariesOf(on)).filter((payload) => "skipped" in payload);
    expect(gap).toMatchObject({ content: expect.stringMatching(/could not be summarized/) });
    await proveAll(on.store, on.threadId);
  });

  test("whose model is down is asked for less and less often, also by other processes", async () => {
    const on = await stage();
    let tries = 0;
    const summarize = () => {
      tries += 1;
      return Promise.reject(new Error("down"));
    };
    const summarizer = { summarize };
    for (let n = 1; n <= 40; n++) {
      const server = await on.start({
        model: large() as never,
        summarizer,
        contextPolicy: { ...policy, maxInputTokens: 20_000 },
      });
      const { kinds } = await ask(on, server, `Question ${n}. ${"more ".repeat(4000)}`);
      if (n > 6) expect(kinds).toContain("context_cut");
      await on.end(server.stop());
    }
    expect(tries).toBeGreaterThan(1);
    expect(tries).toBeLessThan(8);
  });
});

describe("what is cut while automatic summaries are on", () => {
  const tight = { ...policy, maxInputTokens: 9000, reserveOutputTokens: 1000, keepLastTurns: 2 };
  const failing = { error: { status: 400, message: "no" } };
  const turn = `Tell me. ${"word ".repeat(5000)}`;

  test("is summarized also where the stretch before the kept turns holds only a note", async () => {
    const on = await stage();
    await on.store.append(on.threadId, { kind: "note", payload: { text: "begun" } });
    const clerk = small();
    const script = [failing, "Yes."];
    const server = await on.start({ script, models: { small: clerk as never }, contextPolicy: tight });
    await on.end((await on.end(server.ask(turn))).result.catch(() => undefined));
    const { kinds } = await ask(on, server, `And then? ${"more ".repeat(3000)}`);
    expect(kinds).toContain("summary_completed");
    expect(kinds).not.toContain("context_cut");
    expect(JSON.stringify(clerk.requests[0]?.messages)).toContain("Tell me.");
  });

  test("is summarized also where the summary of the stretch before the kept turns is no smaller", async () => {
    const on = await stage();
    const clerk = small(({ messages }) =>
      JSON.stringify(messages).includes("Tell me.") ? "A long one." : "So ".repeat(100),
    );
    const script = ["Hello.", failing, "Yes."];
    const server = await on.start({ script, models: { small: clerk as never }, contextPolicy: tight });
    await ask(on, server, "Hi.");
    await on.end((await on.end(server.ask(turn))).result.catch(() => undefined));
    const { kinds, result, events } = await ask(on, server, `And then? ${"more ".repeat(3000)}`);
    expect(kinds.filter((kind) => kind.startsWith("summary"))).toEqual([
      "summary_started",
      "summary_failed",
      "summary_started",
      "summary_completed",
    ]);
    const refused = events.find(({ kind }) => kind === "summary_failed");
    expect(refused?.data).toMatchObject({ code: "summary_not_smaller", usage: { outputTokens: 10 } });
    expect(result.usageByModel["openai:gpt-4"]).toMatchObject({ outputTokens: 20 });
  });

  test("is reported once for each place of the cut, where nothing summarizes it", async () => {
    const on = await stage();
    const summarizer = { summarize: () => Promise.reject(new Error("down")) };
    const look = { inputSchema: { type: "object" }, execute: () => "seen" } as const;
    const script = [failing, { calls: [{ name: "look" }] }, "Yes."];
    const server = await on.start({ script, tools: { look }, summarizer, contextPolicy: tight });
    await on.end((await on.end(server.ask(turn))).result.catch(() => undefined));
    const { events } = await ask(on, server, `And then? ${"more ".repeat(3000)}`);
    expect(events.filter(({ kind }) => kind === "context_cut").map(({ data }) => data)).toEqual([
      { fromSeq: 0, toSeq: 1 },
    ]);
  });
});

describe("a prompt that is refused as too long with both numbers", () => {
  /** A request of 100 tool calls, by a model of 10,000 tokens. */
  async function longRequest(maxInputTokens: number) {
    const on = await stage();
    let calls = 0;
    const model = windowedModel({
      provider: "test",
      modelId: "local",
      window: 10_000,
      answer: () => {
        calls += 1;
        return calls <= 100 ? { calls: [{ id: `c${calls}`, name: "look", arguments: { calls } }] } : "Done.";
      },
    });
    const look = { inputSchema: { type: "object" }, execute: () => "A long result. ".repeat(60) } as const;
    const server = await on.start({
      model: model as never,
      tools: { look },
      summarizer: { summarize: async () => "They looked." },
      maxIterations: 200,
      contextPolicy: { autoSummarize: true, maxInputTokens, reserveOutputTokens: 500 },
    });
    const { kinds, result } = await ask(on, server, "Look.");
    expect(result.text).toBe("Done.");
    const refusals = (await on.log()).filter(({ kind }) => kind === "error").length;
    return { refusals, summaries: kinds.filter((kind) => kind === "summary_completed").length };
  }

  test("takes from the window what they say, so that no more summaries are written than by a policy that fits", async () => {
    const fitting = await longRequest(7500);
    const corrected = await longRequest(10_500);
    expect(fitting.refusals).toBe(0);
    expect(corrected.refusals).toBe(1);
    expect(corrected.summaries).toBeLessThanOrEqual(fitting.summaries + 1);
  });
});
