import type { Entry } from "../thread/entry.ts";
import { fieldsOf } from "../thread/json.ts";
import { type Branch, LaneReader } from "../thread/lane-operations.ts";
import { refuseUnknownOptions } from "../thread/options.ts";
import type { Thread } from "../thread/thread.ts";
import {
  ContextOpError,
  type ContextOperation,
  checkBranch,
  checkContextOperation,
  hasPosition,
} from "./context-operation.ts";
import { findOwnerBranch } from "./fold-lane.ts";
import type { LaneOrigin, LaneState } from "./track.ts";

/** A branch from an entry: one of `at` and `before` names it. */
export interface BranchOptions {
  /** The id of the last entry that the branch has. Default: none. */
  readonly at?: string | undefined;
  /** The id of the first entry that the branch does not have, for example a message to write again. Default: none. */
  readonly before?: string | undefined;
  /** The new lane. Default for a branch by an agent: `opId`, or a new name. */
  readonly lane?: string | undefined;
  /** The id of the operation, so that a retry is applied once. Default: `branch_` and the lane. */
  readonly opId?: string | undefined;
}

/**
 * The payload of an `ai_context_operation` that begins a new lane at an entry, on the lane of that entry.
 *
 * @example
 * const say = (id: string, content: string) => ({ id, kind: "message", payload: { role: "user", content } });
 * const thread = Thread.create().append([say("m1", "Plan my trip."), say("m2", "By car.")]);
 * const payload = branch(thread, { before: "m2", lane: "second try" });
 * const next = thread.append([{ kind: "ai_context_operation", payload }, say("m3", "By train.")]);
 * project({ thread: next }).messages.length; // 2
 */
export function branch(thread: Thread, options: BranchOptions & { readonly lane: string }): ContextOperation {
  const given = fieldsOf(options, "options", "invalid_options");
  refuseUnknownOptions("branch", given, BRANCH_OPTIONS);
  const { lane, opId = `branch_${lane}` } = given;
  const position = branchPosition(thread, given);
  const operation = { type: "switch", reason: "manual", ...position } as const;
  const payload = checkContextOperation({ opId, contextRef: lane, operation }, thread);
  checkBranch(payload, thread);
  return payload;
}

const BRANCH_OPTIONS = { at: true, before: true, lane: true, opId: true } as const;

/** The lane and the seq that a branch leaves. A position before the beginning of a branch is on its origin. */
export function branchPosition(thread: Thread, { at, before }: BranchOptions): Branch {
  const id = branchId({ at, before });
  const reader = new LaneReader(thread.base);
  for (const entry of thread.toArray({ partial: true })) {
    const lane = reader.read(entry);
    if (entry.id !== id) continue;
    return at === id ? { from: lane, atSeq: entry.seq } : positionBefore(thread, lane, entry);
  }
  throw entryUnknown(at === id ? "at" : "before", id, thread);
}

/** The id that a branch point names. */
export function branchId({ at, before }: BranchOptions): string {
  const id = at ?? before;
  if (typeof id === "string" && id !== "" && (at === undefined) !== (before === undefined)) return id;
  const message =
    "A branch needs the id of an entry: either `at`, its last entry, or `before`, the first one it lacks.";
  throw new ContextOpError({ code: "context_op_invalid", path: "at", message });
}

/** When the given entry is the first of its lane, the branch is empty. */
function positionBefore(thread: Thread, lane: string, { seq }: Entry): Branch {
  const held = findOwnerBranch(thread, { from: lane, atSeq: seq - 1 });
  return hasPosition(thread, held) ? held : { from: held.from, atSeq: -1 };
}

function entryUnknown(path: "at" | "before", id: string, { id: threadId, firstSeq }: Thread): ContextOpError {
  const part = firstSeq === 0 ? "" : ` from seq ${firstSeq} on, which is what is loaded`;
  const how =
    "It takes the id of an entry: store.read(threadId, { refs: { messageId } }) finds that of a page's message.";
  const message = `${path}: thread ${threadId} has no entry ${JSON.stringify(id)}${part}. ${how}`;
  return new ContextOpError({ code: "context_op_entry_unknown", path, message });
}

/**
 * The origin of a branch that leaves a lane with this state. The state is undefined before the first entry of a lane that
 * is no branch. Returns undefined when the beginning of the lane is unknown.
 */
export function originAt(
  { lane, seq, isFollowed }: { readonly lane: string; readonly seq: number; readonly isFollowed: boolean },
  state: LaneState | undefined,
): LaneOrigin | undefined {
  const followed = isFollowed ? { followed: true as const } : {};
  if (state === undefined) return { lane, seq, measure: 0, ...followed };
  if (state.branched) return undefined;
  const measure = state.measure + (state.origin?.measure ?? 0);
  const { replaceSeq, summarySeq, summaryTo, followed: before } = inheritedFrom(state);
  return {
    lane,
    seq,
    measure,
    ...(replaceSeq !== undefined && { replaceSeq }),
    ...(summarySeq !== undefined && summaryTo !== undefined && { summarySeq, summaryTo }),
    ...(before ? { followed: before } : followed),
  };
}

/**
 * The part of its origin that a lane still has: nothing after a replace of its own. Of two summaries up to the same entry, the newer one counts.
 */
function inheritedFrom(state: LaneState): Pick<LaneOrigin, "replaceSeq" | "summarySeq" | "summaryTo" | "followed"> {
  const { origin, replaceSeq, summarySeq, summaryTo } = state;
  if (origin === undefined || replaceSeq !== undefined) return state;
  if (summarySeq === undefined || summaryTo === undefined || summaryTo < (origin.summaryTo ?? summaryTo)) return origin;
  return { ...origin, summarySeq, summaryTo };
}
