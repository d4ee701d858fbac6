import type { RuntimePorts } from "../../runtime/ports.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { StoreWrite } from "./fault.ts";
import type { FaultPlan, ReadPlan } from "./seeded-plan.ts";

export interface FaultOptions {
  /** Returns the fault of each write. Default: no faults, unless there is a seed. */
  readonly plan?: FaultPlan | undefined;
  /** Instead of a plan: about one write in `every` fails. The same seed gives the same faults. */
  readonly seed?: number | undefined;
  /** How many writes there are per fault, on average. Default 8. */
  readonly every?: number | undefined;
  /** Returns the fault of each read. Default: no faults. */
  readonly readPlan?: ReadPlan | undefined;
  /** With a seed, instead of a plan for reads: about one read in this many fails. Default: none. */
  readonly readsEvery?: number | undefined;
  /** The timer for delays. Default: the system's timers. */
  readonly after?: RuntimePorts["after"] | undefined;
}

/** A store that injects faults and records all writes. */
export interface FaultStore extends ThreadStore {
  /** All requested writes in order, including failed ones. */
  readonly writes: readonly StoreWrite[];
  readonly isDead: boolean;
  /** Simulates a crash of the process: pending and later calls are rejected. */
  crash(): void;
  /** Stops all faults from now on. */
  heal(): void;
}
