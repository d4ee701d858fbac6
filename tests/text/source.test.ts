import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const limit = 500;
const sources = globSync("src/**/*.ts").map((path) => ({ path, text: readFileSync(path, "utf8") }));

describe("the sources", () => {
  test(`no file is longer than ${limit} lines`, () => {
    const long = sources
      .map(({ path, text }) => ({ path, lines: text.trimEnd().split("\n").length }))
      .filter(({ lines }) => lines > limit);
    expect(long, "a file this long is two files").toEqual([]);
  });

  test('types come in through `import type`, never through import("./file.ts").Type, which the layer check cannot see', () => {
    const hidden = sources.filter(({ text }) => /\bimport\("\.[^"]*"\)\s*\.(?!then\b)/.test(text));
    expect(hidden.map(({ path }) => path)).toEqual([]);
  });
});
