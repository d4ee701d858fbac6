import { StoreFullError } from "../../stores/errors.ts";
import { Random } from "../random.ts";
import type { Fault, ReadFault, StoreRead, StoreWrite } from "./fault.ts";

/** Says what goes wrong with a write; undefined when all is well. Asked once for each, in order. */
export type FaultPlan = (write: Omit<StoreWrite, "fault">) => Fault | undefined;

/** The same of a read. */
export type ReadPlan = (read: StoreRead) => ReadFault | undefined;

const LONGEST_DELAY_MS = 400;
/** Writes that fail in a row when a store is out: more than anybody tries again. */
const LONGEST_OUTAGE = 8;

/** About one write in `every` goes wrong, in any way but the death of the process; now and then many in a row. */
export function seededPlan(seed: number, every: number): FaultPlan {
  const random = new Random(seed);
  let out = 0;
  return ({ method }) => {
    if (out > 0) {
      out -= 1;
      return { type: "fail" };
    }
    if (!random.oneIn(every)) return undefined;
    if (random.oneIn(6)) out = random.below(LONGEST_OUTAGE);
    const ms = 1 + random.below(LONGEST_DELAY_MS);
    switch (random.below(6)) {
      case 0:
        return { type: "fail" };
      case 1:
        return { type: "fail", error: new StoreFullError(new Error("no space left on device")) };
      case 2:
        return { type: "delay", ms };
      case 3:
        return { type: "late", ms };
      case 4:
        return { type: "lost" };
      default:
        return method === "append" ? { type: "conflict" } : { type: "delay", ms };
    }
  };
}

/** About one read in `every` fails, or takes its time. */
export function seededReadPlan(seed: number, every: number): ReadPlan {
  const random = new Random(Math.imul(seed ^ 0x5bd1e995, 3)); // what goes wrong with writes stays as it is
  return () => {
    if (!random.oneIn(every)) return undefined;
    return random.oneIn(2) ? { type: "fail" } : { type: "delay", ms: 1 + random.below(LONGEST_DELAY_MS) };
  };
}
