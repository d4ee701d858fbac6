import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import type { AgentEvent } from "../../../src/agent/event.ts";
import { eventsOf, proveAll, type Stage, stage } from "../support/stage.ts";

const contextPolicy = { autoSummarize: true, maxInputTokens: 1500, reserveOutputTokens: 300 };
/** A third of what the policy leaves. */
const LIMIT = 400;
const WALK = "He walks on through the moor. ".repeat(6);
const tokensOf = (text: string) => Math.floor(Buffer.byteLength(text) / 4);
const factsIn = (value: unknown) => new Set(JSON.stringify(value).match(/fact-\d+ is true/g));
const written = async (on: Stage) =>
  (await on.log()).flatMap(({ kind, payload }) => (kind === "summary" ? [String(payload["content"])] : []));

type Server = Awaited<ReturnType<Stage["start"]>>;
async function ask(on: Stage, server: Server, text: string, options = {}) {
  const request = await on.end(server.ask(text, options));
  await on.end(request.result);
  return eventsOf(request);
}

describe("a summary that grows", () => {
  test("is refused when it takes too much of the context, and the one before it stays", async () => {
    const on = await stage();
    const asked: unknown[] = [];
    const clerk = {
      summarize: async (range: { readonly maxSummaryTokens?: number | undefined }) => {
        asked.push(range.maxSummaryTokens);
        return [...factsIn(range)].join(". All of them know that ");
      },
    };
    const model = scriptedModel(Array(100).fill(WALK));
    const server = await on.start({ model: model as never, summarizer: clerk, contextPolicy });
    const events: AgentEvent[] = [];
    for (let turn = 1; turn <= 100; turn++) events.push(...(await ask(on, server, `fact-${turn} is true.`)));
    const summaries = await written(on);
    expect(summaries.length).toBeGreaterThan(2);
    expect(Math.max(...summaries.map(tokensOf))).toBeLessThanOrEqual(LIMIT);
    const failed = events.filter(({ kind }) => kind === "summary_failed");
    expect(failed[0]?.data).toMatchObject({ code: "summary_too_long" });
    expect(failed.length).toBeLessThan(20);
    expect(asked).toContain(Math.floor(0.7 * LIMIT));
    expect(events.some(({ kind }) => kind === "context_cut")).toBe(true);
    const seen = factsIn(model.requests.at(-1));
    expect(seen).toContain("fact-1 is true");
    expect(seen).toContain("fact-100 is true");
    expect(seen.size).toBeGreaterThan(35);
    await proveAll(on.store, on.threadId);
  });

  test.each([
    ["has a limit of output tokens", "gpt-4o", 4800],
    ["has none for a model whose longest answer is not known", "claude-3-haiku", undefined],
  ])("is asked for once more, shorter, and the request %s", async (_what, modelId, maxOutputTokens) => {
    const on = await stage();
    const script = [{ text: "Ada owes Bo gold. ".repeat(400) }, "Ada owes Bo gold."];
    const clerk = scriptedModel(script, { modelId });
    const model = scriptedModel(Array(40).fill(WALK));
    const policy = { ...contextPolicy, summarizationModel: "clerk" };
    const server = await on.start({ model: model as never, models: { clerk: clerk as never }, contextPolicy: policy });
    for (let turn = 1; clerk.requests.length < 2 && turn < 40; turn++) await ask(on, server, `Turn ${turn}.`);
    const [first, second] = clerk.requests;
    expect(first?.system).toContain(`Write at most ${3 * LIMIT} characters.`);
    expect(first?.options["maxOutputTokens"]).toBe(maxOutputTokens);
    expect(second?.system).toMatch(/Write at most 1\d{3} characters\./);
    expect(await written(on)).toEqual(["Ada owes Bo gold."]);
  });
});

describe("a summary in the log that does not fit", () => {
  const turns = Array.from({ length: 40 }, (_, turn) => [
    { kind: "message", payload: { role: "user", content: `fact-${turn} is true.` } },
    { kind: "message", payload: { role: "assistant", content: WALK } },
  ]).flat();
  const long = { kind: "summary", payload: { fromSeq: 0, toSeq: 75, content: "Bo has the key. ".repeat(700) } };
  const shorter = { summarize: async () => "Bo has the key." };

  test("is made shorter by the agent, and the model is shown it again", async () => {
    const on = await stage();
    await on.store.append(on.threadId, [...turns, long]);
    const model = scriptedModel([{ expect: { system: /Bo has the key/ }, text: "Yes." }]);
    const server = await on.start({ model: model as never, summarizer: shorter, contextPolicy });
    const events = await ask(on, server, "Who has the key?");
    expect(events.find(({ kind }) => kind === "summary_completed")?.data).toMatchObject({ fromSeq: 0, toSeq: 75 });
    expect(await written(on)).toEqual([long.payload.content, "Bo has the key."]);
  });

  test("because the ask has a smaller policy, too", async () => {
    const on = await stage();
    await on.store.append(on.threadId, [...turns, long]);
    const model = scriptedModel(["Yes.", { expect: { system: /Bo has the key/ }, text: "Bo." }]);
    const wide = { ...contextPolicy, maxInputTokens: 20_000 };
    const server = await on.start({ model: model as never, summarizer: shorter, contextPolicy: wide });
    const first = await ask(on, server, "Is all well?");
    expect(first.map(({ kind }) => kind)).not.toContain("summary_started");
    const second = await ask(on, server, "Who has the key?", { contextPolicy });
    expect(second.map(({ kind }) => kind)).toContain("summary_completed");
  });

  test("and that cannot be made shorter is not tried at each call", async () => {
    const on = await stage();
    await on.store.append(on.threadId, [...turns, long]);
    let tries = 0;
    const clerk = { summarize: async () => `${++tries} ${long.payload.content}` };
    const model = scriptedModel(Array(4).fill("Yes."));
    const server = await on.start({ model: model as never, summarizer: clerk, contextPolicy });
    const events: AgentEvent[] = [];
    for (const text of ["One?", "Two?", "Three?"]) events.push(...(await ask(on, server, text)));
    expect(tries).toBe(2);
    const failed = events.filter(({ kind }) => kind === "summary_failed");
    expect(failed.map(({ data }) => (data as { code: string }).code)).toEqual(["summary_too_long"]);
    expect(events.filter(({ kind }) => kind === "context_cut")).not.toEqual([]);
    expect(factsIn(model.requests.at(-1)).size).toBeGreaterThan(10);
  });
});
