import type { ThreadStore } from "heddle";
import type { Budgets } from "../support/budgets.ts";
import type { Table } from "../support/table.ts";
import type { Sizes } from "./sizes.ts";

/** The argument of every measurement. */
export interface Bench {
  readonly sizes: Sizes;
  readonly budgets: Budgets;
  /** With a short thread and a long one. */
  readonly long: ThreadStore;
  /** With many threads. */
  readonly many: ThreadStore;
}

export type Measurement = (bench: Bench) => Promise<Table>;
