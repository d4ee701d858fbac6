import { describe, expect, test } from "vitest";
import { ProjectionError } from "../../src/projection/error.ts";
import { acceptSummary } from "../../src/projection/summary/summary-request.ts";
import type { Message } from "../../src/thread/message.ts";
import { Thread } from "../../src/thread/thread.ts";
import type { TokenCounter } from "../../src/tokens/counter.ts";

/** One token for each character, nothing for the message. */
const characters: TokenCounter = { count: (text) => text.length, perMessage: 0 };
const label = "Summary of earlier conversation:\n".length;

const range = (said: string) => ({
  fromSeq: 10,
  toSeq: 20,
  messages: [{ role: "user", content: said }] as readonly Message[],
});
const previous = { fromSeq: 3, toSeq: 9, content: "The user asked for tea." };
const long = range("Tell me all about it. ".repeat(20));

describe("an accepted summary", () => {
  test("becomes the payload of its entry", () => {
    const payload = { fromSeq: 10, toSeq: 20, content: "The user asked a lot." };
    expect(acceptSummary(long, "The user asked a lot.")).toEqual({ accepted: true, payload });
  });

  test("begins where the previous one began", () => {
    const payload = { fromSeq: 3, toSeq: 20, content: "The user asked a lot." };
    expect(acceptSummary({ ...long, previous }, "The user asked a lot.")).toEqual({ accepted: true, payload });
  });

  test("names the lane it was made for", () => {
    const payload = { contextRef: "side", fromSeq: 10, toSeq: 20, content: "Tea." };
    expect(acceptSummary(long, "Tea.", { lane: "side" })).toEqual({ accepted: true, payload });
  });

  test("is fit for a thread, without white space around it and without half an emoji", () => {
    const verdict = acceptSummary(long, "\n Tea 😀. \ud83d\n");
    expect(verdict).toMatchObject({ payload: { content: "Tea 😀. \ufffd" } });
    if (verdict.accepted) Thread.create({ id: "t" }).append({ kind: "summary", payload: verdict.payload });
  });
});

describe("a summary is discarded", () => {
  test.each(["", " \n\t", "\u00a0"])("when it is blank: %j", (content) => {
    expect(acceptSummary(long, content)).toEqual({ accepted: false, reason: "empty" });
  });

  test("when it costs as much as what it replaces, with the words it is shown with", () => {
    const judge = (size: number) =>
      acceptSummary(range("x".repeat(100)), "y".repeat(size), { tokenCounter: characters });
    expect(judge(100 - label)).toEqual({ accepted: false, reason: "not_smaller" });
    expect(judge(99 - label)).toMatchObject({ accepted: true });
  });

  test("counting the previous summary to what is replaced", () => {
    const rolling = { ...range("x".repeat(100)), previous };
    const judge = (size: number) => acceptSummary(rolling, "y".repeat(size), { tokenCounter: characters });
    expect(judge(100 + previous.content.length)).toEqual({ accepted: false, reason: "not_smaller" });
    expect(judge(99 + previous.content.length)).toMatchObject({ accepted: true });
  });

  test("not counting thinking, which is not shown in any case", () => {
    const thought = (text: string) => ({
      ...range(""),
      messages: [
        {
          role: "assistant",
          content: [
            { type: "thinking", text },
            { type: "text", text: "x".repeat(50) },
          ],
        },
      ] as const,
    });
    for (const text of ["", "Hm. ".repeat(500)]) {
      const judge = (size: number) => acceptSummary(thought(text), "y".repeat(size), { tokenCounter: characters });
      expect(judge(50 - label)).toEqual({ accepted: false, reason: "not_smaller" });
      expect(judge(49 - label)).toMatchObject({ accepted: true });
    }
  });

  test("by the heuristic, unless another counter is given, which gets the model", () => {
    expect(acceptSummary(range("xxxx"), "y".repeat(8))).toEqual({ accepted: false, reason: "not_smaller" });
    const models = new Set<string | undefined>();
    const count = (text: string, model?: string): number => {
      models.add(model);
      return text.includes("y") ? 0 : 1;
    };
    const verdict = acceptSummary(range("xxxx"), "y".repeat(8), { tokenCounter: { count }, model: "openai:gpt-5" });
    expect(verdict.accepted).toBe(true);
    expect([...models]).toEqual(["openai:gpt-5"]);
  });
});

test("a range that begins before the previous summary is refused: the new one would not cover its start", () => {
  const previous = { fromSeq: 2, toSeq: 3, content: "Before." };
  expect(() => acceptSummary({ ...long, fromSeq: 1, toSeq: 5, previous }, "Now.")).toThrow(/previous.fromSeq/);
});

test("a range that is none is refused before anything is judged", () => {
  expect(() => acceptSummary({ ...long, toSeq: 9 }, "")).toThrow(ProjectionError);
});
