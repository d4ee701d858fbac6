import type { RuntimePorts } from "../../runtime/ports.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { StoreWrite } from "./fault.ts";
import type { FaultPlan, ReadPlan } from "./seeded-plan.ts";

export interface FaultOptions {
  /** Says of each write what goes wrong with it. */
  readonly plan?: FaultPlan | undefined;
  /** Instead of a plan: about one write in `every` goes wrong, always the same ones for the same seed. */
  readonly seed?: number | undefined;
  /** Default 8. */
  readonly every?: number | undefined;
  /** Says of each read what goes wrong with it. */
  readonly readPlan?: ReadPlan | undefined;
  /** Instead of a plan for reads, with a seed: about one read in so many goes wrong. Default none. */
  readonly readsEvery?: number | undefined;
  /** How delays wait. Default the system's timers. */
  readonly after?: RuntimePorts["after"] | undefined;
}

/** A store that goes wrong where it is told to, and remembers what was written through it. */
export interface FaultStore extends ThreadStore {
  /** Every write that was asked for, in order, those too that went wrong. */
  readonly writes: readonly StoreWrite[];
  readonly isDead: boolean;
  /** As if the process died now: what is under way gets no answer but an error, and so does all that comes. */
  crash(): void;
  /** From here on nothing goes wrong any more. */
  heal(): void;
}
