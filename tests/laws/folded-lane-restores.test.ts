import fc from "fast-check";
import { type JsonObject, type Message, project, Thread } from "heddle";
import { foldLane } from "heddle/core";
import { expect, test } from "vitest";
import { anyInput } from "../projection/support/threads.ts";
import { attempt } from "../projection/support/trial.ts";
import { expectOften } from "../support/case-budget.ts";

const CUTTING = new Set(["summary", "ai_context_operation"]);

test("a lane that is replaced by what it folds to shows the same", () => {
  const seen = { cases: 0, messages: 0 };
  fc.assert(
    fc.property(anyInput, ({ thread }) => {
      seen.cases++;
      const policy = { maxInputTokens: 1_000_000, summarization: "none" } as const;
      const before = attempt(project, { thread, policy });
      if (before === undefined) return;
      const { lane } = before.meta;
      const { entries, systemPrompt, items } = foldLane(thread, lane);
      // Where a summary or a replace stands inside an exchange, it has cut it in two, and the messages do not tell.
      const cuts = items.filter(({ entry, snapshot }) => CUTTING.has(entry.kind) && snapshot === undefined);
      if (cuts.length > 0 || new Set(items.map(({ snapshot }) => snapshot !== undefined)).size > 1) return;
      const resultContext = { id: "restored", entries, ...(systemPrompt !== undefined && { systemPrompt }) };
      const operation = { type: "replace", reason: "restore", resultContext } as unknown as JsonObject;
      const payload = { opId: "op", contextRef: lane, operation };
      const restored = Thread.create().append({ kind: "ai_context_operation", payload });
      expect(project({ thread: restored, lane, policy }).messages.map(withoutMade)).toEqual(
        before.messages.map(withoutMade),
      );
      seen.messages += before.messages.length;
    }),
    { numRuns: 400 },
  );
  expectOften(seen.messages, seen.cases, 2.5);
});

/**
 * Ids that had to be made name the place of the call, and that is another one. Words that had to be made for a file that the
 * model gave alone are not needed any more where calls have joined it and the folded message has both.
 */
function withoutMade(message: Message): unknown {
  const text = JSON.stringify(message).replace(/"hd_[A-Za-z0-9_-]{22,37}"/g, '"made"');
  const { content, ...rest } = JSON.parse(text) as Message;
  const hasCalls = "toolCalls" in rest && Array.isArray(content);
  const own = hasCalls ? content.filter((part) => part.type !== "text" || !part.text.startsWith("[A file (")) : content;
  return { ...rest, content: own };
}
