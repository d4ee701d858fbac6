import type { EntryInput } from "heddle";
import { assistant, summary, toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { ai, refusalOf, shown, told } from "./given.ts";

const of = (requestId: string) => ({ refs: { requestId } });
/** About a hundred tokens. */
const round = (n: number): EntryInput[] => [
  toolCall(`c${n}`, "look", {}),
  toolResult(`c${n}`, "look", `${n} ${"x".repeat(300)}`),
];
const rounds = (from: number, to: number): EntryInput[] =>
  Array.from({ length: to - from + 1 }, (_, at) => round(from + at)).flat();
const tight = { policy: { maxInputTokens: 400, reserveOutputTokens: 0, window: { mode: "sliding" } } } as const;
const firstWords = (lines: readonly string[]): string[] => lines.map((line) => line.slice(0, 24).trim());

describe("the head of a request that the window cuts", () => {
  test("is its ask and what was steered into it before the cut, in their order", () => {
    const projection = shown(
      [
        user("an older ask"),
        assistant("done"),
        user("ask", of("r1")),
        ...rounds(1, 2),
        user("steer", of("r1")),
        ...rounds(3, 6),
      ],
      tight,
    );
    expect(told(projection).slice(0, 3)).toEqual(["user: ask", "user: steer", "assistant: -> look(c4)"]);
    expect(projection.provenance.slice(0, 2)).toMatchObject([
      { seqs: [2], rule: "head" },
      { seqs: [7], rule: "head" },
    ]);
    expect(projection.meta.view.headSeqs).toEqual([2, 7]);
    expect(projection.meta.cutSeq).toBe(10);
  });

  test("leaves out what was steered in after the cut: that is in the window", () => {
    const projection = shown([user("ask", of("r1")), ...rounds(1, 5), user("steer", of("r1"))], tight);
    expect(projection.meta.view.headSeqs).toEqual([0]);
    expect(told(projection).at(-1)).toBe("user: steer");
  });

  test("is the user's message of the turn where no request is named", () => {
    const projection = shown([user("older"), assistant("done"), user("ask"), ...rounds(1, 6)], tight);
    expect(projection.meta.view.headSeqs).toEqual([2]);
    expect(told(projection)[0]).toBe("user: ask");
  });

  test("is of one turn only: another request opens one, the same does not", () => {
    const other = shown([user("ask", of("r1")), ...rounds(1, 2), user("next", of("r2")), ...rounds(3, 6)], tight);
    expect(other.meta.view.headSeqs).toEqual([5]);
    const back = shown([user("a", of("r1")), user("b", of("r2")), user("c", of("r1")), ...rounds(1, 5)], tight);
    expect(back.meta.view.headSeqs).toEqual([2]);
  });

  test("is none when the cut falls between turns", () => {
    const long = "x".repeat(1600);
    const projection = shown([user("older"), assistant(long), user("ask"), assistant("answer")], tight);
    expect(told(projection)).toEqual(["user: ask", "assistant: answer"]);
    expect(projection.meta.view.headSeqs).toEqual([]);
  });

  test("does not take in system messages, which open no turn either", () => {
    const projection = shown([user("ask"), ai("system", "Be quick."), ...rounds(1, 6)], tight);
    expect(projection.meta.view.headSeqs).toEqual([0]);
    expect(told(projection).slice(0, 2)).toEqual(["user: ask", "assistant: -> look(c4)"]);
  });

  test("costs what it costs: a longer ask leaves less of the window", () => {
    const shownOf = (ask: string) => shown([user(ask), ...rounds(1, 8)], tight).meta;
    expect(shownOf("x".repeat(600)).messagesIncluded).toBeLessThan(shownOf("short").messagesIncluded);
    for (const ask of ["short", "x".repeat(600)]) expect(shownOf(ask).estimatedTokens).toBeLessThanOrEqual(400);
  });

  describe("with many steered messages", () => {
    const steered = (n: number, tokens: number): EntryInput[] => [
      ...round(n),
      { ...ai("user", `steer ${n} ${"s".repeat(4 * tokens - 50)}`, { steer: "steer" }), ...of("r1") },
    ];
    const long = [user("ask", of("r1")), ...[1, 2, 3, 4].flatMap((n) => steered(n, 80)), ...rounds(5, 6)];

    test("is only the ask once they take more than half of the window", () => {
      const some = shown([user("ask", of("r1")), ...steered(1, 80), ...steered(2, 80), ...rounds(3, 5)], tight);
      expect(some.meta.view.headSeqs).toEqual([0, 3, 6]);
      const many = shown(long, tight);
      expect(many.meta.view.headSeqs).toEqual([0]);
      expect(firstWords(told(many))).toEqual(
        [
          "user: ask",
          "assistant: -> look(c4)",
          expect.stringContaining("tool c4"),
          "user: steer 4 sssssssssssss".slice(0, 24),
          "assistant: -> look(c5)",
          expect.stringContaining("tool c5"),
          "assistant: -> look(c6)",
          expect.stringContaining("tool c6"),
        ].map((line) => line as string),
      );
    });

    test("keeps them under the rules of heddle/1, which fail as soon as they do not fit", () => {
      expect(shown([...long.slice(0, 10), ...round(5)], { ...tight, rules: "heddle/1" }).meta.view.headSeqs).toEqual([
        0, 3, 6,
      ]);
      expect(refusalOf(() => shown(long, { ...tight, rules: "heddle/1" })).code).toBe("budget_overflow");
    });

    test("is only the ask where what is new does not fit beside them", () => {
      const before = [user("ask", of("r1")), ...steered(1, 80), ...round(2)];
      const projection = shown([...before, ...steered(3, 250)], tight);
      expect(projection.meta.view.headSeqs).toEqual([0]);
      expect(firstWords(told(projection)).at(-1)).toBe("user: steer 3 ssssssssss".slice(0, 24));
    });

    test("names the ask, also where messages waited for it and came before", () => {
      const waited = [1, 2].map((n) => ({
        ...ai("user", `waited ${n} ${"w".repeat(400)}`, { steer: "inject" }),
        ...of("r1"),
      }));
      expect(firstWords(told(shown([...waited, user("ask", of("r1"))], tight)))).toHaveLength(3);
      expect(shown([...waited, user("ask", of("r1")), ...rounds(1, 5)], tight).meta.view.headSeqs).toEqual([2]);
    });

    test("shows all of those that no call has shown, or fails", () => {
      const follow = (tokens: number) => [
        user("ask", of("r1")),
        assistant("done", of("r1")),
        ...[1, 2].map((n) => ({ ...ai("user", `${n}`.repeat(4 * tokens - 40), { steer: "follow_up" }), ...of("r1") })),
      ];
      expect(
        told(shown(follow(190), tight))
          .slice(-2)
          .map((line) => line.slice(0, 7)),
      ).toEqual(["user: 1", "user: 2"]);
      expect(refusalOf(() => shown(follow(220), tight)).code).toBe("budget_overflow");
    });
  });

  test("is what the turn is named by: a requestId in the payload is as good as one in the refs", () => {
    const steer = ai("user", "steer", { requestId: "r1" });
    expect(shown([user("ask", of("r1")), steer, ...rounds(1, 6)], tight).meta.view.headSeqs).toEqual([0, 1]);
  });
});

describe("under a summary", () => {
  const open = [user("ask", of("r1")), ...rounds(1, 3), summary(0, 4), ...rounds(4, 4)];

  test("the ask of a request without an answer stays", () => {
    expect(firstWords(told(shown(open)))).toEqual([
      "system: Summary of earli",
      "user: ask",
      "assistant: -> look(c3)",
      "tool c3: 3 xxxxxxxxxxxxx",
      "assistant: -> look(c4)",
      "tool c4: 4 xxxxxxxxxxxxx",
    ]);
  });

  test("the ask of one that is answered is covered, and a placeholder is shown for it", () => {
    const answered = shown([...open, assistant("answer"), user("thanks")]);
    expect(firstWords(told(answered)).slice(0, 3)).toEqual([
      "system: Summary of earli",
      "user: (continued)",
      "assistant: -> look(c3)",
    ]);
    expect(answered.meta.view.headSeqs).toEqual([]);
  });

  test("an ask that is all there is stays also when the summary covers it", () => {
    const projection = shown([user("ask"), summary(0, 0)]);
    expect(firstWords(told(projection))).toEqual(["system: Summary of earli", "user: ask"]);
    expect(projection.meta.open).toBe(true);
  });

  test("where everything is covered and answered, a stand-in speaks for the user", () => {
    const projection = shown([user("ask"), assistant("answer"), summary(0, 1)]);
    expect(firstWords(told(projection))).toEqual(["system: Summary of earli", "user: (continued)"]);
  });
});

test("an ask that continues after an interim answer stays, although a summary covers it", () => {
  const refs = { requestId: "r" };
  const round = (id: string) => [toolCall(id, "look", {}, { refs }), toolResult(id, "look", "found", { refs })];
  const entries = [
    user("The ask", { refs }),
    assistant("Half done", { refs }),
    user("Go on", { refs }),
    ...round("a"),
    ...round("b"),
    summary(0, 4),
    ...round("c"),
  ];
  expect(told(shown(entries)).slice(1, 3)).toEqual(["user: The ask", "user: Go on"]);
  const closed = [...entries, assistant("Done", { refs }), user("Once more", { refs })];
  expect(told(shown(closed))).not.toContain("user: The ask");
});
