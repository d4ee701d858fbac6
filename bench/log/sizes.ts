/** How much is measured. */
export interface Sizes {
  readonly rounds: number;
  /** Of appends that are synced to disk one by one. */
  readonly appendsPerRound: number;
  readonly appendsPerAgent: number;
  readonly batchesPerRound: number;
  readonly loadsPerRound: number;
  /** Entries of the long thread on disk; the short one has 1,000. */
  readonly long: number;
  readonly opens: number;
  /** Entries that are appended, verified and deleted at once. */
  readonly stallEntries: number;
  /** Entries of all threads of the feed. */
  readonly feedEntries: number;
  /** Threads to list: a multiple of 1,000. */
  readonly threads: number;
  /** Forks whose bytes are measured together. */
  readonly forksToWeigh: number;
  /** How long watchers and feeds are observed while they wait, in milliseconds. */
  readonly restMs: number;
  readonly verifies: number;
  /** Entries of the threads in memory. */
  readonly memory: readonly [small: number, middle: number, large: number];
  readonly memoryRounds: number;
  readonly peerAppends: number;
  readonly peerLoads: readonly [short: number, long: number];
}

export const FULL: Sizes = {
  rounds: 30,
  appendsPerRound: 100,
  appendsPerAgent: 8,
  batchesPerRound: 10,
  loadsPerRound: 20,
  long: 1_000_000,
  opens: 15,
  stallEntries: 50_000,
  feedEntries: 122_000,
  threads: 100_000,
  forksToWeigh: 500,
  restMs: 5000,
  verifies: 3,
  memory: [1000, 100_000, 1_000_000],
  memoryRounds: 30,
  peerAppends: 1000,
  peerLoads: [1000, 100_000],
};

/** To see that everything runs. */
export const QUICK: Sizes = {
  rounds: 4,
  appendsPerRound: 25,
  appendsPerAgent: 2,
  batchesPerRound: 2,
  loadsPerRound: 5,
  long: 20_000,
  opens: 2,
  stallEntries: 5000,
  feedEntries: 10_000,
  threads: 5000,
  forksToWeigh: 100,
  restMs: 500,
  verifies: 1,
  memory: [1000, 10_000, 100_000],
  memoryRounds: 4,
  peerAppends: 60,
  peerLoads: [1000, 10_000],
};
