import type { TokenCounter } from "heddle";
import { toolCall, toolResult, user } from "heddle/testing";
import { expect, test } from "vitest";
import { Engine } from "../../src/projection/engine/engine.ts";
import { settingsOf } from "../../src/projection/input/input.ts";
import { given } from "./given.ts";

// The cost of a message is no sum of its parts, so a longer id costs more where the result is longer.
const tokenCounter: TokenCounter = { count: (text) => text.length ** 2 };

/** The third exchange repeats the id of the first. */
const looks = ["a", "b", "a", "c", "d"].flatMap((id) => [
  toolCall(id, "look", {}),
  toolResult(id, "look", "R".repeat(400)),
]);

test.each([
  ["after a user message", [user("go")]],
  ["in the first block", []],
])("token sums are renewed when clearing moves and an id repeats: %s", (_, opening) => {
  const thread = given(...opening, ...looks);
  const settings = settingsOf({ thread, policy: { maxInputTokens: 1e9 }, tokenCounter });
  const engineAt = (lastSeq: number, clearedBefore: number): Engine => {
    const engine = new Engine(thread.upTo(lastSeq), "default", settings);
    engine.costs.clearBefore(clearedBefore);
    return engine;
  };
  const { length } = engineAt(thread.lastSeq, 0).history.blocks;
  const places = Array.from({ length: length + 1 }, (_, index) => index);
  for (const [before, after] of places.flatMap((from) => places.map((to) => [from, to] as const))) {
    const growing = engineAt(opening.length - 1, before);
    growing.costs.tokensFrom(0); // later sums continue this one, from the first use of the id
    growing.extendTo(thread);
    growing.costs.tokensFrom(0);
    growing.costs.clearBefore(after);
    const { costs: fresh } = engineAt(thread.lastSeq, after);
    for (let start = 0; start < length; start++) {
      expect(growing.costs.tokensFrom(start), `cleared before ${before}, then ${after}, from ${start}`).toBe(
        fresh.tokensFrom(start),
      );
    }
  }
});
