import type { Budgets } from "../support/budgets.ts";
import type { Scratch } from "../support/scratch.ts";
import type { Table } from "../support/table.ts";
import type { Sizes } from "./sizes.ts";

/** The input of a measurement. */
export interface Bench {
  readonly sizes: Sizes;
  readonly scratch: Scratch;
  readonly budgets: Budgets;
  /** Whether other projects are measured too. */
  readonly peers: boolean;
}

export type Measurement = (bench: Bench) => Promise<Table>;
