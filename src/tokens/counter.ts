import { HeddleError } from "../thread/errors.ts";

/**
 * Counts the tokens of texts. Only `count` is required.
 *
 * `count` is called often and with texts of any length, also empty ones. It is synchronous and pure: the same text and
 * model give the same number, so load what it needs beforehand. A fraction is rounded up; anything that is not a number
 * from 0 on is an error of code `invalid_token_count`. What it throws reaches the caller as it is.
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
  /** What a message costs beside its content. Default 10. */
  readonly perMessage?: number | undefined;
  /** What `count` has multiplied its counts by; the constants of messages and files are multiplied too. Default 1. */
  readonly factor?: number | undefined;
}

/** A counter's facts, complete: what a call records of it. */
export interface CounterFacts {
  readonly id: string;
  readonly version: string;
  readonly perMessage: number;
  readonly factor: number;
}

/** Tokens a message costs beside its content when its counter does not say. */
export const PER_MESSAGE = 10;

/**
 * What is known of a counter, with the defaults filled in.
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

/** The tokens of one text by any counter: always a whole number from 0 on. */
export function countText(text: string, counter: TokenCounter, model?: string): number {
  return Math.ceil(checkAmount(counter.count(text, model), counter.id ?? "custom", "count"));
}

/** One NaN would make every budget comparison false, and the overflow silent. */
function checkAmount(amount: unknown, id: string, what: string): number {
  if (typeof amount === "number" && amount >= 0 && amount < Number.MAX_SAFE_INTEGER) return amount;
  const given = typeof amount === "number" ? amount : `a ${typeof amount}`;
  const message = `The token counter "${id}" gave ${given} as ${what}. It must give a number from 0 on.`;
  throw new HeddleError({ code: "invalid_token_count", message });
}
