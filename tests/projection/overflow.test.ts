import { type ContextPolicyInput, type EntryInput, explain, project, type ToolSpec } from "heddle";
import { assistant, summary, toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { given, refusalOf } from "./given.ts";

const small: ContextPolicyInput = { maxInputTokens: 120, reserveOutputTokens: 20 };
const long = "x".repeat(1000);
const tool = (n: number): ToolSpec => ({
  name: `tool_${n}`,
  description: "y".repeat(1187 - String(n).length),
  inputSchema: { type: "object" },
});

describe("what has to be shown and does not fit", () => {
  test("is a typed error with the numbers in it", () => {
    const refusal = refusalOf(() =>
      project({ thread: given(user("hi"), assistant("hello"), user(long)), policy: small }),
    );
    expect(refusal).toMatchObject({
      name: "ProjectionError",
      code: "budget_overflow",
      retryable: false,
      needed: 260,
      available: 100,
      parts: { system: 0, tools: 0, summary: 0, newest: 260 },
    });
    expect(refusal.message).toMatch(/260 tokens.* 100 available/);
  });

  test("is named by its largest part, in words", () => {
    const tools = Array.from({ length: 31 }, (_, n) => tool(n));
    const refusal = refusalOf(() => project({ thread: given(user("hi")), policy: small, tools, system: "Be kind." }));
    expect(refusal.code).toBe("budget_overflow");
    expect(refusal.parts?.["tools"]).toBeGreaterThan(9000);
    expect(refusal.message).toMatch(/The largest part is tools: 9,\d{3} tokens in 31 specs\./);
    expect(refusal.needed).toBe(Object.values(refusal.parts ?? {}).reduce((sum, tokens) => sum + tokens));
    expect(refusal.available).toBe(100);
  });

  test("may be the system prompt, a summary, or the newest exchange with its ask", () => {
    const of = (entries: readonly EntryInput[], system = "Be kind.") =>
      refusalOf(() => project({ thread: given(...entries), policy: small, system })).message;
    expect(of([user("hi")], long)).toContain("The largest part is system: 260 tokens.");
    expect(of([user("hi"), summary(0, 0, long), user("x".repeat(500))])).toContain(
      "The largest part is summary: 268 tokens.",
    );
    expect(of([user("hi"), toolCall("a", "look", {}), toolResult("a", "look", long)])).toContain(
      "The largest part is newest:",
    );
  });

  test("is never a summary alone: it is left out of the call, and explained", () => {
    const thread = given(user("hi"), summary(0, 0, long), user("so?"));
    const { messages, meta } = project({ thread, policy: small });
    expect(messages.map(({ content }) => content)).toEqual(["hi", "so?"]);
    expect(meta).toMatchObject({ summaryUsed: false, budget: { summary: 0, available: 100 } });
    expect(meta.view.summarySeq).toBeUndefined();
    expect(explain({ thread, policy: small })[1]).toMatchObject({ status: "cut", rule: "before_window", tokens: 268 });
    expect(refusalOf(() => project({ thread, policy: small, rules: "heddle/1" })).code).toBe("budget_overflow");
  });

  test("leaves the place of a summary that never fits to the newest history, and says so", () => {
    const turns = Array.from({ length: 20 }, (_, n) => [
      user(`fact ${n}`),
      assistant("He walks on. ".repeat(40)),
    ]).flat();
    const thread = given(...turns, summary(0, 35, "fact. ".repeat(1400)));
    const policy: ContextPolicyInput = { maxInputTokens: 2600, reserveOutputTokens: 500, window: { mode: "sliding" } };
    const { meta } = project({ thread, pending: "Next.", policy });
    expect(meta).toMatchObject({ summaryUsed: false, truncated: true, needsSummaryReason: "summary_too_long" });
    expect(meta).toMatchObject({ needsSummary: true, boundary: 35, floorViolated: false });
    expect(meta.budget.history).toBeGreaterThan(1800);
    const bare = project({ thread: given(...turns), pending: "Next.", policy });
    expect(meta.fingerprint).toBe(bare.meta.fingerprint);
    const rows = explain({ thread, pending: "Next.", policy });
    expect(rows[0]).toMatchObject({ status: "cut", rule: "before_window" });
    expect(rows[35]).toMatchObject({ status: "shown", rule: "in_window" });
    expect(rows[40]).toMatchObject({ status: "cut", rule: "before_window" });
  });

  test("comes with the hint to shrink results only where there are some", () => {
    const call = [user("go"), toolCall("a", "look", {})];
    const messageOf = (entries: readonly EntryInput[], policy: ContextPolicyInput) =>
      refusalOf(() => project({ thread: given(...entries), policy })).message;
    expect(messageOf([...call, toolResult("a", "look", long)], small)).toContain('overflow: "shrink"');
    expect(messageOf([user(long)], small)).not.toContain("shrink");
    expect(
      messageOf([user(long), ...call.slice(1), toolResult("a", "look", "A")], { ...small, overflow: "shrink" }),
    ).not.toContain("shrink");
  });

  test("says how files count, where they are the large part", () => {
    const pdf = { type: "file", mediaType: "application/pdf", data: { base64: "JVBERi0=" } } as const;
    const asked = (text: string, count: number) => {
      const content = [{ type: "text", text }, ...Array.from({ length: count }, () => pdf)];
      return { kind: "ai_message" as const, payload: { role: "user" as const, content } };
    };
    const files = asked("Read these.", 12);
    const policy = { maxInputTokens: 100_000 };
    const messageOf = (...entries: readonly EntryInput[]) =>
      refusalOf(() => project({ thread: given(...entries), policy })).message;
    const hint = "Files count 120,000, whatever their bytes; fewer with `pages` in metadata.heddle of a PDF.";
    expect(messageOf(files)).toContain(hint);
    expect(messageOf(files, toolCall("a", "look", {}), toolResult("a", "look", "A"))).toContain(hint);
    expect(messageOf(user("x".repeat(500_000)))).not.toContain("Files");
    expect(messageOf(asked("x".repeat(400_000), 1))).not.toContain("Files");
  });

  test("counts the head of its request", () => {
    const entries = [user("x".repeat(250)), toolCall("a", "look", {}), toolResult("a", "look", "y".repeat(40))];
    expect(refusalOf(() => project({ thread: given(...entries), policy: small })).needed).toBe(72 + 12 + 21);
    expect(project({ thread: given(user("x".repeat(200)), ...entries.slice(1)), policy: small }).messages).toHaveLength(
      3,
    );
  });

  test("is an error of its own when it is pending", () => {
    const refusal = refusalOf(() =>
      project({ thread: given(user("hi"), assistant("hello")), policy: small, pending: long }),
    );
    expect(refusal).toMatchObject({ code: "pending_overflow", needed: 260, available: 100, parts: { pending: 260 } });
    expect(refusal.message).toMatch(/^The pending items /);
  });

  test("is never blamed on pending entries when no history would fit at all", () => {
    expect(refusalOf(() => project({ thread: given(), policy: small, system: long, pending: "hi" })).code).toBe(
      "budget_overflow",
    );
  });

  test("is refused with an empty thread, too", () => {
    expect(refusalOf(() => project({ thread: given(), policy: small, system: long })).code).toBe("budget_overflow");
  });

  test("says nothing of the content", () => {
    const refusal = refusalOf(() =>
      project({ thread: given(user(`secret ${long}`)), policy: small, system: "hidden" }),
    );
    expect(JSON.stringify(refusal) + refusal.message).not.toMatch(/secret|hidden|xxx/);
  });

  test("fits to the token", () => {
    const exact = given(user("x".repeat(360)));
    expect(project({ thread: exact, policy: small }).meta.estimatedTokens).toBe(100);
    expect(refusalOf(() => project({ thread: given(user("x".repeat(364))), policy: small })).needed).toBe(101);
  });
});
