/** What a provider says instead of an answer. */
export interface Problem {
  /** What was broken, in our words: stable, for tests. */
  readonly rule: string;
  readonly status: number;
  readonly type: string;
  readonly message: string;
  readonly param?: string;
  readonly code?: string;
}

/** Thrown by a check at the first thing a provider would refuse. */
export class Refused extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }
}
