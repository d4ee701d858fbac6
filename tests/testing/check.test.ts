import { HeddleError } from "heddle";
import { describe, expect, test } from "vitest";
import { equal, ok, present, rejects, sameJsonText } from "../../src/testing/contract/case-fixture.ts";
import { Random } from "../../src/testing/random.ts";

describe("equal", () => {
  test("takes data that is the same, whatever the order of keys", () => {
    equal({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 }, "value");
    equal({ a: undefined }, {}, "value");
    equal(Uint8Array.of(1, 2), Uint8Array.of(1, 2), "bytes");
    equal(Number.NaN, Number.NaN, "number");
  });

  test.each([
    [{ a: [1, 2] }, { a: [1, 3] }, "value.a[1]: expected 3, got 2"],
    [[1], [1, 2], "value: expected 2 items, got 1"],
    [{ a: 1 }, { a: 1, b: 2 }, "value.b: expected 2, got undefined"],
    [{ a: 1, b: 2 }, { a: 1 }, "value.b: expected undefined, got 2"],
    ["1", 1, 'value: expected 1, got "1"'],
    [0, -0, "value: expected 0, got 0"],
    [[], {}, "value: expected {}, got []"],
    [null, {}, "value: expected {}, got null"],
    [JSON.parse('{"__proto__":1}'), {}, "value.__proto__: expected undefined, got 1"],
  ])("names the first difference of %j and %j", (actual, expected, message) => {
    expect(() => equal(actual, expected, "value")).toThrow(message);
  });

  test("shortens what is long", () => {
    expect(() => equal("x".repeat(9_000), "", "text")).toThrow(
      /^text: expected "", got "x{199}\.\.\. \(9002 characters\)$/,
    );
  });
});

test("sameJsonText minds the order of keys", () => {
  sameJsonText({ a: 1, b: 2 }, { a: 1, b: 2 }, "value");
  expect(() => sameJsonText({ b: 2, a: 1 }, { a: 1, b: 2 }, "value")).toThrow("not the same JSON text");
});

test("ok and present say what is missing", () => {
  ok(true, "fine");
  expect(() => ok(false, "the sun shines")).toThrow("check failed: the sun shines");
  expect(present(0, "number")).toBe(0);
  expect(() => present(undefined, "number")).toThrow("number is missing");
});

describe("rejects", () => {
  const conflict = () => Promise.reject(new HeddleError({ code: "conflict", message: "Somebody was faster." }));

  test("gives the error that was expected", async () => {
    const error = await rejects(conflict(), { code: "conflict", retryable: false }, "append");
    expect(error.message).toBe("Somebody was faster.");
  });

  test("fails on success, another error and other facts", async () => {
    const facts = { code: "conflict", expected: 3 };
    await expect(rejects(Promise.resolve(), facts, "append")).rejects.toThrow(
      "append: succeeded, expected the error conflict",
    );
    await expect(rejects(Promise.reject(new TypeError("no")), facts, "append")).rejects.toThrow("got TypeError: no");
    await expect(rejects(conflict(), facts, "append")).rejects.toThrow(
      "append: error.expected: expected 3, got undefined",
    );
    await expect(rejects(conflict(), { code: "other" }, "append")).rejects.toThrow('expected "other", got "conflict"');
  });
});

describe("Random", () => {
  test("is the same for the same seed", () => {
    const draw = (seed: number) => new Random(seed).list(50, () => 0).map(() => new Random(seed).below(1000));
    expect(draw(7)).toEqual(draw(7));
    const numbers = (random: Random) => random.list(50, () => random.below(1000));
    expect(numbers(new Random(7))).toEqual(numbers(new Random(7)));
    expect(numbers(new Random(7))).not.toEqual(numbers(new Random(8)));
  });

  test("stays below its bound and reaches all of it", () => {
    const random = new Random(1);
    expect(new Set(random.list(200, () => random.below(6)))).toEqual(new Set([0, 1, 2, 3, 4, 5]));
    expect(new Set(random.list(200, () => random.pick(["a", "b"])))).toEqual(new Set(["a", "b"]));
    expect(new Set(random.list(200, () => random.oneIn(3)))).toEqual(new Set([true, false]));
  });
});
