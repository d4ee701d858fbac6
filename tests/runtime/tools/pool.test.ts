import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toolPool } from "../../../src/runtime/tools/limits.ts";
import { world } from "./support/world.ts";

describe("a pool", () => {
  test("delivers each result once, as it finishes, and never runs more at once than its limit", async () => {
    const lists = fc.array(fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 8 }), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), lists, async (concurrency, runs) => {
        const { ports, pass } = world();
        const pool = toolPool({ concurrency });
        let active = 0;
        let most = 0;
        const delivered: { run: number; index: number; at: number }[] = [];
        const ended = Promise.all(
          runs.map((times, run) =>
            pool.run(
              times,
              async (ms) => {
                most = Math.max(most, ++active);
                await new Promise<void>((resolve) => ports.after(ms, resolve));
                active--;
                return ms * 2;
              },
              (doubled, ms, index) => {
                expect(doubled).toBe(ms * 2);
                delivered.push({ run, index, at: ports.clock() });
              },
            ),
          ),
        );
        await pass(2_000);
        await ended;
        const wanted = runs.flatMap((times, run) => times.map((_, index) => `${run}.${index}`));
        expect(delivered.map(({ run, index }) => `${run}.${index}`).sort()).toEqual(wanted.sort());
        expect(most).toBe(Math.min(concurrency, wanted.length));
        expect(delivered.map(({ at }) => at)).toEqual(delivered.map(({ at }) => at).toSorted((a, b) => a - b));
      }),
      { numRuns: 40 },
    );
  });

  test("begins in the order given, and delivers the fast before the slow", async () => {
    const { ports, pass } = world();
    const begun: number[] = [];
    const delivered: number[] = [];
    const work = (ms: number) => {
      begun.push(ms);
      return new Promise<void>((resolve) => ports.after(ms, resolve));
    };
    const running = toolPool({ concurrency: 2 }).run([30, 10, 5], work, (_, ms) => delivered.push(ms));
    await pass(0);
    expect(begun).toEqual([30, 10]);
    await pass(30);
    await running;
    expect(begun).toEqual([30, 10, 5]);
    expect(delivered).toEqual([10, 5, 30]);
  });

  test("does not keep a place while a result is delivered", async () => {
    const { ports, pass } = world();
    const begun: number[] = [];
    const slowly = () => new Promise<void>((resolve) => ports.after(100, resolve));
    const running = toolPool({ concurrency: 1 }).run([1, 2], (n) => begun.push(n), slowly);
    await pass(0);
    expect(begun).toEqual([1, 2]);
    await pass(100);
    await expect(running).resolves.toBeUndefined();
  });

  test("ends everything else before it says what failed, and gives its places back", async () => {
    const pool = toolPool({ concurrency: 1 });
    const delivered: number[] = [];
    const work = async (n: number) => {
      if (n === 1) throw new Error("first");
      return n;
    };
    const deliver = (n: number) => {
      delivered.push(n);
      if (n === 3) throw new Error("second");
    };
    await expect(pool.run([1, 2, 3, 4], work, deliver)).rejects.toThrow("first");
    expect(delivered).toEqual([2, 3, 4]);
    await pool.run([5], work, deliver);
    expect(delivered).toEqual([2, 3, 4, 5]);
  });

  test.each([0, -1, 1.5, Number.NaN])("of %d places is none", (concurrency) => {
    expect(() => toolPool({ concurrency })).toThrow(expect.objectContaining({ code: "invalid_options" }));
  });
});
