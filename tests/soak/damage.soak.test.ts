import { expect, test } from "vitest";
import { flipBits } from "../faults/support/flipped-bits.ts";
import { tearLogs } from "../faults/support/torn-wal.ts";
import { again } from "./duration.ts";

test("one flipped bit anywhere in the file is seen, or changes nothing for any reader", async () => {
  await again(async (round) => {
    expect(await flipBits({ flips: 10_000, round })).toEqual([]);
  });
});

test("a torn write-ahead log gives a prefix of the history, every commit of it whole", async () => {
  await again((round) => tearLogs({ tears: 500, round }));
});
