import { type ContextPolicyInput, calibrated, heuristic, type Message, type ProjectionInput } from "heddle";
import { toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { ai, shown } from "./given.ts";

const limit = (maxTokens: number): { policy: ContextPolicyInput } => ({
  policy: { maxInputTokens: 100_000, toolResults: { maxTokens } },
});
const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

function resultOf(result: string, input: Omit<ProjectionInput, "thread">): Message | undefined {
  return shown([user("go"), toolCall("a", "look", {}), toolResult("a", "look", result)], input).messages.at(-1);
}

describe("a long result", () => {
  test("is shortened to its head and its tail around a marker", () => {
    const text = `${"a".repeat(50)}${"b".repeat(50)}`;
    expect(resultOf(text, limit(5))).toMatchObject({
      content: `${"a".repeat(10)}\n[... 80 of 100 bytes of entry 2 left out ...]\n${"b".repeat(10)}`,
    });
  });

  test("stays as it is up to four bytes for each token", () => {
    expect(resultOf("a".repeat(20), limit(5))).toMatchObject({ content: "a".repeat(20) });
    expect(resultOf("a".repeat(100), limit(5))).not.toMatchObject({ content: "a".repeat(100) });
    expect(resultOf("a".repeat(5000), limit(0))).toMatchObject({ content: "a".repeat(5000) });
  });

  test("is cut between characters", () => {
    const { content } = resultOf("😀".repeat(100), limit(3)) ?? {};
    expect(content).toBe(`😀\n[... 392 of 400 bytes of entry 2 left out ...]\n😀`);
    expect(String(content).isWellFormed()).toBe(true);
  });

  test("is marked in its provenance, and the entry is still shown", () => {
    const projection = shown(
      [user("go"), toolCall("a", "look", {}), toolResult("a", "look", "x".repeat(100))],
      limit(5),
    );
    expect(projection.provenance[2]).toMatchObject({ seqs: [2], rule: "shortened" });
    expect(projection.meta.entriesIncluded).toBe(3);
  });

  test("that a marker would only make longer stays", () => {
    expect(resultOf("a".repeat(41), limit(10))).toMatchObject({ content: "a".repeat(41) });
  });

  test("of very many parts is cut as one text", () => {
    const parts = Array.from({ length: 500 }, (_, n) => ({ type: "text", text: `${n} `.repeat(50) }));
    const entries = [user("go"), toolCall("a", "look", {}), ai("tool", parts, { toolCallId: "a", name: "look" })];
    const { messages } = shown(entries, limit(100));
    expect(bytesOf(JSON.stringify(messages[2]?.content))).toBeLessThan(800);
  });

  test("of parts is cut as one text, and files stay", () => {
    const file = { type: "file", mediaType: "image/png", data: { url: "https://example.com/loom.png" } } as const;
    const parts = [{ type: "text", text: "x".repeat(100) }, file, { type: "text", text: "short" }];
    const { messages } = shown(
      [user("go"), toolCall("a", "look", {}), ai("tool", parts, { toolCallId: "a", name: "look" })],
      limit(5),
    );
    expect(messages[2]?.content).toEqual([
      { type: "text", text: `${"x".repeat(10)}\n[... 85 of 105 bytes of entry 2 left out ...]\n${"x".repeat(5)}` },
      file,
      { type: "text", text: "short" },
    ]);
  });

  test("is shortened alike whatever counts the tokens", () => {
    const text = "y".repeat(500);
    const counted = { ...limit(20), tokenCounter: calibrated(heuristic, 3) };
    expect(resultOf(text, counted)).toEqual(resultOf(text, limit(20)));
  });
});

test("only results are shortened", () => {
  const long = "z".repeat(400);
  const { messages } = shown([user(long), toolCall("a", "look", { long }), toolResult("a", "look", "found")], limit(5));
  expect(messages.slice(0, 2)).toEqual([
    { role: "user", content: long },
    { role: "assistant", content: "", toolCalls: [{ id: "a", name: "look", arguments: { long } }] },
  ]);
});

test("a result within the limit keeps its size or loses some: a marker is the only thing added", () => {
  for (const size of [80, 100, 1000]) {
    const content = String(resultOf("a".repeat(size), limit(5))?.content);
    expect(bytesOf(content.replace(/\n\[\.\.\. .* left out \.\.\.\]\n/, ""))).toBe(20);
  }
});
