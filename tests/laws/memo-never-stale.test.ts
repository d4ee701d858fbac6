import fc from "fast-check";
import { createProjector, heuristic, type ProjectionInput, project, type ToolSpec } from "heddle";
import { expect, test } from "vitest";
import type { PendingItem } from "../../src/projection/input/input.ts";
import { outcome } from "../projection/support/outcome.ts";
import { anyInput } from "../projection/support/threads.ts";

const numRuns = 150;

test("changing one field at a time, a projector never answers for the input before", () => {
  fc.assert(
    fc.property(anyInput, anyInput, fc.shuffledSubarray(fields), (from, to, order) => {
      const projector = createProjector();
      let input = from;
      for (const field of order) {
        input = {
          ...input,
          [field]: field === "tokenCounter" ? { ...heuristic, id: "dear", perMessage: 20 } : to[field],
        };
        const scratch = outcome(() => project(input));
        expect(
          outcome(() => projector.project(input)),
          field,
        ).toEqual(scratch);
        expect(
          outcome(() => projector.project(input)),
          field,
        ).toEqual(scratch);
      }
    }),
    { numRuns },
  );
});

const fields = [
  "thread",
  "policy",
  "pending",
  "system",
  "tools",
  "lane",
  "model",
  "tokenCounter",
] as const satisfies (keyof ProjectionInput)[];

test("a caller who changes its tools, pending items or policy in place gets a new answer", () => {
  fc.assert(
    fc.property(anyInput, (input) => {
      const projector = createProjector();
      const tools: ToolSpec[] = structuredClone([...(input.tools ?? [])]);
      const list = input.pending === undefined ? [] : Array.isArray(input.pending) ? input.pending : [input.pending];
      const pending = structuredClone(list) as PendingItem[];
      const policy = structuredClone(input.policy) as { maxInputTokens: number; toolResults: { maxTokens: number } };
      const same = { ...input, tools, pending, policy };
      const check = () => expect(outcome(() => projector.project(same))).toEqual(outcome(() => project(same)));
      check();
      tools.push({ name: "weave", inputSchema: { type: "object" } });
      check();
      Object.assign(tools[0] ?? {}, { description: "Does something else." });
      check();
      for (const item of pending)
        if (typeof item === "object" && "role" in item) Object.assign(item, { content: "Changed." });
      check();
      pending.push("And this?");
      check();
      policy.maxInputTokens += 50;
      check();
      policy.toolResults.maxTokens = 2;
      check();
    }),
    { numRuns },
  );
});

test("a caller who changes what it was given changes nothing for the next", () => {
  fc.assert(
    fc.property(anyInput, (input) => {
      const projector = createProjector();
      const before = JSON.stringify(outcome(() => project(input)));
      const given = outcome(() => projector.project(input));
      if ("value" in given) for (const value of Object.values(given.value)) spoil(value);
      expect(JSON.stringify(outcome(() => projector.project(input)))).toBe(before);
      expect(JSON.stringify(outcome(() => project(input)))).toBe(before);
    }),
    { numRuns },
  );
});

/** Empties lists and objects, as deep as it is let. */
function spoil(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    spoil(item);
    Reflect.deleteProperty(value, key);
  }
}
