import type { Budgets } from "../support/budgets.ts";
import type { Scratch } from "../support/scratch.ts";
import type { Table } from "../support/table.ts";
import type { Sizes } from "./sizes.ts";

/** The argument of every measurement. */
export interface Bench {
  readonly sizes: Sizes;
  readonly scratch: Scratch;
  readonly budgets: Budgets;
  /** Whether other projects are measured too. */
  readonly peers: boolean;
}

export type Measurement = (bench: Bench) => Promise<readonly Table[]>;

/** Of every context here. Nothing is reserved for the answer, so that the others get the same. */
export const BUDGET = 8000;
