import { countText, factsOf, type TokenCounter } from "./counter.ts";

/** A past call: what its input was estimated at, and what the provider said it was. */
export interface CallSample {
  readonly estimated: number;
  readonly reported: number;
  /** The factor in force when it was estimated, so that a correction is never corrected twice. Default 1. */
  readonly factor?: number | undefined;
}

/** A counter whose counts are multiplied by what past calls have shown. */
export interface CalibratedCounter extends TokenCounter {
  readonly id: string;
  readonly version: string;
  readonly perMessage: number;
  readonly factor: number;
  readonly base: TokenCounter;
}

/** Old calls say little about the content of today. */
const CALLS = 8;
/** Base64 needs nearly three times what the heuristic says; beyond four something else is wrong. */
const LEAST = 0.25;
const MOST = 4;

/**
 * The counter corrected by the calls of one model, oldest first: what the provider reported over what was estimated,
 * summed over the last 8 usable calls, kept within 0.25 and 4. Without calls the factor is 1.
 *
 * @example
 * calibrate(heuristic, [{ estimated: 1000, reported: 1200 }]).factor; // 1.2
 */
export function calibrate(counter: TokenCounter, calls: readonly CallSample[]): CalibratedCounter {
  const last = calls.map(rawSample).filter(isUsable).slice(-CALLS);
  const estimated = last.reduce((sum, call) => sum + call.estimated, 0);
  const reported = last.reduce((sum, call) => sum + call.reported, 0);
  return calibrated(counter, last.length === 0 ? 1 : reported / estimated);
}

/**
 * The counter with its counts multiplied by a factor, as a call has recorded it. Its id says so. A counter that is
 * calibrated already gets the new factor in place of the old one.
 *
 * @example
 * calibrated(heuristic, 1.2).id; // "heuristic*1.2"
 */
export function calibrated(counter: TokenCounter, factor: number): CalibratedCounter {
  if (isCalibrated(counter)) return calibrated(counter.base, factor);
  const facts = factsOf(counter);
  const bounded = bound(factor);
  return Object.freeze({
    id: `${facts.id}*${bounded}`,
    version: facts.version,
    perMessage: facts.perMessage,
    factor: bounded,
    base: counter,
    count: (text: string, model?: string) =>
      text === "" ? 0 : Math.max(1, Math.round(countText(text, counter, model) * bounded)),
  });
}

/** Three decimals are finer than any estimate and stay the same when written down and read again. */
function bound(factor: number): number {
  const known = Number.isNaN(factor) ? 1 : factor;
  return Math.round(Math.min(MOST, Math.max(LEAST, known)) * 1000) / 1000;
}

function rawSample({ estimated, reported, factor = 1 }: CallSample): CallSample {
  return { estimated: estimated / factor, reported };
}

/** A provider that reports no usage, or zero, has told nothing. */
function isUsable({ estimated, reported }: CallSample): boolean {
  return estimated > 0 && reported > 0 && Number.isFinite(estimated) && Number.isFinite(reported);
}

function isCalibrated(counter: TokenCounter): counter is CalibratedCounter {
  return "base" in counter;
}
