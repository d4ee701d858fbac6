import { type EntryInput, type ExplainedEntry, explain, type ProjectionInput, project } from "heddle";
import { assistant, inLane, note, summary, switchTo, toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { context, given, refusalOf } from "./given.ts";

/** "0 shown in_window @0": seq, status, rule and place of each entry. */
function fates(entries: readonly EntryInput[], input: Omit<ProjectionInput, "thread"> = {}): string[] {
  return explain({ thread: given(...entries), ...input }).map(
    ({ seq, status, rule, message }) => `${seq} ${status} ${rule}${message === undefined ? "" : ` @${message}`}`,
  );
}

const sliding = { policy: { maxInputTokens: 300, reserveOutputTokens: 0, window: { mode: "sliding" } } } as const;
const exchange = (id: string, result = "x".repeat(400)) => [toolCall(id, "look", {}), toolResult(id, "look", result)];

describe("every entry is accounted for", () => {
  test("in the window, with the message it is in", () => {
    expect(
      fates(
        [
          user("go"),
          toolCall("a", "look", {}),
          toolCall("b", "look", {}),
          toolResult("b", "look", "B"),
          toolResult("a", "look", "A"),
        ],
        { system: "Be kind." },
      ),
    ).toEqual([
      "0 shown in_window @1",
      "1 shown in_window @2",
      "2 shown in_window @2",
      "3 shown in_window @4",
      "4 shown in_window @3",
    ]);
  });

  test("before it: cut, or the head of the request that is cut", () => {
    expect(
      fates([user("old"), assistant("old"), user("go"), ...exchange("a"), ...exchange("b"), ...exchange("c")], sliding),
    ).toEqual([
      "0 cut before_window",
      "1 cut before_window",
      "2 shown head_of_cut_request @0",
      "3 cut before_window",
      "4 cut before_window",
      "5 shown in_window @1",
      "6 shown in_window @2",
      "7 shown in_window @3",
      "8 shown in_window @4",
    ]);
  });

  test("as a summary, under one, or as one that another goes further than", () => {
    expect(fates([user("one"), assistant("two"), summary(0, 0), summary(0, 1), user("three")])).toEqual([
      "0 summarised covered_by_summary",
      "1 summarised covered_by_summary",
      "2 superseded newer_summary",
      "3 shown summary_in_use @0",
      "4 shown in_window @1",
    ]);
    expect(fates([user("one"), summary(0, 0)], { policy: { summarization: "none" } })[1]).toBe(
      "1 not_projectable summaries_off",
    );
  });

  test("as a malformed summary, without toSeq or without text", () => {
    const bad = [{ content: "Sum." }, { toSeq: 0 }, { content: "Sum.", toSeq: "0" }];
    const entries = bad.map((payload) => ({ kind: "summary", payload }));
    expect(fates([user("one"), ...entries]).slice(1)).toEqual(
      bad.map((_, at) => `${at + 1} not_projectable malformed_summary`),
    );
  });

  test("as a call that was interrupted, a result that was cleared", () => {
    const policy = { toolResults: { keepLast: 1 }, keepLastTurns: 0, window: { mode: "sliding" } } as const;
    expect(fates([user("go"), ...exchange("a"), toolCall("b", "look", {})], { policy })).toEqual([
      "0 shown in_window @0",
      "1 shown in_window @1",
      "2 cleared result_cleared @2",
      "3 repaired call_interrupted @3",
    ]);
  });

  test("as dropped, with the reason", () => {
    expect(
      fates([
        user("go"),
        toolResult("x", "look", "X"),
        ...exchange("a", "A"),
        toolResult("a", "look", "again"),
        user(" "),
      ]),
    ).toEqual([
      "0 shown in_window @0",
      "1 dropped result_without_call",
      "2 shown in_window @1",
      "3 shown in_window @2",
      "4 dropped second_result",
      "5 dropped blank",
    ]);
  });

  test("on lanes, as operations, as kinds without a reader", () => {
    expect(
      fates([
        user("one"),
        inLane("side", user("two")),
        context([{ role: "user", content: "so far" }]),
        context([{ role: "user", content: "anew" }]),
        note(),
        switchTo("default"),
      ]),
    ).toEqual([
      "0 superseded before_replace",
      "1 other_lane lane_not_projected",
      "2 superseded newer_replace",
      "3 shown context_in_use @0",
      "4 not_projectable kind_not_included",
      "5 not_projectable operation",
    ]);
  });

  test("on the lane that was active when it was written", () => {
    const entries = [user("one"), switchTo("side"), user("two"), { kind: "message", payload: {} }];
    expect(fates(entries, { lane: "default" })).toEqual([
      "0 shown in_window @0",
      "1 other_lane lane_not_projected",
      "2 other_lane lane_not_projected",
      "3 other_lane lane_not_projected",
    ]);
  });

  test("once, in order, pending or not", () => {
    const entries = [user("go"), ...exchange("a"), note(), summary(0, 0), switchTo("side"), user("here")];
    for (const pending of [undefined, "so?"]) {
      const explained = explain({ thread: given(...entries), pending });
      expect(explained.map(({ seq, kind }) => [seq, kind])).toEqual(entries.map(({ kind }, seq) => [seq, kind]));
    }
  });

  test("of an empty thread there is nothing to say", () => {
    expect(explain({ thread: given() })).toEqual([]);
  });
});

describe("tokens", () => {
  const tokensOf = (explained: readonly ExplainedEntry[], ...statuses: readonly ExplainedEntry["status"][]): number =>
    explained.reduce((sum, { status, tokens }) => sum + (statuses.includes(status) ? tokens : 0), 0);

  test("of what is shown add up to what is sent", () => {
    const thread = given(
      user("go"),
      ...exchange("a"),
      assistant("x"),
      summary(0, 1),
      user("on"),
      toolCall("b", "look", {}),
      user("hi"),
    );
    const input: ProjectionInput = { thread, system: "Be kind.", tools: [{ name: "look", inputSchema: {} }] };
    const { meta, provenance } = project(input);
    const standIns = provenance.reduce((sum, { rule, tokens }) => sum + (rule === "stand_in" ? tokens : 0), 0);
    expect(meta.repaired.standIns).toBeGreaterThan(0);
    expect(
      tokensOf(explain(input), "shown", "repaired", "cleared") + meta.budget.system + meta.budget.tools + standIns,
    ).toBe(meta.estimatedTokens);
  });

  test("of what is cut are what it would cost", () => {
    const thread = given(user("x".repeat(400)), assistant("y".repeat(80)), user("z".repeat(800)));
    expect(explain({ thread, ...sliding }).map(({ status, tokens }) => [status, tokens])).toEqual([
      ["cut", 110],
      ["cut", 30],
      ["shown", 210],
    ]);
  });
});

test("what does not fit is explained all the same", () => {
  const thread = given(user("old"), assistant("older"), user("x".repeat(4000)));
  expect(refusalOf(() => project({ thread, ...sliding })).code).toBe("budget_overflow");
  expect(explain({ thread, ...sliding }).map(({ status, tokens }) => [status, tokens])).toEqual([
    ["cut", 10],
    ["cut", 11],
    ["shown", 1010],
  ]);
});

test("explaining changes nothing of what a projection gives", () => {
  const thread = given(user("go"), ...exchange("a"));
  const before = JSON.stringify(project({ thread }));
  explain({ thread });
  expect(JSON.stringify(project({ thread }))).toBe(before);
});
