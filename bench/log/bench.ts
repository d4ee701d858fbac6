import type { Budgets } from "../support/budgets.ts";
import type { Scratch } from "../support/scratch.ts";
import type { Table } from "../support/table.ts";
import type { Fixtures } from "./fixtures.ts";
import type { Sizes } from "./sizes.ts";

/** The argument of every measurement. */
export interface Bench {
  readonly sizes: Sizes;
  readonly scratch: Scratch;
  readonly fixtures: Fixtures;
  readonly budgets: Budgets;
  /** Whether the databases of other projects are measured too. */
  readonly peers: boolean;
}

export type Measurement = (bench: Bench) => Promise<Table>;
