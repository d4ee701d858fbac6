import fc from "fast-check";
import { expect, test } from "vitest";

test("the cases of a property are reported once, also after its budget was loaded twice", async ({ task }) => {
  const again = "./case-budget.ts?again";
  await import(again);
  fc.assert(fc.property(fc.nat(), () => true));
  expect(task.meta.cases).toHaveLength(1);
});
