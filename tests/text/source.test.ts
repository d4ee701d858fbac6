import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const limit = 500;
const files = globSync("{src,tests,studio-ui,scripts,bench,examples}/**/*.{ts,tsx}", {
  exclude: ["**/node_modules/**"],
}).map((path) => ({ path, text: readFileSync(path, "utf8") }));

describe("the sources", () => {
  test(`no file is longer than ${limit} lines`, () => {
    expect(files.length).toBeGreaterThan(1000);
    const long = files
      .map(({ path, text }) => ({ path, lines: text.trimEnd().split("\n").length }))
      .filter(({ lines }) => lines > limit);
    expect(long, "a file this long is two files").toEqual([]);
  });

  test('types come in through `import type`, never through import("./file.ts").Type, which the layer check cannot see', () => {
    const sources = files.filter(({ path }) => path.startsWith("src"));
    const hidden = sources.filter(({ text }) => /\bimport\("\.[^"]*"\)\s*\.(?!then\b)/.test(text));
    expect(hidden.map(({ path }) => path)).toEqual([]);
  });
});
