import { type ScriptedStep, scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { proveAll, type Stage, stage } from "../support/stage.ts";

const WHOLE = "Ada has the red key.";
const CUT = "Ada has the red";

/** A conversation that is summarized in two parts, by a clerk that answers so. */
async function told(on: Stage, ...script: readonly ScriptedStep[]) {
  const clerk = scriptedModel(script);
  const model = scriptedModel(Array(9).fill("The wind howls. ".repeat(200)));
  const contextPolicy = { maxInputTokens: 8000, autoSummarize: true, summarizationModel: "clerk" };
  const server = await on.start({ model, models: { clerk }, contextPolicy } as never);
  for (let turn = 0; turn < 9; turn++) await on.end((await on.end(server.ask(`Step ${turn}.`))).result);
  await proveAll(on.store, on.threadId);
  return { clerk, payloads: (await on.log()).map(({ payload }) => payload as Record<string, never>) };
}

const summaries = (payloads: readonly Record<string, unknown>[]) =>
  payloads.filter((payload) => "toSeq" in payload && "content" in payload);
const failures = (payloads: readonly Record<string, { code: string }>[]) =>
  payloads.flatMap(({ summaryFailed }) => (summaryFailed === undefined ? [] : summaryFailed.code));

describe("a summary that is cut off", () => {
  test.each([
    ["with an error", { text: CUT, finishReason: "error" }],
    ["without a finish", { text: CUT, finishReason: "interrupted" }],
  ] as const)("%s is asked for again, and its usage counts", async (_how, cut) => {
    const usage = { inputTokens: 100, outputTokens: 5 };
    const { clerk, payloads } = await told(await stage(), { ...cut, usage }, { text: WHOLE, usage }, WHOLE);
    expect(clerk.requests).toHaveLength(3);
    expect(summaries(payloads)).toMatchObject([
      { content: WHOLE, call: { finishReason: "stop", usage: { inputTokens: 200, outputTokens: 10 } } },
      { content: WHOLE },
    ]);
    expect(failures(payloads)).toEqual([]);
  });

  test("by the limit of output tokens is asked for once more, shorter", async () => {
    const { clerk, payloads } = await told(await stage(), { text: CUT, finishReason: "length" }, WHOLE, WHOLE);
    expect(clerk.requests[0]?.system).toContain("Write at most 6000 characters.");
    expect(clerk.requests[1]?.system).toContain(`Write at most ${Math.floor(0.7 * CUT.length)} characters.`);
    expect(summaries(payloads).map(({ content }) => content)).toEqual([WHOLE, WHOLE]);
  });

  test("by the limit twice is followed by a smaller part, and by a filter too", async () => {
    const long = { text: CUT, finishReason: "length" } as const;
    const filtered = { text: CUT, finishReason: "content-filter" } as const;
    const script = [long, long, filtered, ...Array(9).fill(WHOLE)];
    const { payloads } = await told(await stage(), ...script);
    expect(failures(payloads).slice(0, 2)).toEqual(["summary_too_long", "model_refused"]);
    const contents = summaries(payloads).map(({ content }) => content);
    expect(contents.length).toBeGreaterThan(0);
    expect(new Set(contents)).toEqual(new Set([WHOLE]));
  });
});
