import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Message } from "../../src/thread/message.ts";
import { type CallSample, calibrate } from "../../src/tokens/calibrate.ts";
import { countMessage, FILE_TOKENS, heuristic, type TokenCounter } from "../../src/tokens/counter.ts";
import { loadExactCounter } from "../../src/tokens/exact.ts";
import { CORPORA, type Corpus } from "./corpora.ts";

/** How far the heuristic is from the truth, in percent; measured, with some room. Below 0 it says too little. */
const HEURISTIC_ERROR: Readonly<Record<string, readonly [least: number, most: number]>> = {
  English: [5, 35],
  code: [-10, 15],
  JSON: [-35, -20],
  base64: [-70, -55],
  CJK: [-10, 10],
  Japanese: [-20, -10],
  emoji: [-50, -35],
};

/** A call as an agent makes it: a question, then answers and questions, all of one class of text. */
function callOf(corpus: Corpus): readonly Message[] {
  return [1200, 300, 2400, 600].map((length, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: corpus.draw(length),
  }));
}

function tokensOf(call: readonly Message[], counter: TokenCounter): number {
  return call.reduce((sum, message) => sum + countMessage(message, counter), 0);
}

function percent(estimated: number, reported: number): number {
  return Math.round((estimated / reported - 1) * 1000) / 10;
}

describe.each(CORPORA)("$name", (corpus) => {
  let exact: TokenCounter;
  beforeAll(async () => {
    exact = await loadExactCounter("openai:gpt-5");
  });

  test("the heuristic stays within its known error, and three calls calibrate it to 5 %", () => {
    const calls: CallSample[] = [];
    for (let call = 0; call < 3; call++) {
      const messages = callOf(corpus);
      calls.push({ estimated: tokensOf(messages, heuristic), reported: tokensOf(messages, exact) });
    }
    const counter = calibrate(heuristic, calls);

    const next = callOf(corpus);
    const reported = tokensOf(next, exact);
    const raw = percent(tokensOf(next, heuristic), reported);
    const corrected = percent(tokensOf(next, counter), reported);
    table.push(
      `${corpus.name.padEnd(8)} heuristic ${String(raw).padStart(6)} %   calibrated ${corrected} %   ${counter.id}`,
    );

    // A file that costs far more or less than its estimate says nothing of texts.
    for (const cost of [0.05, 12]) {
      const files = calls.map(({ estimated, reported }) => ({
        estimated: estimated + FILE_TOKENS.pdf,
        reported: reported + cost * FILE_TOKENS.pdf,
        fileTokens: FILE_TOKENS.pdf,
      }));
      expect(calibrate(heuristic, [...calls, ...files]).factor).toBe(counter.factor);
    }

    const [least, most] = HEURISTIC_ERROR[corpus.name] ?? [0, 0];
    expect(raw).toBeGreaterThanOrEqual(least);
    expect(raw).toBeLessThanOrEqual(most);
    expect(Math.abs(corrected)).toBeLessThanOrEqual(5);
  });
});

const table: string[] = [];
afterAll(() => console.info(`The error of an estimate against o200k_base:\n${table.join("\n")}`));
