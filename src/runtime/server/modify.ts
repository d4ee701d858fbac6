import { opIdReused } from "../../agent/react/operations.ts";
import { type BranchOptions, branchId, branchPosition } from "../../lanes/branch.ts";
import { type ContextOperation, checkContextOperation } from "../../lanes/context-operation.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { loadMissing } from "../../stores/project-from-store.ts";
import type { Entry } from "../../thread/entry.ts";
import { type JsonObject, sameJson } from "../../thread/json.ts";
import type { Branch } from "../../thread/lane-operations.ts";
import type { Thread } from "../../thread/thread.ts";
import type { Loop } from "../loop.ts";
import { findOlderEntry } from "../session/load.ts";
import type { OperationAnswer } from "../session/promised.ts";

/** Answers what comes of an operation: applied, deferred while a request runs, or known already. */
export async function modify(
  live: Loop,
  given: Partial<ContextOperation> & Pick<ContextOperation, "operation">,
): Promise<OperationAnswer> {
  const { agent, operations, options } = live;
  const { opId = options.ports.ids("op"), contextRef = agent.state.activeContextRef } = given;
  const isWaited = operations.has(opId);
  const settled = operations.wait(opId);
  try {
    const operation = { ...given, opId, contextRef };
    if (given.opId !== undefined && (await wasApplied(live, operation))) {
      operations.settle(opId, { status: "applied" });
      return { opId, status: "duplicate", settled };
    }
    const { before, after, directives } = await live.command({ type: "context_op", operation });
    if (directives.some(({ type }) => type === "keep_context_op")) return { opId, status: "deferred", settled };
    if (after.flight.contextOp?.opId === opId) return { opId, status: "duplicate", settled }; // it waits already
    operations.settle(opId, { status: "applied" });
    return { opId, status: after.thread.rev > before.thread.rev ? "applied" : "duplicate", settled };
  } catch (error) {
    if (!isWaited) operations.settle(opId, { status: "failed", error });
    throw error;
  }
}

/** The lane and the seq that a branch leaves. The entry may be before those that are loaded. */
export async function findBranchPosition(live: Loop, point: BranchOptions): Promise<Branch> {
  const id = branchId(point);
  await live.mend();
  const { thread } = live.agent;
  const { store, ports } = live.options;
  const is = (entry: Entry): boolean => entry.id === id;
  const isLoaded = thread.toArray({ partial: true }).some(is);
  const older = isLoaded ? undefined : await findOlderEntry({ store, ports, signal: live.stopped }, thread, { is });
  const place = older && (await store.load(thread.id, { last: 1, upToSeq: older.seq }));
  return branchPosition(place ?? thread, point);
}

async function checkedOperation(
  store: ThreadStore,
  tail: Thread,
  operation: ContextOperation,
): Promise<ContextOperation> {
  for (let thread = tail; ; ) {
    try {
      return checkContextOperation(operation, thread);
    } catch (error) {
      thread = await loadMissing(store, thread, error);
    }
  }
}

/** Whether the log has the operation before what is loaded: put again it would take the place of one that waits. */
async function wasApplied(live: Loop, operation: ContextOperation): Promise<boolean> {
  await live.mend();
  const { thread } = live.agent;
  if (thread.firstSeq === 0) return false;
  const { store, ports } = live.options;
  const payload = await checkedOperation(store, thread, operation);
  const { opId } = payload;
  const applied = await findOlderEntry({ store, ports, signal: live.stopped }, thread, {
    kinds: ["ai_context_operation"],
    search: opId,
    is: (entry) => (entry.payload as JsonObject)["opId"] === opId, // payloads are JSON
  });
  if (applied === undefined) return false;
  if (sameJson(applied.payload, payload as unknown as JsonObject)) return true;
  throw opIdReused(opId);
}
