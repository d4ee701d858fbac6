import type { Entry } from "../entry.ts";
import { type Branch, LaneReader, readBranch } from "../lane-operations.ts";
import type { ThreadBase } from "../thread-data.ts";

/** The entries of a thread by lane, without malformed operations. */
export interface LaneEntries {
  /** The lane that is active at the end. */
  readonly active: string;
  readonly own: ReadonlyMap<string, readonly Entry[]>;
  /** The branch that a lane began as, and the seq of its first entry. Undefined when it is before the loaded entries. */
  readonly branchAt: (lane: string) => (Branch & { readonly seq: number }) | undefined;
}

/** `base` holds facts about the entries before the first one. */
export function readLanes(entries: readonly Entry[], base?: ThreadBase): LaneEntries {
  const reader = new LaneReader(base);
  const own = new Map<string, Entry[]>();
  for (const entry of entries) {
    const lane = reader.read(entry);
    if (reader.isMalformed(entry)) continue;
    const known = own.get(lane);
    if (known === undefined) own.set(lane, [entry]);
    else known.push(entry);
  }
  const branchAt: LaneEntries["branchAt"] = (lane) => {
    const first = base !== undefined && Object.hasOwn(base.lanes, lane) ? undefined : own.get(lane)?.[0];
    const branch = first && readBranch(first);
    return first && branch && { ...branch, seq: first.seq };
  };
  return { active: reader.active, own, branchAt };
}

/** The parts of other lanes that a lane begins with, then the lane itself: of each the entries up to a seq. */
export function lanePath({ branchAt }: Pick<LaneEntries, "branchAt">, lane: string): readonly Branch[] {
  const parts: Branch[] = [];
  let at: Branch = { from: lane, atSeq: Number.POSITIVE_INFINITY };
  let before = Number.POSITIVE_INFINITY; // guards against a cycle: the default lane may be left before its first entry and then begin as a branch
  for (let origin = branchAt(lane); ; origin = branchAt(at.from)) {
    if (origin === undefined || origin.seq <= at.atSeq) parts.push(at);
    if (origin === undefined || origin.seq >= before) return parts.reverse();
    before = origin.seq;
    at = { from: origin.from, atSeq: Math.min(at.atSeq, origin.atSeq) };
  }
}

/** The entries that a lane shares with those that it branched from, then its own. */
export function pathEntries(lanes: LaneEntries, lane: string): readonly Entry[] {
  return lanePath(lanes, lane).flatMap(({ from, atSeq }) =>
    (lanes.own.get(from) ?? []).filter(({ seq }) => seq <= atSeq),
  );
}
