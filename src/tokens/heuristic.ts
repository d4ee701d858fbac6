import { PER_MESSAGE, type TokenCounter } from "./counter.ts";
import { utf8Length } from "./utf8.ts";

/**
 * A quarter of the UTF-8 bytes, rounded down, and 10 for each message. It needs no data and gives the same counts
 * everywhere. Plain English has fewer tokens than this. JSON, emoji and especially base64 have more; calibration corrects it.
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
