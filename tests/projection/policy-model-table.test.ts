import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { modelTable } from "../../scripts/model-table.ts";

const file = "src/projection/policy/model-table.ts";

test("the table of models is what scripts/generate-model-table.ts makes of the installed catalogs", () => {
  expect(readFileSync(file, "utf8"), "run: node_modules/.bin/node scripts/generate-model-table.ts").toBe(modelTable());
});

test("the table of models stays small", () => {
  expect(readFileSync(file).byteLength).toBeLessThan(15_000);
});
