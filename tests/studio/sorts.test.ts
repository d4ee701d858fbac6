import fc from "fast-check";
import type { Entry } from "heddle";
import { expect, test } from "vitest";
import { asJsonText, lowerAscii } from "../../src/stores/list-query.ts";
import { isOf, readingsFor, SORTS } from "../../src/studio/threads/sorts.ts";

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

test("what is read for some sorts holds every entry of them", () => {
  const words = fc.subarray([...SORTS, "note", "other"], { minLength: 1 });
  fc.assert(
    fc.property(kind, payload, words, (kind, payload, wanted) => {
      const entry = { kind, payload } as Pick<Entry, "kind" | "payload">; // JSON, of any shape

      if (!isOf(entry, wanted)) return;
      const text = lowerAscii(JSON.stringify(payload));
      const isRead = readingsFor(wanted).some(
        ({ kinds, search }) => kinds.includes(kind) && text.includes(asJsonText(lowerAscii(search))),
      );
      expect(isRead).toBe(true);
    }),
  );
});
