import { ToolError } from "../../agent/definition/errors.ts";

/** Runs pieces of work side by side, so many at once. */
export interface ToolPool {
  /**
   * Runs `work` for each item, in the order given as places become free, and hands each result to `deliver` as soon as
   * it is there, in any order. Resolves when all are delivered; when something failed, it rejects with the first error
   * after everything else has ended. Several runs share the places.
   */
  run<Item, Result>(
    items: readonly Item[],
    work: (item: Item, index: number) => Result | PromiseLike<Result>,
    deliver: (result: Awaited<Result>, item: Item, index: number) => unknown,
  ): Promise<void>;
}

/**
 * A pool for the calls of an agent; four at once unless you say otherwise.
 *
 * @example
 * const pool = toolPool({ concurrency: 2 });
 * await pool.run([1, 2, 3], async (n) => n * n, (square, n) => console.log(n, square));
 */
export function toolPool({ concurrency = 4 }: { readonly concurrency?: number } = {}): ToolPool {
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    const message = "concurrency must be a whole number from 1 on.";
    throw new ToolError({ code: "invalid_options", message, path: "concurrency" });
  }
  const waiting: (() => void)[] = [];
  let free = concurrency;
  const place = async (): Promise<void> => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  };
  /** A place goes straight to who waits longest. */
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  };
  return {
    async run(items, work, deliver) {
      const ended = await Promise.allSettled(
        items.map(async (item, index) => {
          const result = await inPlace(place, leave, () => work(item, index));
          await deliver(result, item, index);
        }),
      );
      for (const one of ended) if (one.status === "rejected") throw one.reason;
    },
  };
}

async function inPlace<Result>(
  place: () => Promise<void>,
  leave: () => void,
  work: () => Result | PromiseLike<Result>,
): Promise<Awaited<Result>> {
  await place();
  try {
    return await work();
  } finally {
    leave();
  }
}
