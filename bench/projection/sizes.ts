import type { SessionSizes } from "./sessions.ts";

/** How much is measured. */
export interface Sizes {
  /** Messages of the histories a context is made from. */
  readonly counts: readonly number[];
  /** The time limit of one call. Greater lengths are skipped when it is exceeded. */
  readonly patienceMs: number;
  /** Entries of the threads in the store. */
  readonly short: number;
  readonly long: number;
  readonly rounds: number;
  readonly loadsPerRound: number;
  readonly sessions: SessionSizes;
  /** Of the conversation whose every limit is tried, and how many budgets. */
  readonly turns: number;
  readonly budgets: number;
}

export const FULL: Sizes = {
  counts: [1000, 10_000, 100_000, 1_000_000],
  patienceMs: 20_000,
  short: 1000,
  long: 1_000_000,
  rounds: 15,
  loadsPerRound: 10,
  sessions: { chatTurns: 140, loops: 5, mixedTurns: 140 },
  turns: 20,
  budgets: 120,
};

/** To see that everything runs. */
export const QUICK: Sizes = {
  counts: [1000, 10_000],
  patienceMs: 2000,
  short: 1000,
  long: 20_000,
  rounds: 3,
  loadsPerRound: 3,
  sessions: { chatTurns: 60, loops: 2, mixedTurns: 30 },
  turns: 8,
  budgets: 20,
};
