import fc from "fast-check";
import { Thread } from "heddle";
import { activeLane } from "../../../../src/lanes/active-lane.ts";
import { disturbance, type Fork, garbage } from "./disturbances.ts";
import { type Draft, type Turn, turn, written } from "./turns.ts";

/** How a random thread comes about: turns, and what disturbs them. */
export interface Plan {
  readonly turns: readonly Turn[];
  readonly disturbances: readonly { readonly place: number; readonly what: Draft | Fork }[];
  /** Entries that were never written. */
  readonly missing: readonly number[];
  /** Entries that came before the one they should have followed. */
  readonly swaps: readonly number[];
}

const place = fc.nat({ max: 40 });
const seldom = fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.array(place, { maxLength: 2 }));

const planOf = (what: fc.Arbitrary<Draft | Fork>): fc.Arbitrary<Plan> =>
  fc.record({
    turns: fc.array(turn, { maxLength: 5, size: "max" }),
    disturbances: fc.array(fc.record({ place, what }), { maxLength: 4 }),
    missing: seldom,
    swaps: seldom,
  });

export const anyPlan = planOf(disturbance);
export const anyGarbagePlan = planOf(fc.oneof(garbage, disturbance));

/** The thread of a plan. `fingerprint` says what the model would be shown of a thread. */
export function grown(plan: Plan, fingerprint: (thread: Thread) => string = () => "unknown"): Thread {
  let made = 0;
  const ids = (prefix: string) => `${prefix}_${made++}`;
  let thread = Thread.create({ id: "thread_any", clock: () => 1_700_000_000_000, ids });
  for (const step of steps(plan).slice(0, 40)) {
    if (typeof step === "function") {
      const before = thread;
      const moment = { seq: thread.rev, lane: activeLane(thread), fingerprint: () => fingerprint(before) };
      thread = thread.append(step(moment));
    } else {
      const atSeq = Math.max(-1, thread.lastSeq - step.back);
      thread = step.how === "fork" ? thread.fork({ atSeq }) : thread.upTo(atSeq);
    }
  }
  return thread;
}

function steps({ turns, disturbances, missing, swaps }: Plan): (Draft | Fork)[] {
  const list: (Draft | Fork)[] = written(turns);
  for (const at of missing) if (list.length > 0) list.splice(at % list.length, 1);
  for (const at of swaps)
    if (list.length > 0) list.splice(at % list.length, 0, ...list.splice((at + 1) % list.length, 1));
  for (const { place, what } of disturbances) list.splice(place % (list.length + 1), 0, what);
  return list;
}

/** A conversation of 0 to 40 entries that a projection can read, however broken. */
export const anyThread: fc.Arbitrary<Thread> = anyPlan.map((plan) => grown(plan));
