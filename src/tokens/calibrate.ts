import { countText, factsOf, type TokenCounter } from "./counter.ts";

/** A past call: the estimated tokens of its input, and those that the provider reported. */
export interface CallSample {
  readonly estimated: number;
  readonly reported: number;
  /** The factor that was part of the estimate, so that it is not applied twice. Default 1. */
  readonly factor?: number | undefined;
  /**
   * The part of the estimate for files. A call with files is not used, because each provider reads files in its own way. Default
   * 0.
   */
  readonly fileTokens?: number | undefined;
}

/** A counter whose counts are multiplied by a factor from past calls. */
export interface CalibratedCounter extends TokenCounter {
  readonly id: string;
  readonly version: string;
  readonly perMessage: number;
  readonly factor: number;
  readonly base: TokenCounter;
}

/** The number of calls used. Older ones say little about the current content. */
const CALLS = 8;
/** Base64 has nearly three times the tokens of the heuristic. A factor above four means another fault. */
const LEAST = 0.25;
const MOST = 4;

/**
 * The counter corrected by the calls of one model, oldest first. The factor is reported tokens divided by estimated tokens
 * over the last 8 usable calls, limited to 0.25 to 4. Where all calls have files it stays that of the last one. Without calls it
 * is 1.
 *
 * @example
 * calibrate(heuristic, [{ estimated: 1000, reported: 1200 }]).factor; // 1.2
 */
export function calibrate(counter: TokenCounter, calls: readonly CallSample[]): CalibratedCounter {
  const usable = calls.map(rawSample).filter(isUsable);
  const last = usable.filter(({ fileTokens = 0 }) => fileTokens === 0).slice(-CALLS);
  const estimated = last.reduce((sum, call) => sum + call.estimated, 0);
  const reported = last.reduce((sum, call) => sum + call.reported, 0);
  return calibrated(counter, last.length === 0 ? (usable.at(-1)?.factor ?? 1) : reported / estimated);
}

/**
 * The counter with its counts multiplied by a factor, as recorded with a call. The id includes the factor. For a calibrated
 * counter, the new factor replaces the old one.
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

/** Rounds to three decimals, which are precise enough and stay equal after a store and load. */
function bound(factor: number): number {
  const known = Number.isNaN(factor) ? 1 : factor;
  return Math.round(Math.min(MOST, Math.max(LEAST, known)) * 1000) / 1000;
}

function rawSample({ estimated, factor = 1, ...own }: CallSample): CallSample {
  return { ...own, estimated: estimated / factor, factor };
}

/** Calls without reported usage, or with zero, are skipped. */
function isUsable({ estimated, reported }: CallSample): boolean {
  return estimated > 0 && reported > 0 && Number.isFinite(estimated) && Number.isFinite(reported);
}

function isCalibrated(counter: TokenCounter): counter is CalibratedCounter {
  return "base" in counter;
}
