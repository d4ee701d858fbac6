/** How much is measured. */
export interface Sizes {
  readonly rounds: number;
  /** Of each contender, before anything is measured. */
  readonly warmUpRequests: number;
  /** Of one agent: conversations after one another, and turns of each. */
  readonly short: readonly [conversations: number, turns: number];
  readonly longTurns: number;
  readonly agents: number;
  readonly turnsPerAgent: number;
  readonly idleThreads: number;
  /** Of one thread that stays live. */
  readonly liveRequests: number;
  /** Entries of the threads whose process is killed. */
  readonly entries: readonly [few: number, many: number, most: number];
  readonly kills: number;
  /** Of one thread with a branch in the middle. */
  readonly branchedTurns: number;
  /** Tool calls of one answer. */
  readonly callsInAnswer: readonly [few: number, many: number];
  /** Of one answer with listeners. */
  readonly deltas: number;
  /** Turns of a chat page, each on a thread of its own. */
  readonly chatTurns: number;
}

export const FULL: Sizes = {
  rounds: 5,
  warmUpRequests: 1000,
  short: [10, 10],
  longTurns: 200,
  agents: 256,
  turnsPerAgent: 4,
  idleThreads: 10_000,
  liveRequests: 8000,
  entries: [10, 1000, 100_000],
  kills: 7,
  branchedTurns: 3000,
  callsInAnswer: [250, 1000],
  deltas: 2000,
  chatTurns: 60,
};

/** To see that everything runs. */
export const QUICK: Sizes = {
  rounds: 3,
  warmUpRequests: 1,
  short: [2, 10],
  longTurns: 60,
  agents: 64,
  turnsPerAgent: 2,
  idleThreads: 500,
  liveRequests: 500,
  entries: [10, 1000, 5000],
  kills: 3,
  branchedTurns: 600,
  callsInAnswer: [50, 200],
  deltas: 500,
  chatTurns: 5,
};
