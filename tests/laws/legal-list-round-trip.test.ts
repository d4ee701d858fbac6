import fc from "fast-check";
import { type EntryInput, type JsonObject, type Message, project, Thread } from "heddle";
import { expect, test } from "vitest";
import { legalList } from "../providers/support/legal.ts";

/** As an agent writes it: the message itself is the payload. */
function entryOf(message: Message): EntryInput {
  return { kind: "ai_message", payload: { contextRef: "default", ...message } as unknown as JsonObject };
}

test("a legal list is shown unchanged: every part, in its place, with its metadata", () => {
  fc.assert(
    fc.property(legalList, (messages) => {
      const spoken = messages.filter(({ role }) => role !== "system");
      const thread = Thread.create().append(spoken.map(entryOf));
      const policy = { maxInputTokens: 10_000_000, thinking: "keep" } as const;
      expect(project({ thread, policy }).messages).toEqual(spoken);
    }),
    { numRuns: 500 },
  );
});
