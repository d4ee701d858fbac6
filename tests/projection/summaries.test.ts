import { type ContextPolicyInput, type EntryInput, explain, project } from "heddle";
import { assistant, inLane, summary, switchTo, toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { context, given, shown, told } from "./given.ts";

/** So many turns of an ask and an answer: the ask of turn n is at seq 2n. */
const turns = (count: number): EntryInput[] =>
  Array.from({ length: count }, (_, n) => [user(`ask ${n}`), assistant(`answer ${n}`)]).flat();
const line = (content: string): string => `system: Summary of earlier conversation:\n${content}`;

describe("a summary", () => {
  test("comes after the system prompt, before the history, as a segment of its own", () => {
    const projection = shown([...turns(2), summary(0, 1, "S"), user("so?")], { system: "Be kind." });
    expect(told(projection)).toEqual([
      "system: Be kind.",
      line("S"),
      "user: ask 1",
      "assistant: answer 1",
      "user: so?",
    ]);
    expect(projection.provenance.map(({ segment }) => segment)).toEqual([
      "system",
      "summary",
      "history",
      "history",
      "history",
    ]);
    expect(projection.meta).toMatchObject({ summaryUsed: true, view: { summarySeq: 4, startSeq: 2 } });
    expect(projection.meta.budget.summary).toBe(projection.provenance[1]?.tokens);
  });

  test("has the role that the policy gives it", () => {
    const policy: ContextPolicyInput = { summaryRole: "user" };
    expect(shown([...turns(1), summary(0, 1, "S"), user("so?")], { policy }).messages[0]).toEqual({
      role: "user",
      content: "Summary of earlier conversation:\nS",
    });
  });

  test("reaches no further than itself, whatever it says", () => {
    const after = ["user: ask 0", "assistant: answer 0", "user: so?"];
    expect(told(shown([...turns(1), summary(0, 999, "S"), ...turns(1), user("so?")]))).toEqual([line("S"), ...after]);
  });

  test("that reaches further wins, whenever it was written; of two the newer", () => {
    const wide = summary(0, 3, "wide");
    const narrow = summary(0, 1, "narrow");
    const after = ["user: ask 2", "assistant: answer 2", "user: so?"];
    expect(told(shown([...turns(3), wide, narrow, user("so?")]))).toEqual([line("wide"), ...after]);
    expect(told(shown([...turns(3), narrow, wide, user("so?")]))).toEqual([line("wide"), ...after]);
    expect(told(shown([...turns(3), wide, summary(2, 3, "newer"), user("so?")]))).toEqual([line("newer"), ...after]);
  });

  test("with an edge inside an exchange leaves the exchange whole", () => {
    const exchange = [
      toolCall("a", "look", {}),
      toolCall("b", "look", {}),
      toolResult("a", "look", "A"),
      toolResult("b", "look", "B"),
    ];
    for (const toSeq of [3, 4, 5]) {
      const projection = shown([...turns(1), user("look"), ...exchange, summary(0, toSeq, "S"), user("so?")]);
      expect(told(projection).slice(0, 5)).toEqual([
        line("S"),
        "user: (continued)",
        "assistant: -> look(a), look(b)",
        "tool a: A",
        "tool b: B",
      ]);
    }
    const whole = shown([...turns(1), user("look"), ...exchange, summary(0, 6, "S"), user("so?")]);
    expect(told(whole)).toEqual([line("S"), "user: so?"]);
  });

  test("covers the late result of a call it covers", () => {
    const thread = given(
      user("go"),
      toolCall("a", "look", {}),
      summary(0, 1, "S"),
      toolResult("a", "look", "late"),
      user("so?"),
    );
    expect(told(project({ thread }))).toEqual([line("S"), "user: so?"]);
    expect(explain({ thread })[3]).toMatchObject({ status: "summarised", rule: "covered_by_summary" });
  });

  test("is off where the policy says so, and then covers nothing", () => {
    const entries = [...turns(1), summary(0, 1, "S"), user("so?")];
    const all = ["user: ask 0", "assistant: answer 0", "user: so?"];
    expect(told(shown(entries, { policy: { summarization: "none" } }))).toEqual(all);
    expect(told(shown(entries, { policy: { includeKinds: ["message"] } }))).toEqual(all);
  });

  test("counts on its own lane only", () => {
    const entries = [...turns(1), inLane("side", summary(0, 1, "S")), user("so?")];
    expect(told(shown(entries))).toEqual(["user: ask 0", "assistant: answer 0", "user: so?"]);
  });

  test("goes with what a replace takes the place of, and stays when it reaches further", () => {
    const entries = [...turns(3), summary(0, 3, "S")];
    const kept = context([], { baseSeq: 2 });
    const gone = context([], { baseSeq: 3 });
    expect(told(shown([...entries, kept]))).toEqual([line("S"), "user: ask 2", "assistant: answer 2"]);
    expect(told(shown([...entries, gone]))).toEqual(["user: ask 2", "assistant: answer 2"]);
  });

  test("without a number as toSeq is no summary", () => {
    const broken = { kind: "summary", payload: { fromSeq: 0, toSeq: "1", content: "S" } };
    expect(shown([...turns(1), broken]).meta.summaryUsed).toBe(false);
  });
});

describe("a new summary", () => {
  const needOf = (policy: ContextPolicyInput, entries = turns(10)) => {
    const { needsSummary, needsSummaryReason, boundary } = project({ thread: given(...entries), policy }).meta;
    return { needsSummary, needsSummaryReason, boundary };
  };
  const small = { maxInputTokens: 200, reserveOutputTokens: 0 };

  test("is not needed as long as everything fits", () => {
    expect(needOf({})).toEqual({ needsSummary: false, needsSummaryReason: undefined, boundary: undefined });
  });

  test("is needed when history is cut, but not where summaries are off", () => {
    expect(needOf(small)).toEqual({ needsSummary: true, needsSummaryReason: "truncated", boundary: 13 });
    expect(needOf({ ...small, summarization: "none" }).needsSummary).toBe(false);
  });

  test("is needed when it is asked for and there is something to cover", () => {
    const policy = { summarization: "request_new" } as const;
    expect(needOf(policy)).toEqual({ needsSummary: true, needsSummaryReason: "requested", boundary: 13 });
    expect(needOf(policy, turns(3)).needsSummary).toBe(false);
    expect(needOf(policy, [...turns(10), summary(0, 13)]).needsSummary).toBe(false);
  });

  test("is needed when more entries than that follow the last one", () => {
    expect(needOf({ summarizeThreshold: 19 })).toMatchObject({ needsSummaryReason: "entries", boundary: 13 });
    expect(needOf({ summarizeThreshold: 20 }).needsSummary).toBe(false);
    const summarized = [...turns(10), summary(0, 9)];
    expect(needOf({ summarizeThreshold: 19 }, summarized).needsSummary).toBe(false);
    expect(needOf({ summarizeThreshold: 5 }, [...summarized, ...turns(3)]).needsSummaryReason).toBe("entries");
  });

  test("is needed when the live part of the lane weighs more than that", () => {
    const measure = turns(10).reduce((sum, { payload }) => sum + Math.floor(JSON.stringify(payload).length / 4), 0);
    expect(needOf({ maxThreadTokens: measure - 1 })).toMatchObject({ needsSummaryReason: "tokens", boundary: 13 });
    expect(needOf({ maxThreadTokens: measure }).needsSummary).toBe(false);
    expect(needOf({ maxThreadTokens: measure - 1 }, [...turns(10), summary(0, 13)]).needsSummary).toBe(false);
  });

  test("has one reason, the first that holds", () => {
    const all = { ...small, summarization: "request_new", summarizeThreshold: 1, maxThreadTokens: 1 } as const;
    expect(needOf(all).needsSummaryReason).toBe("truncated");
    expect(needOf({ ...all, maxInputTokens: 8000 }).needsSummaryReason).toBe("requested");
    expect(needOf({ summarizeThreshold: 1, maxThreadTokens: 1 }).needsSummaryReason).toBe("entries");
  });

  test("leaves the last turns outside, and the open one in any case", () => {
    const asks = { summarization: "request_new" } as const;
    expect(needOf({ ...asks, keepLastTurns: 1 }).boundary).toBe(17);
    expect(needOf({ ...asks, keepLastTurns: 0 }).boundary).toBe(19);
    expect(needOf({ ...asks, keepLastTurns: 0 }, [...turns(10), user("so?")]).boundary).toBe(19);
  });

  test("reaches up to what is shown where a single turn outgrows the window, and the ask stays", () => {
    const rounds = Array.from({ length: 12 }, (_, round) => [
      toolCall(`c${round}`, "look", {}),
      toolResult(`c${round}`, "look", "It has rained for days. ".repeat(4)),
    ]).flat();
    const entries = [user("Look everywhere."), ...rounds];
    const policy = { maxInputTokens: 400, reserveOutputTokens: 0, summarization: "request_new" } as const;
    const { meta } = project({ thread: given(...entries), policy });
    expect(meta).toMatchObject({ truncated: true, needsSummaryReason: "truncated", boundary: (meta.cutSeq ?? 0) - 1 });
    const after = project({ thread: given(...entries, summary(0, meta.boundary ?? 0)), policy });
    expect(after.meta).toMatchObject({ truncated: false, needsSummary: false, summaryUsed: true });
    expect(after.messages.some(({ content }) => content === "Look everywhere.")).toBe(true);
  });

  test("is written for the lane that is projected", () => {
    const entries = [...turns(2), switchTo("side"), ...turns(5)];
    expect(needOf({ summarization: "request_new", keepLastTurns: 2 }, entries).boundary).toBe(10);
  });
});
