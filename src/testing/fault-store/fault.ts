import type { RuntimePorts } from "../../runtime/ports.ts";
import { StoreFullError } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { EntryInput } from "../../thread/entry.ts";
import { Random } from "../random.ts";

/** The methods of a store that write. */
export const WRITE_METHODS = [
  "append",
  "save",
  "delete",
  "fork",
  "setOwner",
  "putCheckpoint",
  "deleteCheckpoint",
  "claim",
  "renew",
  "release",
  "startLease",
  "renewLease",
  "endLease",
  "count",
  "take",
  "putBlob",
  "post",
  "amend",
  "withdraw",
] as const;

/** A method of a store that writes. */
export type WriteMethod = (typeof WRITE_METHODS)[number];

/** The methods of a store that read. */
export const READ_METHODS = [
  "load",
  "list",
  "getCheckpoint",
  "getBlob",
  "verify",
  "read",
  "feed",
  "watch",
  "pending",
  "outcome",
  "waiting",
  "usage",
] as const;

/** A method of a store that reads. */
export type ReadMethod = (typeof READ_METHODS)[number];

/** The fault of a read: it fails, by default with a retryable error, or it is delayed. */
export type ReadFault = Extract<Fault, { readonly type: "fail" | "delay" }>;

/** The fault of a write. */
export type Fault =
  /** Writes nothing and fails. */
  | {
      readonly type: "fail";
      /** Default: a retryable `store_unreachable`. */
      readonly error?: Error | undefined;
    }
  /** Waits before the write. */
  | { readonly type: "delay"; readonly ms: number }
  /** Another writer appends `entry` to the same thread just before the write. */
  | {
      readonly type: "conflict";
      /** Default: a note. */
      readonly entry?: EntryInput | undefined;
    }
  /** Writes at once, and resolves `ms` milliseconds later. */
  | { readonly type: "late"; readonly ms: number }
  /** Writes, but fails with a retryable error. */
  | { readonly type: "lost" }
  /** Writes, but the promise never settles. */
  | { readonly type: "never" }
  /** Crashes before the write, or between the write and its answer. All later calls are refused. */
  | { readonly type: "crash"; readonly when: "before" | "after" };

/** The record of a requested write. */
export interface StoreWrite {
  /** From 1. */
  readonly n: number;
  readonly method: WriteMethod;
  /** The thread id, the checkpoint key or the node of a lease. Undefined for a blob. */
  readonly name: string | undefined;
  /** The kinds of the appended entries, in order. */
  readonly kinds: readonly string[];
  /** The claim epoch of an append. */
  readonly epoch: number | undefined;
  /** The injected fault, if any. */
  readonly fault: Fault["type"] | undefined;
}

/** A requested read. */
export interface StoreRead {
  /** From 1. */
  readonly n: number;
  readonly method: ReadMethod;
  /** The thread id, the checkpoint key or the blob hash. */
  readonly name: string | undefined;
}

/** Returns the fault of a write, or undefined for none. Called once for each write, in order. */
export type FaultPlan = (write: Omit<StoreWrite, "fault">) => Fault | undefined;

/** Returns the fault to inject into a read, or undefined for no fault. */
export type ReadPlan = (read: StoreRead) => ReadFault | undefined;

/** Which writes and reads of a `faultStore` fail: by plans, or at random from a seed. */
export interface FaultOptions {
  /** Returns the fault of each write. Default: no faults, unless there is a seed. */
  readonly plan?: FaultPlan | undefined;
  /** Replaces `plan`: about one write in `every` fails. The same seed gives the same faults. Default: none. */
  readonly seed?: number | undefined;
  /** The average number of writes per fault. Default 8. */
  readonly every?: number | undefined;
  /** Returns the fault of each read. Default: no faults. */
  readonly readPlan?: ReadPlan | undefined;
  /** With `seed`, about one read in this many fails. Default: no read faults. */
  readonly readsEvery?: number | undefined;
  /** The timer for delays. Default: the system's timers. */
  readonly after?: RuntimePorts["after"] | undefined;
}

/** A store that injects faults and records all writes. */
export interface FaultStore extends ThreadStore {
  /** All requested writes in order, including failed ones. */
  readonly writes: readonly StoreWrite[];
  /** Whether a simulated crash has happened. */
  readonly isCrashed: boolean;
  /** Simulates a crash of the process: pending and later calls are rejected. */
  crash(): void;
  /** Stops all faults from now on. */
  stopFaults(): void;
}

const LONGEST_DELAY_MS = 400;
/** The most writes that fail in a row. It exceeds the number of retries, so that a retried write can fail too. */
const LONGEST_OUTAGE = 8;

/** Plans a fault for about one write in `every`, of any type except a crash. Sometimes many writes in a row fail. */
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

/** Plans a fault for about one read in `every`: it fails or is delayed. */
export function seededReadPlan(seed: number, every: number): ReadPlan {
  const random = new Random(Math.imul(seed ^ 0x5bd1e995, 3)); // a separate sequence, so that read faults do not change write faults
  return () => {
    if (!random.oneIn(every)) return undefined;
    return random.oneIn(2) ? { type: "fail" } : { type: "delay", ms: 1 + random.below(LONGEST_DELAY_MS) };
  };
}
