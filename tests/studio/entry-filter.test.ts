import fc from "fast-check";
import type { Entry } from "heddle";
import { expect, test } from "vitest";
import { asJsonText, lowerAscii } from "../../src/stores/row-filter.ts";
import { ENTRY_CATEGORIES, matchesFilter, readsFor } from "../../src/studio/entry-filter.ts";

const part = fc.constantFrom(
  { type: "thinking", text: "a" },
  { type: "text", text: "b" },
  { type: "tool_call", id: "c" },
);
const payload = fc.record(
  {
    role: fc.constantFrom("user", "assistant", "tool", "system"),
    content: fc.oneof(fc.constantFrom("", "words"), fc.array(part, { maxLength: 3 })),
    toolCalls: fc.constantFrom([], [{ id: "c1", name: "look", arguments: {} }]),
    isError: fc.boolean(),
    steer: fc.constant("steer"),
    status: fc.constantFrom("ok", "error"),
    end: fc.constantFrom({ status: "failed" }, { status: "completed" }),
  },
  { requiredKeys: [] },
);
const kind = fc.constantFrom(
  ...["message", "ai_message", "tool_call", "tool_result", "tool_started", "summary", "ai_context_operation", "error"],
  ...["note", "approval_requested", "approval_resolved", "instruction_start", "instruction_end", "other"],
);

test("what is read for a sort, or for a kind, holds every entry of it", () => {
  fc.assert(
    fc.property(kind, payload, (kind, payload) => {
      const entry = { kind, payload } as Pick<Entry, "kind" | "payload">; // JSON, of any shape
      const text = lowerAscii(JSON.stringify(payload));
      for (const word of [...ENTRY_CATEGORIES, "note", "other"].filter((word) => matchesFilter(entry, [word]))) {
        const isRead = readsFor([word]).some(
          ({ kinds, search }) => kinds.includes(kind) && text.includes(asJsonText(lowerAscii(search))),
        );
        expect([word, isRead]).toEqual([word, true]);
      }
    }),
    { numRuns: 1000 },
  );
});
