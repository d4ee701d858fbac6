import fc from "fast-check";
import { expect, test } from "vitest";
import type { ProjectionInput } from "../../src/projection/input/input.ts";
import { freezeJson } from "../../src/thread/json.ts";
import { implementations } from "../projection/support/implementations.ts";
import { anyGarbageInput } from "../projection/support/threads.ts";

test.each(implementations)("%s: a projection leaves its input as it was, frozen or not", (_, project) => {
  fc.assert(
    fc.property(anyGarbageInput, (input) => {
      const before = JSON.stringify(input);
      const first = outcome(() => project(input));
      expect(JSON.stringify(input)).toBe(before);
      expect(outcome(() => project(frozen(input)))).toEqual(first);
    }),
    { numRuns: 200 },
  );
});

function frozen({ thread, ...rest }: ProjectionInput): ProjectionInput {
  return Object.freeze({ ...freezeJson(structuredClone(rest)), thread });
}

function outcome(project: () => unknown): string {
  try {
    return JSON.stringify(project());
  } catch (error) {
    return String(error);
  }
}
