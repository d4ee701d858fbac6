import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toolPool } from "../../../src/runtime/tools/limits.ts";
import { world } from "./support/world.ts";

describe("a pool", () => {
  test("returns each result as its work ends, and never runs more at once than its limit", async () => {
    const lists = fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 24 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), lists, async (concurrency, times) => {
        const { ports, pass } = world();
        const pool = toolPool({ concurrency });
        let active = 0;
        let most = 0;
        const work = async (ms: number) => {
          most = Math.max(most, ++active);
          await new Promise<void>((resolve) => ports.after(ms, resolve));
          active--;
          return ms * 2;
        };
        const ended = Promise.all(times.map((ms) => pool.run(() => work(ms))));
        await pass(2_000);
        expect(await ended).toEqual(times.map((ms) => ms * 2));
        expect(most).toBe(Math.min(concurrency, times.length));
      }),
      { numRuns: 40 },
    );
  });

  test("begins in the order of the calls, and ends the fast before the slow", async () => {
    const { ports, pass } = world();
    const begun: number[] = [];
    const ended: number[] = [];
    const pool = toolPool({ concurrency: 2 });
    const work = async (ms: number) => {
      begun.push(ms);
      await new Promise<void>((resolve) => ports.after(ms, resolve));
    };
    const running = Promise.all([30, 10, 5].map((ms) => pool.run(() => work(ms)).then(() => ended.push(ms))));
    await pass(0);
    expect(begun).toEqual([30, 10]);
    await pass(30);
    await running;
    expect(begun).toEqual([30, 10, 5]);
    expect(ended).toEqual([10, 5, 30]);
  });

  test("gives the place of work that fails to the next", async () => {
    const pool = toolPool({ concurrency: 1 });
    const work = async (n: number) => {
      if (n === 1) throw new Error("first");
      return n;
    };
    const results = await Promise.allSettled([1, 2, 3].map((n) => pool.run(() => work(n))));
    expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
    await expect(pool.run(() => work(4))).resolves.toBe(4);
  });

  test.each([0, -1, 1.5, Number.NaN])("of %d places is none", (concurrency) => {
    expect(() => toolPool({ concurrency })).toThrow(expect.objectContaining({ code: "invalid_options" }));
  });
});
