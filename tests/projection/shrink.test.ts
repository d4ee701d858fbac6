import { type ContextPolicyInput, type EntryInput, type JsonObject, type JsonValue, project } from "heddle";
import { toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { ai, given, refusalOf } from "./given.ts";

const policy: ContextPolicyInput = { maxInputTokens: 300, reserveOutputTokens: 0, overflow: "shrink" };
const projected = (entries: readonly EntryInput[], more: ContextPolicyInput = {}) =>
  project({ thread: given(...entries), policy: { ...policy, ...more } });

describe("overflow: shrink", () => {
  test("shortens the newest result until it fits, and no more than that", () => {
    const { messages, provenance, meta } = projected([
      user("go"),
      toolCall("a", "look", {}),
      toolResult("a", "look", "x".repeat(4000)),
    ]);
    expect(meta.estimatedTokens).toBeLessThanOrEqual(300);
    expect(meta.estimatedTokens).toBeGreaterThan(298);
    expect(provenance[2]).toMatchObject({ seqs: [2], rule: "shrunk" });
    const kept = meta.view.shrunk?.[0]?.bytes ?? 0;
    expect(meta.view.shrunk).toEqual([{ seq: 2, bytes: kept }]);
    expect(messages[2]?.content).toBe(
      `${"x".repeat(kept / 2)}\n[... ${4000 - kept} of 4000 bytes of entry 2 left out ...]\n${"x".repeat(kept / 2)}`,
    );
  });

  test("takes the largest first and leaves the others as they are", () => {
    const { messages, meta } = projected([
      user("go"),
      toolCall("a", "look", {}),
      toolCall("b", "look", {}),
      toolCall("c", "look", {}),
      toolResult("a", "look", "a".repeat(100)),
      toolResult("b", "look", "b".repeat(3000)),
      toolResult("c", "look", "c".repeat(200)),
    ]);
    expect(meta.view.shrunk?.map(({ seq }) => seq)).toEqual([5]);
    expect(messages[2]?.content).toBe("a".repeat(100));
    expect(messages[4]?.content).toBe("c".repeat(200));
    expect(meta.estimatedTokens).toBeLessThanOrEqual(300);
  });

  test("continues with the next where one is not enough", () => {
    const both = projected([
      user("go"),
      toolCall("a", "look", {}),
      toolCall("b", "look", {}),
      toolResult("a", "look", "a".repeat(3000)),
      toolResult("b", "look", "b".repeat(2900)),
    ]);
    expect(both.meta.view.shrunk?.map(({ seq }) => seq)).toEqual([3, 4]);
    expect(both.meta.estimatedTokens).toBeLessThanOrEqual(300);
  });

  test("never touches the ask, nor the arguments", () => {
    const long = "x".repeat(2000);
    const short = "y".repeat(400);
    const ask = [user(long), toolCall("a", "look", {}), toolResult("a", "look", short)];
    const args = [user("go"), toolCall("a", "look", { long }), toolResult("a", "look", short)];
    for (const entries of [ask, args, [user(long)]]) {
      expect(refusalOf(() => projected(entries)).code).toBe("budget_overflow");
    }
    const tight = projected([
      user("x".repeat(400)),
      toolCall("a", "look", { q: "z".repeat(300) }),
      toolResult("a", "look", long),
    ]);
    expect(tight.messages.slice(0, 2)).toEqual([
      { role: "user", content: "x".repeat(400) },
      { role: "assistant", content: "", toolCalls: [{ id: "a", name: "look", arguments: { q: "z".repeat(300) } }] },
    ]);
  });

  test("does nothing where everything fits, and cuts older exchanges before it shrinks", () => {
    const exchange = (id: string, size: number) => [toolCall(id, "look", {}), toolResult(id, "look", "x".repeat(size))];
    const fits = projected([user("go"), ...exchange("a", 700), ...exchange("b", 700)]);
    expect(fits.meta.view).not.toHaveProperty("shrunk");
    expect(fits.messages.at(-1)?.content).toBe("x".repeat(700));
    const shrunk = projected([user("go"), ...exchange("a", 100), ...exchange("b", 4000)]);
    expect(shrunk.meta).toMatchObject({ truncated: true, cutSeq: 3, view: { headSeqs: [0] } });
  });

  test("keeps an error an error, and shortens what is pending as well", () => {
    const call = [user("go"), toolCall("a", "look", {})];
    const failed = { ok: false, error: { type: "failed", message: "m".repeat(3000) } } as const;
    expect(projected([...call, toolResult("a", "look", failed)]).messages[2]).toMatchObject({
      role: "tool",
      isError: true,
    });
    const pending = { kind: "tool_result", payload: { toolCallId: "a", name: "look", result: "x".repeat(4000) } };
    const asked = project({ thread: given(...call), policy, pending });
    expect(asked.messages).toEqual(projected([...call, pending]).messages);
    expect(asked.meta.estimatedTokens).toBeLessThanOrEqual(300);
  });

  test("shrinks further where results are shortened anyway", () => {
    const entries = [user("go"), toolCall("a", "look", {}), toolResult("a", "look", "x".repeat(8000))];
    const both = projected(entries, { toolResults: { maxTokens: 500 } });
    expect(both.messages).toEqual(projected(entries).messages);
    expect(both.provenance[2]?.rule).toBe("shrunk");
  });
});

describe("files of results", () => {
  const file = (filename: string, metadata: JsonObject, mediaType = "image/png"): JsonValue => ({
    type: "file",
    mediaType,
    filename,
    data: { base64: "iVBORw0KGgo=" },
    metadata: { heddle: metadata },
  });
  const image = (name: string, tokens: number) => file(name, { width: tokens, height: 750 });
  const text = (text: string): JsonValue => ({ type: "text", text });
  const result = (id: string, ...content: JsonValue[]) => ai("tool", content, { toolCallId: id, name: "look" });
  const calls = [user("go"), toolCall("a", "look", {}), toolCall("b", "look", {})];
  const note = (name: string) => text(`[A file (${name}, image/png) that cannot fit here]`);

  test("become notes where shorter texts are not enough: the largest first, then the oldest, no more than needed", () => {
    const { messages, provenance, meta } = projected([
      ...calls,
      result("a", text("one"), image("a.png", 150)),
      result("b", text("two"), image("b.png", 150), image("c.png", 170)),
    ]);
    expect(messages.slice(2).map(({ content }) => content)).toEqual([
      [text("one"), note("a.png")],
      [text("two"), image("b.png", 150), note("c.png")],
    ]);
    expect(provenance.map(({ rule }) => rule)).toEqual(["head", undefined, "shrunk", "shrunk"]);
    expect(meta.estimatedTokens).toBeLessThanOrEqual(300);
    expect(meta.view.shrunk?.map(({ seq }) => seq)).toEqual([4, 3]);
  });

  test("stay while shorter texts make it fit, and texts are cut beside notes", () => {
    const long = text("x".repeat(4000));
    const stays = projected([...calls, result("a", long, image("a.png", 100))]);
    expect(stays.messages[2]?.content).toContainEqual(image("a.png", 100));
    const both = projected([...calls, result("a", long, image("a.png", 290))]);
    expect(both.messages[2]?.content).toContainEqual(note("a.png"));
    expect(JSON.stringify(both.messages[2]?.content)).toContain("of 4000 bytes of entry 3 left out");
    expect(both.meta.estimatedTokens).toBeGreaterThan(290);
  });

  test("of the user are never left out, and heddle/1 leaves out none", () => {
    const asked = [ai("user", [text("See."), image("a.png", 400)]), toolCall("a", "look", {}), result("a", text("A"))];
    expect(refusalOf(() => projected(asked)).code).toBe("budget_overflow");
    const thread = given(...calls, result("a", image("a.png", 400)));
    expect(refusalOf(() => project({ thread, policy, rules: "heddle/1" })).code).toBe("budget_overflow");
    expect(refusalOf(() => project({ thread, policy: { ...policy, overflow: "error" } })).code).toBe("budget_overflow");
  });
});
