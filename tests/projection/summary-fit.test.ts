import fc from "fast-check";
import { Thread } from "heddle";
import { type SummaryRange, summaryRequest } from "heddle/core";

import { describe, expect, test } from "vitest";
import { firstSummaryRange } from "../../src/projection/summary/summary-range.ts";

const textOf = (lengths: readonly number[], previous: string, maxTokens: number): string => {
  const messages = lengths.map((length, index) => ({
    role: "assistant" as const,
    content: `<${index}>${"x".repeat(length)}</${index}>`,
  }));
  const range = { fromSeq: 10, toSeq: 10 + lengths.length, messages };
  const before = { fromSeq: 0, toSeq: 9, content: previous };
  const {
    messages: [, user],
  } = summaryRequest({ ...range, previous: before }, { maxTokens });
  return String(user.content);
};
const isWhole = (text: string, index: number, length: number) =>
  text.includes(`<${index}>${"x".repeat(length)}</${index}>`);

describe("a request that is shortened", () => {
  test("keeps the previous summary whole, also where each text is as long as the others", () => {
    const previous = `${"Ada owes Bo 7 gold. ".repeat(10)}THE KING IS DEAD. ${"Bo has the red key. ".repeat(10)}`;
    const text = textOf(Array(66).fill(450), previous, 8000);
    expect(text).toContain(previous);
    expect(Buffer.byteLength(text)).toBeGreaterThan(0.9 * (32_000 - 3000));
  });

  test("shortens the longest texts first, and no more than needed", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 0, max: 4000 }),
        (lengths, before) => {
          const previous = `Summary. ${"y".repeat(before)}`;
          const text = textOf(lengths, previous, 8000);
          expect(text).toContain(previous);
          const whole = lengths.filter((length, index) => isWhole(text, index, length));
          const cut = lengths.filter((length, index) => !isWhole(text, index, length));
          if (cut.length === 0) return;
          expect(Math.max(0, ...whole)).toBeLessThanOrEqual(Math.min(...cut));
          const size = Buffer.byteLength(text);
          expect(size).toBeLessThanOrEqual(32_000);
          expect(size).toBeGreaterThan(32_000 - 3000 - 600 - cut.length * 40);
        },
      ),
      { numRuns: 60 },
    );
  });
});

test("beside a long summary, which is shortened, a part has the other half of the request", () => {
  const said = Array.from({ length: 40 }, () => ({
    kind: "message",
    payload: { role: "assistant", content: "x".repeat(450) },
  }));
  const summary = { kind: "summary", payload: { fromSeq: 0, toSeq: 1, content: "y".repeat(12_000) } };
  const thread = Thread.create().append([...said, summary]);
  const range = firstSummaryRange({ thread }, 39, { requestTokens: 4000 });
  expect(range?.messages.length).toBeGreaterThan(10);
  const { messages } = summaryRequest(range as SummaryRange, { maxTokens: 4000 });
  expect(Buffer.byteLength(String(messages[1].content))).toBeLessThanOrEqual(16_000);
  expect(String(messages[1].content)).toContain("x".repeat(450));
});
