import fc from "fast-check";
import type { JsonObject, JsonValue } from "heddle";
import { expect, test } from "vitest";
import { jsonSize, measureOf, measureOfJson } from "../../src/lanes/measure.ts";
import { codePoint } from "../support/code-point.ts";

const written = (value: JsonValue): number => new TextEncoder().encode(JSON.stringify(value)).length;

/** Everything that JSON writes in a way of its own. */
const tricky = fc.string({
  unit: fc.constantFrom(
    "a",
    '"',
    "\\",
    "/",
    "\b",
    "\t",
    "\n",
    "\u000b",
    "\f",
    "\r",
    "\u0000",
    "\u001f",
    "\u007f",
    "\u0080",
    "é",
    "߿",
    "ࠀ",
    "好",
    "\u2028",
    "￿",
    "😀",
  ),
});
const text = fc.oneof(
  tricky,
  fc.string({ unit: codePoint }).filter((text) => text.isWellFormed()),
  fc.string({ unit: "grapheme" }),
);
const number = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(
    0,
    -0,
    1e21,
    -1e21,
    1e-7,
    123456789012345680000,
    0.1,
    5e-324,
    Number.MAX_VALUE,
    Number.MIN_SAFE_INTEGER,
  ),
);
const { value: anyJson } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    text,
    number,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value")),
    fc.dictionary(text, tie("value")) as fc.Arbitrary<JsonObject>,
  ),
}));

test("the size of a value is that of its JSON text in UTF-8", () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      expect(jsonSize(value)).toBe(written(value));
      expect(measureOfJson(value)).toBe(measureOf(JSON.stringify(value)));
    }),
    { numRuns: 2000 },
  );
});

test("so it is of whatever fast-check takes for JSON", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: codePoint }), (value) => {
      fc.pre(JSON.stringify(value).isWellFormed());
      expect(jsonSize(value as JsonValue)).toBe(written(value as JsonValue));
    }),
    { numRuns: 1000 },
  );
});

test.each([
  [{}],
  [[]],
  [""],
  [{ a: {} }],
  [[[]]],
  [-0],
  [1e21],
  [1.5e-9],
  ["\u0000"],
  [{ "": "" }],
  [[null, true, false]],
] as const)("of %j", (value) => {
  expect(jsonSize(value)).toBe(written(value));
});

test("a property that is undefined is not written", () => {
  const payload = { a: undefined, b: 1, c: undefined } as unknown as JsonObject;
  expect(jsonSize(payload)).toBe(written(payload));
  expect(jsonSize({ a: undefined } as unknown as JsonObject)).toBe(2);
});
