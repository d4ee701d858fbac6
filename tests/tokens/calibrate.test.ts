import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CallSample, calibrate, calibrated } from "../../src/tokens/calibrate.ts";
import { countMessage, factsOf, heuristic } from "../../src/tokens/counter.ts";
import { codePoint } from "../support/code-point.ts";

const call = (estimated: number, reported: number, factor?: number): CallSample => ({ estimated, reported, factor });

describe("the factor", () => {
  test("is 1 before the first call", () => {
    expect(calibrate(heuristic, []).factor).toBe(1);
  });

  test("is the sum of what was reported over the sum of what was estimated", () => {
    expect(calibrate(heuristic, [call(1000, 1300), call(3000, 3300)]).factor).toBe(1.15);
  });

  test("looks at the last eight calls only", () => {
    const old = Array.from({ length: 20 }, () => call(100, 400));
    const recent = Array.from({ length: 8 }, () => call(100, 110));
    expect(calibrate(heuristic, [...old, ...recent]).factor).toBe(1.1);
    expect(calibrate(heuristic, [...old, ...recent.slice(1)]).factor).toBeGreaterThan(1.1);
  });

  test("stays within bounds", () => {
    expect(calibrate(heuristic, [call(1, 1_000_000)]).factor).toBe(4);
    expect(calibrate(heuristic, [call(1_000_000, 1)]).factor).toBe(0.25);
    expect(calibrated(heuristic, Number.POSITIVE_INFINITY).factor).toBe(4);
    expect(calibrated(heuristic, Number.NaN).factor).toBe(1);
  });

  test("ignores calls that say nothing", () => {
    const useless = [
      call(0, 100),
      call(100, 0),
      call(Number.NaN, 1),
      call(100, Number.NaN),
      call(-1, -1),
      call(1, 1, 0),
    ];
    expect(calibrate(heuristic, useless).factor).toBe(1);
    expect(calibrate(heuristic, [call(100, 120), ...useless, ...useless]).factor).toBe(1.2);
  });

  test("is not taught by calls with files; where all have some, the last one is kept", () => {
    const withFile = (reported: number, factor?: number) => ({ ...call(12_000, reported, factor), fileTokens: 10_000 });
    expect(calibrate(heuristic, [call(1000, 1200), withFile(3000), withFile(90_000)]).factor).toBe(1.2);
    expect(calibrate(heuristic, [withFile(3000), withFile(3000, 1.1)]).factor).toBe(1.1);
    expect(calibrate(heuristic, [withFile(3000)]).factor).toBe(1);
  });

  test("is not corrected twice: an estimate made with a factor counts without it", () => {
    expect(calibrate(heuristic, [call(1200, 1200, 1.2)]).factor).toBe(1.2);
    const again = calibrate(calibrate(heuristic, [call(1000, 1200)]), [call(1200, 1200, 1.2)]);
    expect(again.factor).toBe(1.2);
    expect(again.id).toBe("heuristic*1.2");
  });

  test("survives being written down and read again", () => {
    fc.assert(
      fc.property(fc.array(fc.record({ estimated: fc.nat(1e6), reported: fc.nat(1e6) })), (calls) => {
        const { factor } = calibrate(heuristic, calls);
        expect(calibrated(heuristic, JSON.parse(JSON.stringify(factor))).factor).toBe(factor);
      }),
    );
  });
});

describe("a calibrated counter", () => {
  const counter = calibrated(heuristic, 1.234567);

  test("says so, with its factor", () => {
    expect(factsOf(counter)).toEqual({ id: "heuristic*1.235", version: "1", perMessage: 10, factor: 1.235 });
  });

  test("multiplies texts, the cost of a message, and files", () => {
    const text = "a".repeat(4000);
    expect(countMessage({ role: "user", content: text }, calibrated(heuristic, 2))).toBe(2020);
    const image = { type: "file", mediaType: "image/png", data: { url: "https://example.com/a.png" } } as const;
    expect(countMessage({ role: "user", content: [image] }, calibrated(heuristic, 0.5))).toBe(805);
  });

  test("gives whole numbers, never 0 for a text, never less for more text", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.25, max: 4, noNaN: true }),
        fc.string({ unit: codePoint }),
        fc.string(),
        (factor, a, b) => {
          const counter = calibrated(heuristic, factor);
          const tokens = counter.count(a);
          expect(Number.isSafeInteger(tokens)).toBe(true);
          expect(tokens).toBeGreaterThanOrEqual(a === "" ? 0 : 1);
          expect(counter.count(a + b)).toBeGreaterThanOrEqual(tokens);
        },
      ),
    );
  });

  test("passes the model on", () => {
    const byModel = calibrated({ count: (_text, model) => (model === "big" ? 100 : 1) }, 2);
    expect(byModel.count("x", "big")).toBe(200);
  });
});
