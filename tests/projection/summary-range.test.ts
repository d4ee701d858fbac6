import { calibrate, heuristic, project, Thread } from "heddle";
import { acceptSummary, summaryRangeOf, summaryRequest } from "heddle/core";
import { assistant, summary, user } from "heddle/testing";
import { expect, test } from "vitest";
import { given } from "./given.ts";

const lane = "default";

test("what a summary is made of is what none covers yet, up to its boundary", () => {
  const thread = given(user("one"), assistant("1"), user("two"), assistant("2"), user("three"));
  expect(summaryRangeOf({ thread, lane }, 1)).toEqual({
    fromSeq: 0,
    toSeq: 1,
    messages: [
      { role: "user", content: "one" },
      { role: "assistant", content: "1" },
    ],
    maxSummaryTokens: 2000,
  });
});

test("a summary that is too long for the policy is a range of its own, and only a shorter one is taken", () => {
  const content = "Ada owes Bo gold. ".repeat(100);
  const thread = given(user("one"), assistant("1"), summary(0, 1, content), user("two"));
  const policy = { maxInputTokens: 500, reserveOutputTokens: 200 };
  const { meta } = project({ thread, policy });
  expect(meta).toMatchObject({ summaryUsed: false, truncated: false, needsSummary: false });
  const range = summaryRangeOf({ thread, lane, policy }, 1);
  expect(range).toEqual({
    fromSeq: 0,
    toSeq: 1,
    messages: [],
    previous: { fromSeq: 0, toSeq: 1, content },
    maxSummaryTokens: 100,
  });
  if (range === undefined) throw new Error("no range");
  const [system, record] = summaryRequest(range).messages;
  expect(system.content).toContain("Write at most 300 characters.");
  expect(record.content).toContain(content);
  expect(acceptSummary(range, content)).toEqual({ accepted: false, reason: "too_long" });
  expect(acceptSummary(range, "x".repeat(404))).toEqual({ accepted: false, reason: "too_long" });
  expect(acceptSummary(range, "x".repeat(400))).toMatchObject({ payload: { fromSeq: 0, toSeq: 1 } });
});

test("the limit of a summary is a third of what system prompt and tools leave", () => {
  const thread = given(user("one"), assistant("1"));
  const tools = [{ name: "look", description: "x".repeat(394), inputSchema: {} }];
  const policy = { maxInputTokens: 1000, reserveOutputTokens: 100 };
  const of = (more: object) => summaryRangeOf({ thread, lane, policy, ...more }, 1)?.maxSummaryTokens;
  expect(of({})).toBe(300);
  expect(of({ system: "x".repeat(560), tools })).toBe(216);
  expect(of({ tokenCounter: calibrate(heuristic, [{ estimated: 100, reported: 200 }]) })).toBe(150);
});

test("where letters have several bytes, fewer are asked for", () => {
  const thread = given(user("雨".repeat(5000)), assistant("1"));
  const range = summaryRangeOf({ thread, lane, policy: { maxInputTokens: 3200, reserveOutputTokens: 200 } }, 1);
  const [system] = summaryRequest(range ?? { fromSeq: 0, toSeq: 0, messages: [] }).messages;
  const asked = Number(/at most (\d+) characters/.exec(system.content)?.[1]);
  expect(asked).toBeGreaterThan(1000);
  expect(asked).toBeLessThan(1100);
});

test("a rolling one begins behind the one before, and takes its text along", () => {
  const thread = given(
    user("one"),
    assistant("1"),
    user("two"),
    assistant("2"),
    summary(0, 1, "one was asked"),
    user("three"),
  );
  const range = summaryRangeOf({ thread, lane }, 3);
  expect(range?.messages.map(({ content }) => content)).toEqual(["two", "2"]);
  expect(range).toMatchObject({ fromSeq: 2, toSeq: 3, previous: { fromSeq: 0, toSeq: 1, content: "one was asked" } });
  const verdict = range && acceptSummary(range, "one, two");
  expect(verdict).toMatchObject({ accepted: true, payload: { fromSeq: 0, toSeq: 3 } });
});

test("there is none where nothing is new", () => {
  const thread = given(user("one"), assistant("1"), summary(0, 1), user("two"));
  expect(summaryRangeOf({ thread, lane }, 1)).toBeUndefined();
  expect(summaryRangeOf({ thread, lane: "side" }, 3)).toBeUndefined();
});

test("what the window has cut is in it all the same", () => {
  const long = "word ".repeat(400);
  const thread = given(user(long), assistant("1"), user("two"), assistant("2"));
  const policy = { maxInputTokens: 400, reserveOutputTokens: 100, keepLastTurns: 1 };
  const { meta } = project({ thread, policy });
  expect(meta).toMatchObject({ truncated: true, boundary: 1 });
  expect(summaryRangeOf({ thread, lane, policy }, 1)?.messages[0]?.content).toBe(long);
});

test("without a lane it is the active one", () => {
  const say = (content: string, more = {}) => ({ kind: "message", payload: { role: "user", content, ...more } });
  const operation = { type: "switch", reason: "manual" };
  const active = Thread.create().append([
    say("one"),
    { kind: "ai_context_operation", payload: { opId: "o1", contextRef: "side", operation } },
    say("two"),
  ]);
  expect(summaryRangeOf({ thread: active }, 2)?.messages).toEqual([{ role: "user", content: "two" }]);
});
