import { PER_MESSAGE, type TokenCounter } from "./counter.ts";
import { utf8Length } from "./utf8.ts";

/**
 * A quarter of the UTF-8 bytes, rounded down, and 10 for each message. Needs nothing and is the same everywhere. Plain
 * English has fewer tokens than it says; JSON, emoji and above all base64 have more, which calibration corrects.
 *
 * @example
 * heuristic.count("What's the weather in Bern?"); // 6
 */
export const heuristic: TokenCounter = Object.freeze({
  id: "heuristic",
  version: "1",
  perMessage: PER_MESSAGE,
  count: (text: string) => Math.floor(utf8Length(text) / 4),
});
