import { StoreFullError } from "../../stores/errors.ts";
import { Random } from "../random.ts";
import type { Fault, ReadFault, StoreRead, StoreWrite } from "./fault.ts";

/** Returns the fault of a write, or undefined for none. Called once per write, in order. */
export type FaultPlan = (write: Omit<StoreWrite, "fault">) => Fault | undefined;

/** Returns the fault of a read, or undefined for none. */
export type ReadPlan = (read: StoreRead) => ReadFault | undefined;

const LONGEST_DELAY_MS = 400;
/** The most writes that fail in a row. It is more than the number of retries. */
const LONGEST_OUTAGE = 8;

/** About one write in `every` gets any fault except a crash. Sometimes many writes in a row fail. */
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

/** About one read in `every` fails or is delayed. */
export function seededReadPlan(seed: number, every: number): ReadPlan {
  const random = new Random(Math.imul(seed ^ 0x5bd1e995, 3)); // a separate sequence, so that read faults do not change write faults
  return () => {
    if (!random.oneIn(every)) return undefined;
    return random.oneIn(2) ? { type: "fail" } : { type: "delay", ms: 1 + random.below(LONGEST_DELAY_MS) };
  };
}
