import { createProjector, type EntryInput, type Message, type Projection, Thread } from "heddle";
import { type ProviderApi, validateMessages } from "heddle/providers";
import { toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";

const PROVIDERS: readonly ProviderApi[] = ["openai-chat", "openai-responses", "anthropic", "gemini"];
const STEPS = 200;
const question = "Why is the loom of thread 7 so slow?";

/** A call and what came of it, some hundred tokens. */
function exchange(step: number): EntryInput[] {
  const found = `line ${step}: ${"the shuttle waits for the weft; ".repeat(3 + ((step * 7) % 11))}`;
  const refs = { requestId: "r1", callId: `call_${step}` };
  return [
    toolCall("call_0", "read_log", { from: step * 100, lines: 100 }, { refs }),
    toolResult("call_0", "read_log", { ok: true, value: found }, { refs }),
  ];
}

/** What the model is shown before each call of one long run. */
function run(mode: "stable" | "sliding"): Projection[] {
  let thread = Thread.create().append(user(question, { refs: { requestId: "r1" } }));
  const projector = createProjector({ policy: { maxInputTokens: 8000, window: { mode } } });
  return Array.from({ length: STEPS }, (_, step) => {
    thread = thread.append(exchange(step));
    return projector.project({ thread, system: "You look after looms." });
  });
}

const firstExchange = ({ messages }: Projection): Message | undefined =>
  messages.find(({ role }) => role === "assistant");
const moves = (run: readonly Projection[]): number =>
  run.filter((projection, step) => {
    const before = run[step - 1];
    return before !== undefined && JSON.stringify(firstExchange(projection)) !== JSON.stringify(firstExchange(before));
  }).length;

describe("one turn that never seems to end", () => {
  const stable = run("stable");

  test("A run of 200 tool exchanges in one turn under an 8k budget: the question is still there, the newest exchanges are there, nothing illegal.", () => {
    for (const [step, { messages, meta }] of stable.entries()) {
      expect(messages.slice(0, 2)).toEqual([
        { role: "system", content: "You look after looms." },
        { role: "user", content: question },
      ]);
      const [call, result] = messages.slice(-2);
      expect(call).toMatchObject({ toolCalls: [{ name: "read_log", arguments: { from: step * 100, lines: 100 } }] });
      expect(result).toMatchObject({ role: "tool", content: expect.stringContaining(`line ${step}: `) });
      for (const provider of PROVIDERS) expect(validateMessages(messages, provider)).toEqual([]);
      expect(meta.estimatedTokens).toBeLessThanOrEqual(8000 - 2000);
      expect(meta.open).toBe(true);
    }
    expect(stable.at(-1)?.meta).toMatchObject({ truncated: true, entriesTotal: 1 + 2 * STEPS });
    expect(stable.at(-1)?.meta.view.headSeqs).toEqual([0]);
  });

  test("the window moves in coarse steps, where a sliding one moves at almost every call", () => {
    const total = stable.at(-1)?.meta.entriesTotal ?? 0;
    expect(total).toBe(401);
    expect(moves(stable)).toBeLessThan(10);
    expect(moves(run("sliding"))).toBeGreaterThan(100);
  });

  test("what is shown is one piece up to the newest, and a third of the budget at least", () => {
    for (const { provenance, meta } of stable.filter(({ meta }) => meta.truncated)) {
      const own = provenance.slice(2).flatMap(({ seqs }) => seqs);
      const start = own[0] ?? -1;
      expect(own).toEqual(Array.from({ length: meta.basisLastSeq - start + 1 }, (_, at) => start + at));
      expect(meta.budget.history).toBeGreaterThan(meta.budget.available / 3);
    }
  });
});
