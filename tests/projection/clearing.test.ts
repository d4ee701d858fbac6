import { type ContextPolicyInput, type EntryInput, type Projection, project } from "heddle";
import { assistant, toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { given, shown } from "./given.ts";

const exchange = (id: string, result: string = `${id} ${"x".repeat(200)}`): EntryInput[] => [
  toolCall(id, "look", {}),
  toolResult(id, "look", result),
];
const exchanges = (count: number): EntryInput[] => Array.from({ length: count }, (_, n) => exchange(`c${n}`)).flat();
const policy = (keepLast: number, more: ContextPolicyInput = {}): ContextPolicyInput => ({
  maxInputTokens: 100_000,
  keepLastTurns: 0,
  window: { mode: "sliding" },
  toolResults: { keepLast },
  ...more,
});
const results = ({ messages }: Projection): string[] =>
  messages.flatMap(({ role, content }) => (role === "tool" ? [String(content).slice(0, 42)] : []));

describe("results of older exchanges", () => {
  test("give way to a marker that names the entry and its size", () => {
    const projection = shown([user("go"), ...exchanges(3)], { policy: policy(1) });
    expect(projection.messages.flatMap(({ role, content }) => (role === "tool" ? [content] : []))).toEqual([
      "[Result of entry 2 cleared: 203 bytes]",
      "[Result of entry 4 cleared: 203 bytes]",
      `c2 ${"x".repeat(200)}`,
    ]);
    expect(projection.meta.cleared).toEqual([2, 4]);
    expect(projection.meta.view.cleared).toEqual([2, 4]);
    expect(projection.provenance.map(({ rule }) => rule)).toEqual([
      undefined,
      undefined,
      "cleared",
      undefined,
      "cleared",
      undefined,
      undefined,
    ]);
  });

  test("stay while there are no more exchanges than are kept", () => {
    expect(shown([user("go"), ...exchanges(3)], { policy: policy(3) }).meta.cleared).toEqual([]);
    expect(shown([user("go"), ...exchanges(3)], { policy: policy(0) }).meta.cleared).toEqual([]);
  });

  test("stay in the turns that keepLastTurns protects", () => {
    const entries = [
      user("go"),
      ...exchanges(2),
      assistant("so"),
      user("on"),
      ...exchange("d"),
      assistant("so"),
      user("and on"),
      ...exchange("e"),
    ];
    const cleared = (keepLastTurns: number) => shown(entries, { policy: policy(1, { keepLastTurns }) }).meta.cleared;
    expect(cleared(0)).toEqual([2, 4, 8]);
    expect(cleared(1)).toEqual([2, 4, 8]);
    expect(cleared(2)).toEqual([2, 4]);
    expect(cleared(3)).toEqual([]);
  });

  test("are measured in bytes, and stay errors when they were", () => {
    const failed = { ok: false, error: { type: "timeout", message: "zu spät ☂" } } as const;
    const { messages } = shown(
      [user("go"), toolCall("a", "look", {}), toolResult("a", "look", failed), ...exchange("b")],
      { policy: policy(1) },
    );
    const bytes = new TextEncoder().encode(JSON.stringify({ error: failed.error })).length;
    expect(messages[2]).toEqual({
      role: "tool",
      toolCallId: "a",
      name: "look",
      content: `[Result of entry 2 cleared: ${bytes} bytes]`,
      isError: true,
    });
  });

  test("that a marker would only make longer stay", () => {
    const entries = [user("go"), toolCall("a", "look", {}), toolResult("a", "look", "ok"), ...exchange("c")];
    const projection = shown(entries, { policy: policy(1) });
    expect(results(projection)[0]).toBe("ok");
    expect(projection.meta.cleared).toEqual([]);
  });

  test("that never came are not cleared", () => {
    const projection = shown(
      [
        user("go"),
        toolCall("a", "look", {}),
        toolCall("b", "look", {}),
        toolResult("b", "look", "B".repeat(50)),
        ...exchange("c"),
      ],
      { policy: policy(1) },
    );
    expect(results(projection)).toEqual(
      [
        '{"error":{"type":"interrupted","message":"T',
        "[Result of entry 3 cleared: 50 bytes]",
        `c ${"x".repeat(40)}`,
      ].map((text) => text.slice(0, 42)),
    );
    expect(projection.meta.cleared).toEqual([3]);
  });

  test("are cleared before the window is cut, so more of the history fits", () => {
    const entries = [user("go"), ...exchanges(20)];
    const small = { maxInputTokens: 900, reserveOutputTokens: 0 };
    const kept = shown(entries, { policy: policy(0, small) }).messages.length;
    expect(shown(entries, { policy: policy(2, small) }).messages.length).toBeGreaterThan(kept);
  });
});

describe("in a stable window", () => {
  const stable = policy(2, { maxInputTokens: 2000, reserveOutputTokens: 0, window: { mode: "stable", step: 0.5 } });

  test("what is cleared changes only when a line of the grid is crossed, and never comes back", () => {
    const cleared = Array.from(
      { length: 60 },
      (_, n) => project({ thread: given(user("go"), ...exchanges(n + 1)), policy: stable }).meta.cleared,
    );
    const changes = cleared.filter((list, at) => String(list) !== String(cleared[at - 1] ?? [])).length;
    expect(changes).toBeGreaterThan(1);
    expect(changes).toBeLessThan(10);
  });

  test("a cleared result is the same bytes from then on, until it is cut", () => {
    let before: Projection | undefined;
    let checked = 0;
    for (let count = 1; count <= 60; count++) {
      const now = project({ thread: given(user("go"), ...exchanges(count)), policy: stable });
      for (const [at, { rule, seqs }] of before?.provenance.entries() ?? []) {
        const still = now.provenance.findIndex((its) => its.rule !== "head" && String(its.seqs) === String(seqs));
        if (rule !== "cleared" || still < 0) continue;
        expect(now.messages[still]).toEqual(before?.messages[at]);
        checked++;
      }
      before = now;
    }
    expect(checked).toBeGreaterThan(100);
  });

  test("the kept turns are counted back from the line, not from the newest turn", () => {
    const entries = [user("go"), ...exchanges(8), assistant("so")];
    const fine = policy(2, { ...stable, keepLastTurns: 1, window: { mode: "stable", step: 0.2 } });
    const clearedAfter = (...rest: EntryInput[]) => shown([...entries, ...rest], { policy: fine }).meta.cleared;
    expect(clearedAfter()).toEqual([]);
    expect(clearedAfter(user("on"))).toEqual([]);
    expect(clearedAfter(user("on"), assistant("y".repeat(2000)), user("and on"))).toEqual([2, 4, 6, 8, 10, 12]);
  });

  test("what is pending counts for the line as if it were committed", () => {
    for (let count = 5; count <= 40; count++) {
      const thread = given(user("go"), ...exchanges(count), toolCall("last", "look", {}));
      const pending = toolResult("last", "look", "x".repeat(1500));
      const asked = project({ thread, policy: stable, pending });
      expect(asked.messages).toEqual(project({ thread: thread.append(pending), policy: stable }).messages);
      expect(results(asked).at(-1)).toBe("x".repeat(42));
    }
  });
});
