import { utf8Length } from "../thread/encoding.ts";
import { HeddleError } from "../thread/errors.ts";

/**
 * Counts the tokens of texts. Only `count` is required.
 *
 * `count` is called often and with texts of any length, including empty ones. It must be synchronous and pure: the same text
 * and model give the same number. Load its data beforehand. A fraction is rounded up. A value that is not a number of at
 * least 0 throws an error with code `invalid_token_count`. Errors of `count` reach the caller unchanged.
 *
 * @example
 * const words = { count: (text: string) => text.split(/\s+/).length * 2 };
 * countMessage({ role: "user", content: "two words" }, words); // 4 + 10
 */
export interface TokenCounter {
  count(text: string, model?: string): number;
  /** Recorded with each call. Default "custom". */
  readonly id?: string | undefined;
  /** Change it whenever counts change. Default "0". */
  readonly version?: string | undefined;
  /** The tokens of a message besides its content. Default 10. */
  readonly perMessage?: number | undefined;
  /** The factor already included in `count`. The constants of messages and files are multiplied by it too. Default 1. */
  readonly factor?: number | undefined;
}

/** The complete facts of a counter, as recorded with a call. */
export interface CounterFacts {
  readonly id: string;
  readonly version: string;
  readonly perMessage: number;
  readonly factor: number;
}

/** The default of `perMessage`. */
const PER_MESSAGE = 10;

/**
 * The facts of a counter, with the defaults filled in.
 *
 * @example
 * factsOf({ count: (text) => text.length }); // { id: "custom", version: "0", perMessage: 10, factor: 1 }
 */
export function factsOf(counter: TokenCounter): CounterFacts {
  const { id = "custom", version = "0", perMessage = PER_MESSAGE, factor = 1 } = counter;
  return {
    id,
    version,
    perMessage: checkAmount(perMessage, id, "perMessage"),
    factor: checkAmount(factor, id, "factor"),
  };
}

/** The tokens of one text by any counter, always a whole number of at least 0. */
export function countText(text: string, counter: TokenCounter, model?: string): number {
  return Math.ceil(checkAmount(counter.count(text, model), counter.id ?? "custom", "count"));
}

/** A single NaN would make every budget comparison false and hide an overflow. */
function checkAmount(amount: unknown, id: string, what: string): number {
  if (typeof amount === "number" && amount >= 0 && amount < Number.MAX_SAFE_INTEGER) return amount;
  const given = typeof amount === "number" ? amount : `a ${typeof amount}`;
  const message = `The token counter "${id}" returned ${given} as ${what}. It must be a number of at least 0.`;
  throw new HeddleError({ code: "invalid_token_count", message });
}

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
