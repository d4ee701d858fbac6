/** How much is measured. */
export interface Sizes {
  /** Entries of the short and of the long thread. */
  readonly short: number;
  readonly long: number;
  readonly threads: number;
  readonly jumps: number;
  /** Frames of scrolling by a wheel, and of dragging the scroll bar from one end to the other. */
  readonly frames: number;
  readonly rounds: number;
}

export const FULL: Sizes = { short: 1000, long: 1_000_000, threads: 10_000, jumps: 40, frames: 300, rounds: 9 };

/** To see that everything runs. */
export const QUICK: Sizes = { short: 1000, long: 20_000, threads: 500, jumps: 6, frames: 40, rounds: 2 };
