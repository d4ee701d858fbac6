import { describe, expect, test } from "vitest";
import { sentencesOf, testNamesOf, textsOfMarkdown, textsOfSource } from "../../scripts/source-texts.ts";

const source = [
  "/** A comment of a name. */",
  "export const url = 'https://example.org'; // behind the code",
  "// One comment",
  "// on two lines.",
  "const pattern = /[\"'/]/.test(url) ? 1 : 2 / 3;",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source code
  'throw new Error("Give a name. " + `Not ${JSON.stringify({ a: "b" })}, as it is here.`);',
  "/**",
  " * Adds numbers.",
  " *",
  " * @example",
  " * add(1, 2); // 3 is the result",
  " */",
].join("\n");

describe("the texts of a source file", () => {
  test("comments are found with their lines, and lines that follow each other are one comment", () => {
    const comments = textsOfSource(source).filter(({ kind }) => kind === "comment");
    expect(comments.map(({ line, text }) => [line, text])).toEqual([
      [1, "A comment of a name."],
      [2, "behind the code"],
      [3, "One comment on two lines."],
      [7, "Adds numbers."],
    ]);
  });

  test("a message that is put together is one text, and other strings are none", () => {
    const messages = textsOfSource(source).filter(({ kind }) => kind === "message");
    expect(messages.map(({ line, text }) => [line, text])).toEqual([[6, "Give a name. Not ``, as it is here."]]);
  });
});

test("the texts of a page are its paragraphs, list items and cells, without code", () => {
  const page =
    "# A page\n\nOne line\nand the next.\n\n```ts\nconst a = 1;\n```\n\n- an item\n  of two lines\n\n| a | b |\n|---|---|\n| c | d |";
  expect(textsOfMarkdown(page).map(({ line, text }) => [line, text])).toEqual([
    [1, "A page"],
    [3, "One line and the next."],
    [10, "an item of two lines"],
    [13, "a"],
    [13, "b"],
    [15, "c"],
    [15, "d"],
  ]);
});

test("the names of tests are found, and other strings are not", () => {
  const file =
    'test("one", () => expect("two"));\ndescribe.each([1, 2])(\n  "three %i", () => {});\ntest.skipIf(a)(`four`, run);';
  expect(testNamesOf(file).map(({ line, text }) => [line, text])).toEqual([
    [1, "one"],
    [2, "three %i"],
    [4, "four"],
  ]);
});

test("a colon or a semicolon ends no sentence, and a code span is one word", () => {
  expect(sentencesOf("Call `a b c`: it works; always. Is it? Yes.")).toEqual([
    "Call code: it works; always.",
    "Is it?",
    "Yes.",
  ]);
});
