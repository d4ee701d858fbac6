import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { measureOf, measureOfEntry } from "../../src/lanes/measure.ts";
import { portableUtf8Length, utf8Length } from "../../src/thread/encoding.ts";
import { codePoint } from "../support/code-point.ts";

describe("the measure of a text", () => {
  test.each([
    ["", 0],
    ["abc", 0],
    ["abcd", 1],
    ["é".repeat(4), 2],
    ["\u007f\u0080\u07ff\u0800\uffff", 2],
    ["\u0800".repeat(4), 3],
    ["\u07ff".repeat(4), 2],
    ["😀", 1],
    ["😀é", 1],
    ["😀éa", 1],
    ["😀éab", 2],
  ])("of %j is %i", (text, measure) => {
    expect(measureOf(text)).toBe(measure);
  });

  test("is a quarter of its UTF-8 bytes, rounded down, for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint, size: "large" }), (text) => {
        const bytes = new TextEncoder().encode(text).length;
        expect([utf8Length(text), portableUtf8Length(text)]).toEqual([bytes, bytes]);
        expect(measureOf(text)).toBe(Math.floor(Buffer.byteLength(text) / 4));
      }),
    );
  });

  test("is the same for the JSON text of any value", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: codePoint }), (value) => {
        const text = JSON.stringify(value);
        expect(measureOf(text)).toBe(Math.floor(Buffer.byteLength(text) / 4));
      }),
    );
  });
});

test("a large payload is counted once, however often its thread is projected", () => {
  let reads = 0;
  const content = { role: "user", content: "x".repeat(4000) };
  const payload = new Proxy(content, {
    get(target, key) {
      reads += 1;
      return Reflect.get(target, key);
    },
  });
  const sizes = Array.from({ length: 3 }, () => measureOfEntry({ payload }));
  expect(new Set(sizes)).toEqual(new Set([measureOf(JSON.stringify(content))]));
  expect(reads).toBe(2);
});
