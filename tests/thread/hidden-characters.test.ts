import fc from "fast-check";
import { escapeHidden } from "heddle/ai-sdk";
import { expect, test } from "vitest";
import { codePoint } from "../support/code-point.ts";

const units = (text: string): string =>
  Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");

test.each([
  ["reordering overrides", 0x202a, 0x202e],
  ["isolates", 0x2066, 0x2069],
  ["zero-width characters and marks", 0x200b, 0x200f],
  ["the byte order mark", 0xfeff, 0xfeff],
  ["tag characters", 0xe0001, 0xe007f],
  ["line and paragraph separators", 0x2028, 0x2029],
  ["invisible operators", 0x2060, 0x2064],
  ["C1 controls, which a terminal may act on", 0x80, 0x9f],
  ["variation selectors that can carry data", 0xe0100, 0xe01ef],
])("%s are shown escaped", (_, first, last) => {
  for (let code = first; code <= last; code++) {
    const character = String.fromCodePoint(code);
    expect(escapeHidden(`rm ${character}file`)).toBe(`rm ${units(character)}file`);
  }
});

test("what is seen stays as it is", () => {
  const text = 'git push origin main # "ünï-cödé", 日本語, עברית, مرحبا, 😀\n\tdone';
  expect(escapeHidden(text)).toBe(text);
});

test("escaped JSON has the same value", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: codePoint }), (value) => {
      const json = JSON.stringify(value);
      expect(JSON.parse(escapeHidden(json))).toEqual(JSON.parse(json));
    }),
  );
});
