import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { project } from "heddle";
import { expect, test } from "vitest";
import { implementations } from "../projection/support/implementations.ts";
import { outcome } from "../projection/support/outcome.ts";
import { anyGarbageInput, anyInput } from "../projection/support/threads.ts";
import { runChild } from "../support/child.ts";
import { tempFolder } from "../support/temp-folder.ts";

test.each(implementations)("%s: the same input gives the same, byte for byte", (_, project) => {
  fc.assert(
    fc.property(anyGarbageInput, (input) => {
      const first = JSON.stringify(outcome(() => project(input)));
      expect(JSON.stringify(outcome(() => project(input)))).toBe(first);
    }),
    { numRuns: 200 },
  );
});

test("a new process shows a model the same bytes", async () => {
  const inputs = fc.sample(anyInput, 300);
  const file = join(tempFolder(), "inputs.jsonl");
  writeFileSync(file, inputs.map((input) => JSON.stringify(input)).join("\n"));
  const there = await runChild(new URL("../projection/support/child.ts", import.meta.url), file);
  const here = inputs.map((input) => JSON.stringify(outcome(() => project(input).messages)));
  expect(there.split("\n")).toEqual(here);
});
