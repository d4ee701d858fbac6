import { project, Thread } from "heddle";
import { acceptSummary, summaryRangeOf } from "heddle/core";
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
  });
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
