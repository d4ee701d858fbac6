import { createProjector, type EntryInput, PROJECTOR, PROJECTORS, ProjectionError, project, Thread } from "heddle";
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
