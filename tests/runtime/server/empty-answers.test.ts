import type { ScriptedStep } from "heddle/testing";
import { expect, test } from "vitest";
import { eventsOf, expectWhole, failureOf, proveAll, stage, told } from "../support/stage.ts";

const usage = { inputTokens: 10, outputTokens: 64, reasoningTokens: 64 };
const CUT: readonly (readonly [what: string, step: ScriptedStep])[] = [
  ["nothing", { text: "", usage, finishReason: "length" }],
  ["a blank text", { text: " \n", usage, finishReason: "length" }],
  ["reasoning only", { thinking: "Let me see", usage, finishReason: "length" }],
];

test.each(CUT)("an answer of %s that was cut by its length fails the request", async (_what, step) => {
  const on = await stage();
  const server = await on.start({ script: [step, "Four."] });
  const request = await on.end(server.ask("What is 2+2?"));
  const error = await failureOf(on.end(request.result));
  expect(error.failure).toMatchObject({ code: "model_answer_empty" });
  expect(error.failure?.message).toMatch(/maxOutputTokens.*reasoning/);
  const events = await eventsOf(request);
  expectWhole(events);
  expect(events.filter(({ kind }) => kind === "llm_started")).toHaveLength(1);
  const [, answer] = await on.log();
  expect(answer?.payload).toMatchObject({ role: "assistant", call: { usage, finishReason: "length" } });
  expect(told(await on.log()).at(-1)).toBe("error end:failed");
  const next = await on.end(server.ask("Again?"));
  expect((await on.end(next.result)).text).toBe("Four.");
  expect(await proveAll(on.store, on.threadId)).toBe(2);
});

test("it is not sent back for another shape", async () => {
  const on = await stage();
  const output = { type: "object" } as const;
  const server = await on.start({ script: [{ text: "", finishReason: "length" }, "{}"], output });
  const error = await failureOf(on.end((await on.end(server.ask("Go."))).result));
  expect(error.failure?.code).toBe("model_answer_empty");
});

test.each(["other", "error"] as const)(
  "an empty answer with the finish reason %s is asked for again",
  async (finishReason) => {
    const empty = { thinking: "Let me see", usage, finishReason };
    const on = await stage();
    const server = await on.start({
      script: [empty, "Four.", empty, empty],
      modelMaxRetries: 1,
      modelRetryBackoffMs: 0,
    });
    const answered = await on.end(server.ask("What is 2+2?"));
    expect((await on.end(answered.result)).text).toBe("Four.");
    const request = await on.end(server.ask("Again?"));
    const error = await failureOf(on.end(request.result));
    expect(error.failure).toMatchObject({ code: "model_answer_empty", retryable: true });
    expect((await eventsOf(request)).filter(({ kind }) => kind === "llm_retried")).toHaveLength(1);
  },
);

test.each([
  ["an empty answer that the model ended itself", { text: "" }, ""],
  ["an answer with words that was cut", { text: "Fo", finishReason: "length" }, "Fo"],
] as const)("%s is a final answer", async (_what, step, text) => {
  const on = await stage();
  const server = await on.start({ script: [step] });
  const request = await on.end(server.ask("What is 2+2?"));
  expect(await on.end(request.result)).toMatchObject({ text, terminationReason: "final_answer" });
});
