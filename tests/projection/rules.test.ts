import { createProjector, type EntryInput, type JsonValue, ProjectionError, project, Thread } from "heddle";
import { PROJECTOR, PROJECTORS } from "heddle/core";
import { expect, test } from "vitest";

const reasoned: EntryInput[] = [
  { kind: "message", payload: { role: "user", content: "Why?" } },
  {
    kind: "ai_message",
    payload: {
      role: "assistant",
      content: "Because.",
      thinking: [
        {
          text: "",
          provider: "openai",
          model: "gpt-5",
          metadata: { openai: { reasoningEncryptedContent: "A".repeat(1600) } },
        },
      ],
    },
  },
  { kind: "message", payload: { role: "user", content: "Really?" } },
];
const thread = Thread.create().append(reasoned);
const input = { thread, model: "openai:gpt-5", policy: { thinking: "keep" } } as const;

test("the newest rules are used without being named, and every released set of rules by its name", () => {
  expect(PROJECTORS.at(-1)).toBe(PROJECTOR);
  expect(project(input).meta.projector).toBe(PROJECTOR);
  for (const rules of PROJECTORS) expect(project({ ...input, rules }).meta.projector).toBe(rules);
});

test("heddle/1 does not count encrypted reasoning, heddle/1.1 does", () => {
  const tokens = (rules: (typeof PROJECTORS)[number]) => project({ ...input, rules }).meta.estimatedTokens;
  expect(tokens("heddle/1.1")).toBe(tokens("heddle/1") + 300);
});

test("a stored result that is more than an envelope is shown whole by heddle/1.1", () => {
  const shown = (result: JsonValue, rules: (typeof PROJECTORS)[number]) => {
    const called = Thread.create().append([
      { kind: "message", payload: { role: "user", content: "How warm is it?" } },
      { kind: "tool_call", payload: { id: "c1", name: "look", arguments: {} } },
      { kind: "tool_result", payload: { toolCallId: "c1", name: "look", result } },
    ]);
    const last = project({ thread: called, rules }).messages.at(-1);
    return last?.role === "tool" ? { content: last.content, isError: last.isError ?? false } : undefined;
  };
  const audited = { ok: true, value: 18, audit: "checked" };
  expect(shown(audited, "heddle/1")).toEqual({ content: "18", isError: false });
  expect(shown(audited, "heddle/1.1")).toEqual({ content: JSON.stringify(audited), isError: false });
  const noted = { ok: false, error: "cold", retries: 2 };
  expect(shown(noted, "heddle/1")).toEqual({ content: '{"error":"cold"}', isError: true });
  expect(shown(noted, "heddle/1.1")).toEqual({ content: JSON.stringify(noted), isError: false });
  for (const rules of PROJECTORS) {
    expect(shown({ ok: true, value: 18 }, rules)).toEqual({ content: "18", isError: false });
    expect(shown({ ok: false, error: "cold" }, rules)).toEqual({ content: '{"error":"cold"}', isError: true });
    const parts = {
      type: "content",
      value: [{ type: "file", mediaType: "image/png", data: { url: "http://a/b.png" } }],
    };
    expect(shown(parts, rules)).toEqual({ content: JSON.stringify(parts), isError: false });
  }
});

test("heddle/1 cannot read a developer message, heddle/1.1 reads it as a system message", () => {
  const brief = { kind: "message", payload: { role: "developer", content: "Be brief." } };
  const shown = { thread: Thread.create().append([...reasoned, brief]) };
  expect(() => project({ ...shown, rules: "heddle/1" })).toThrow(expect.objectContaining({ code: "unknown_role" }));
  expect(project(shown).messages.at(-1)?.content).toContain("System message:\nBe brief.");
});

test("a projector that is asked for other rules does not answer with the projection before", () => {
  const projector = createProjector();
  const first = projector.project({ ...input, rules: "heddle/1" });
  expect(projector.project(input).meta).not.toEqual(first.meta);
  expect(projector.project({ ...input, rules: "heddle/1" })).toEqual(first);
});

test("unknown rules are refused with the names that exist", () => {
  const unknown = { ...input, rules: "heddle/9" as "heddle/1" };
  expect(() => project(unknown)).toThrow(ProjectionError);
  expect(() => project(unknown)).toThrow("heddle/1, heddle/1.1");
});
