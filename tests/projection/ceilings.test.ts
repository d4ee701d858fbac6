import type { ContextPolicyInput, EntryInput } from "heddle";
import { assistant, summary, toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { shown, told } from "./given.ts";

const turns = (count: number): EntryInput[] =>
  Array.from({ length: count }, (_, n) => [user(`ask ${n}`), assistant(`answer ${n}`)]).flat();
const exchange = (id: string, calls: number): EntryInput[] => [
  ...Array.from({ length: calls }, (_, n) => toolCall(`${id}${n}`, "look", {})),
  ...Array.from({ length: calls }, (_, n) => toolResult(`${id}${n}`, "look", "found")),
];
/** Without a grid, to see what the ceiling alone does. */
const under = (ceilings: ContextPolicyInput): { policy: ContextPolicyInput } => ({
  policy: { window: { mode: "sliding" }, ...ceilings },
});

describe("maxTurns", () => {
  test("shows so many turns, the newest", () => {
    const projection = shown(turns(6), under({ maxTurns: 2 }));
    expect(told(projection)).toEqual(["user: ask 4", "assistant: answer 4", "user: ask 5", "assistant: answer 5"]);
    expect(projection.meta).toMatchObject({ truncated: true, cutSeq: 8, floorViolated: false });
  });

  test("counts a turn without an answer, and not its steers", () => {
    const refs = { requestId: "r1" };
    const projection = shown([...turns(3), user("ask", { refs }), user("steer", { refs })], under({ maxTurns: 2 }));
    expect(told(projection)[0]).toBe("user: ask 2");
    expect(told(projection)).toHaveLength(4);
  });

  test("counts the rest of a turn whose beginning a summary covers", () => {
    const entries = [...turns(4), summary(0, 2)];
    expect(told(shown(entries, under({ maxTurns: 2 })))).toContain("user: ask 2");
    expect(told(shown(entries, under({ maxTurns: 2 })))).not.toContain("assistant: answer 1");
    expect(told(shown(entries, under({ maxTurns: 3 })))).toContain("assistant: answer 1");
  });

  test("does not count messages before the first turn", () => {
    const entries = [assistant("Welcome."), ...turns(2)];
    expect(told(shown(entries, under({ maxTurns: 2 })))).toContain("assistant: Welcome.");
    expect(told(shown(entries, under({ maxTurns: 1 })))).not.toContain("assistant: Welcome.");
  });

  test("cuts nothing where there are no more turns than that", () => {
    expect(shown(turns(2), under({ maxTurns: 2 })).meta.truncated).toBe(false);
  });
});

describe("maxMessages", () => {
  test("on a grid shows at least half of what it allows, and moves in steps", () => {
    const starts = Array.from({ length: 40 }, (_, n) => {
      const { messages, meta } = shown(turns(20 + n), { policy: { maxMessages: 16 } });
      expect(messages.length).toBeGreaterThanOrEqual(8);
      expect(messages.length).toBeLessThanOrEqual(16);
      return meta.view.startSeq;
    });
    expect(new Set(starts).size).toBeLessThan(20);
  });

  test("shows no more messages of the history than that, whole blocks only", () => {
    const entries = [...turns(2), user("look"), ...exchange("a", 3), ...exchange("b", 2)];
    const atMost = (maxMessages: number) => shown(entries, under({ maxMessages }));
    expect(told(atMost(4))).toEqual([
      "user: look",
      "assistant: -> look(b0), look(b1)",
      "tool b0: found",
      "tool b1: found",
    ]);
    expect(told(atMost(7))).toEqual(told(atMost(4)));
    expect(atMost(8).messages).toHaveLength(8);
    expect(atMost(9).messages).toHaveLength(8);
    expect(atMost(10).messages).toHaveLength(10);
    expect(atMost(12).meta.truncated).toBe(false);
  });

  test("counts the head of the request that it cuts", () => {
    const entries = [user("look"), ...exchange("a", 1), ...exchange("b", 1), ...exchange("c", 1)];
    expect(shown(entries, under({ maxMessages: 5 })).messages).toHaveLength(5);
    expect(shown(entries, under({ maxMessages: 4 })).messages).toHaveLength(3);
  });

  test("does not count a placeholder between an answer and an exchange where the window starts with the exchange", () => {
    const entries = [
      user("look"),
      assistant("Well.", { refs: { callId: "call_1" } }),
      ...exchange("a", 1),
      ...exchange("b", 1),
    ];
    expect(shown(entries, under({ maxMessages: 7 })).messages).toHaveLength(7);
    expect(told(shown(entries, under({ maxMessages: 5 })))).toEqual([
      "user: look",
      "assistant: -> look(a0)",
      "tool a0: found",
      "assistant: -> look(b0)",
      "tool b0: found",
    ]);
  });

  test("never leaves out the newest exchange, however many messages it has", () => {
    const projection = shown([...turns(2), user("look"), ...exchange("a", 5)], under({ maxMessages: 2 }));
    expect(told(projection)[0]).toBe("user: look");
    expect(projection.messages).toHaveLength(7);
  });

  test("counts the placeholder before an entry that cannot be read, and does not show that entry", () => {
    const unreadable = { kind: "message", payload: { role: "martian", content: "?" } };
    const entries = [assistant("Welcome."), unreadable, assistant("How are you?"), user("Fine.")];
    expect(told(shown(entries, under({ maxMessages: 2 })))).toEqual(["user: Fine."]);
    expect(() => shown(entries, under({ maxMessages: 4 }))).toThrow(expect.objectContaining({ code: "unknown_role" }));
  });

  test("does not count the system prompt and the summary", () => {
    const projection = shown([...turns(3), summary(0, 1)], { ...under({ maxMessages: 4 }), system: "Be kind." });
    expect(projection.messages).toHaveLength(6);
    expect(projection.meta.truncated).toBe(false);
  });
});

describe("the minimum of turns", () => {
  const entries = [...turns(3), user("look"), ...exchange("a", 4), assistant("found it")];

  test("wins over a ceiling on messages when it was asked for", () => {
    const projection = shown(entries, under({ maxMessages: 3, keepLastTurns: 2 }));
    expect(told(projection)[0]).toBe("user: ask 2");
    expect(projection.messages).toHaveLength(9);
  });

  test("of the default policy gives way to a ceiling", () => {
    expect(told(shown(entries, under({ maxMessages: 3 })))).toEqual(["user: look", "assistant: found it"]);
    expect(told(shown(turns(5), under({ maxTurns: 1 })))).toEqual(["user: ask 4", "assistant: answer 4"]);
  });
});

test("between maxTurns and keepLastTurns a stable window takes a line of the grid, and never starts after the kept turns", () => {
  const shownTurns = Array.from({ length: 60 }, (_, n) => {
    const policy: ContextPolicyInput = { maxTurns: 8, keepLastTurns: 5, window: { mode: "stable", step: 1 } };
    return (
      shown(turns(n + 10), { policy: { ...policy, maxInputTokens: 1000, reserveOutputTokens: 0 } }).messages.length / 2
    );
  });
  expect(Math.min(...shownTurns)).toBeGreaterThanOrEqual(5);
  expect(Math.max(...shownTurns)).toBeLessThanOrEqual(8);
});

test("where the budget and maxTurns cut at the same turn, the kept turns stay", () => {
  const alike = (count: number): EntryInput[] => turns(10 + count).slice(2 * 10); // numbers of two digits cost the same
  const policy: ContextPolicyInput = {
    maxTurns: 8,
    keepLastTurns: 6,
    maxInputTokens: shown(alike(8)).meta.estimatedTokens,
    reserveOutputTokens: 0,
    window: { mode: "stable", step: 1 },
  };
  for (let count = 9; count <= 60; count++) {
    const { messages, meta } = shown(alike(count), { policy });
    expect(meta.floorViolated).toBe(false);
    expect(messages.length).toBeGreaterThanOrEqual(2 * 6);
    expect(messages.length).toBeLessThanOrEqual(2 * 8);
  }
});

test("a ceiling in a stable window moves in steps too, and always holds", () => {
  const policy: ContextPolicyInput = {
    maxMessages: 20,
    maxInputTokens: 1000,
    reserveOutputTokens: 0,
    window: { mode: "stable", step: 0.05 },
  };
  const cuts = Array.from({ length: 40 }, (_, n) => shown(turns(n + 1), { policy }).meta);
  for (const { messagesIncluded } of cuts) expect(messagesIncluded).toBeLessThanOrEqual(20);
  expect(new Set(cuts.map(({ cutSeq }) => cutSeq)).size).toBeLessThan(15);
});
