import type { TokenCounter } from "heddle";
import { toolCall, toolResult, user } from "heddle/testing";
import { expect, test } from "vitest";
import { Engine } from "../../src/projection/engine/engine.ts";
import { settingsOf } from "../../src/projection/input/settings.ts";
import { given } from "./given.ts";

// The cost of a message is no sum of its parts, so a longer id costs more where the result is longer.
const tokenCounter: TokenCounter = { count: (text) => text.length ** 2 };

/** The fourth block repeats the id of the second. */
const looks = ["a", "b", "a", "c", "d"].flatMap((id) => [
  toolCall(id, "look", {}),
  toolResult(id, "look", "R".repeat(400)),
]);
const thread = given(user("go"), ...looks);
const settings = settingsOf({ thread, policy: { maxInputTokens: 1e9 }, tokenCounter });

test("token sums are renewed when clearing moves and an id repeats", () => {
  const growing = new Engine(thread.upTo(0), "default", settings);
  growing.costs.clearBefore(2);
  growing.costs.tokensFrom(0); // later sums continue this one, from the first use of the id
  growing.extendTo(thread);
  for (const before of [2, 4, 3, 5, 2]) {
    growing.costs.clearBefore(before);
    const { costs: fresh, history } = new Engine(thread, "default", settings);
    fresh.clearBefore(before);
    for (let start = 0; start < history.blocks.length; start++) {
      expect(growing.costs.tokensFrom(start), `cleared before ${before}, from ${start}`).toBe(fresh.tokensFrom(start));
    }
  }
});
