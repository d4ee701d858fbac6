import fc from "fast-check";
import { expect, test } from "vitest";
import { fairPart } from "../../../src/runtime/host/model-places.ts";

const wants = fc.array(fc.nat(40), { minLength: 1, maxLength: 8 });
const others = (all: readonly number[], own: number) => all.filter((_, n) => n !== own);

test("nodes that round down never share more than the limit, and each has its part or what it wants", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60 }), wants, (limit, all) => {
      const taken = all.map((own, n) => Math.min(own, fairPart(limit, others(all, n), false)));
      expect(taken.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(limit);
      for (const [n, own] of all.entries()) {
        expect(taken[n]).toBeGreaterThanOrEqual(Math.min(own, Math.floor(limit / all.length)));
      }
    }),
  );
});

test("with those that round up, no place stays free that a node wants", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60 }), wants, (limit, all) => {
      const taken = all.map((own, n) => Math.min(own, fairPart(limit, others(all, n), true)));
      const wanted = all.reduce((sum, one) => sum + one, 0);
      expect(taken.reduce((sum, one) => sum + one, 0)).toBeGreaterThanOrEqual(Math.min(limit, wanted));
    }),
  );
});
