import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "./built.ts";
import { pageText } from "./markdown.ts";

const source = readFileSync(`${root}src/projection/projection.ts`, "utf8");
const rows = [...pageText("docs/projection.md").matchAll(/^\| `([a-z_]+)` \| `([a-z_]+)` \|/gm)];

/** The words of a union of texts in the source. */
function wordsOf(union: string): string[] {
  const [, words = ""] = new RegExp(`export type ${union} =([^;]+);`).exec(source) ?? [];
  return [...words.matchAll(/"([a-z_]+)"/g)].map(([, word = ""]) => word).sort();
}

test("docs/projection.md lists every rule that explain gives, each once, and no other", () => {
  expect(wordsOf("EntryRule").length).toBeGreaterThan(10);
  expect(rows.map(([, rule]) => rule).sort()).toEqual(wordsOf("EntryRule"));
});

test("and with them every status", () => {
  expect([...new Set(rows.map(([, , status]) => status))].sort()).toEqual(wordsOf("EntryStatus"));
});
