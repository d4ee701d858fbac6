import { createProjector, type EntryInput } from "heddle";
import { assistant, toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { isSoak } from "../support/case-budget.ts";
import { given, refusalOf, shown, told } from "./given.ts";

const byDefault = { policy: {} };
const refs = { requestId: "r" };

describe("a window on a grid", () => {
  test("does not jump over the answer that the newest ask is about", () => {
    const report = `REPORT ${"x".repeat(14_000)}`;
    const entries = [
      user("old"),
      assistant("z".repeat(10_000)),
      user("Write"),
      assistant(report),
      user("Make it shorter"),
    ];
    expect(told(shown(entries, byDefault))).toContain(`assistant: ${report}`);
  });

  test("leaves at least a quarter of what would fit", () => {
    for (let length = 20; length < 60; length++) {
      const entries = Array.from({ length }, (_, n) => [
        user("ask"),
        assistant("y".repeat(400 + 97 * (n % 30))),
      ]).flat();
      const room = 6000;
      const { meta } = shown(entries, byDefault);
      const full = shown(entries, { policy: { window: { mode: "sliding" } } }).meta.budget.history;
      expect(full).toBeLessThanOrEqual(room);
      expect(meta.budget.history).toBeGreaterThan(0.2 * full);
    }
  });
});

describe("what the model has not seen yet", () => {
  const running = (result: string): EntryInput[] => [
    user("old"),
    assistant("z".repeat(8000)),
    user("Look it up", { refs }),
    toolCall("a", "look", {}, { refs }),
    toolResult("a", "look", result, { refs }),
    user("and hurry", { refs }),
  ];

  test("is shown with what was steered in behind it", () => {
    const result = "r".repeat(16_000);
    expect(told(shown(running(result), byDefault)).slice(-3)).toEqual([
      "assistant: -> look(a)",
      `tool a: ${result}`,
      "user: and hurry",
    ]);
  });

  test("is an overflow, or shortened, and never left out", () => {
    const entries = running("r".repeat(40_000));
    expect(refusalOf(() => shown(entries, byDefault))).toMatchObject({ code: "budget_overflow" });
    const { messages, meta } = shown(entries, { policy: { overflow: "shrink" } });
    expect(messages.at(-1)).toEqual({ role: "user", content: "and hurry" });
    expect(meta.view.shrunk).toHaveLength(1);
    expect(meta.budget.history).toBeLessThanOrEqual(6000);
    expect(meta.budget.history).toBeGreaterThan(5900);
  });

  test("of a request that is over does not block the next one", () => {
    const entries = [...running("r".repeat(40_000)), user("Something else", { refs: { requestId: "next" } })];
    expect(told(shown(entries, byDefault)).at(-1)).toBe("user: Something else");
  });
});

test("ids as long as they may be, used again, never lead over the budget", () => {
  const ids = Array.from({ length: 60 }, (_, n) => `${"i".repeat(36)}${String(n).padStart(4, "0")}`);
  const made = (ids: readonly string[], callId: string, result: string): EntryInput[] => [
    ...ids.map((id) => toolCall(id, "t", {}, { refs: { callId } })),
    ...ids.map((id) => toolResult(id, "t", result, { refs: { callId } })),
  ];
  // From the second exchange on its ids are its own again, and cost more than made ones that are shorter.
  for (let length = 0; length < 1600; length += isSoak ? 24 : 80) {
    const old = [user("o".repeat(40_000)), assistant(`old ${"z".repeat(length)}`), user("q")];
    const first = made(ids.slice(0, 1), "a", "r".repeat(200));
    const thread = given(...old, ...first, ...made(ids, "b", "r"), user("next"));
    const projector = createProjector({ keep: 1 });
    for (let maxInputTokens = 1500; maxInputTokens < 2400; maxInputTokens += 50) {
      const policy = { maxInputTokens, reserveOutputTokens: 0, keepLastTurns: 0 };
      const { meta } = projector.project({ thread, policy });
      expect(meta.estimatedTokens).toBeLessThanOrEqual(maxInputTokens);
    }
  }
});
