import { expect, test } from "vitest";
import { flipBits } from "./support/flipped-bits.ts";

test("one flipped bit anywhere in the file is seen, or changes nothing for any reader", async () => {
  expect(await flipBits({ flips: 250 })).toEqual([]);
});
