import { opIdReused } from "../../agent/react/operations.ts";
import { type BranchOptions, branchId, branchPosition } from "../../lanes/branch.ts";
import {
  ContextOpError,
  type ContextOpErrorCode,
  type ContextOperation,
  checkContextOperation,
} from "../../lanes/context-operation.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { loadMissing } from "../../stores/project-from-store.ts";
import type { Entry } from "../../thread/entry.ts";
import { type JsonObject, sameJson } from "../../thread/json.ts";
import type { Branch } from "../../thread/lane-operations.ts";
import type { Thread } from "../../thread/thread.ts";
import type { CommandSettled, Loop } from "../loop.ts";
import { findOlderEntry } from "../session/load.ts";

/** The end of a deferred context operation. */
export type OperationSettled =
  | { readonly status: "applied" }
  /** Another process has withdrawn it from the inbox of the thread. */
  | { readonly status: "withdrawn" }
  | { readonly status: "failed"; readonly error: unknown };

/** The answer to `modifyContext`, when the operation is durable. `settled` has the end of one that is deferred. */
export interface OperationAnswer {
  readonly opId: string;
  readonly status: "applied" | "deferred" | "duplicate";
  readonly settled: Promise<OperationSettled>;
}

/** Sends an operation. The answer: applied, deferred while a request runs, or applied before. */
export async function modify(
  live: Loop,
  given: Partial<ContextOperation> & Pick<ContextOperation, "operation">,
): Promise<OperationAnswer> {
  const { agent, options } = live;
  const { opId = options.ports.ids("op"), contextRef = agent.state.activeContextRef } = given;
  const operation = { ...given, opId, contextRef };
  if (given.opId !== undefined && (await wasApplied(live, operation))) {
    return { opId, status: "duplicate", settled: Promise.resolve({ status: "applied" }) };
  }
  const { before, after, directives, settled } = await live.send(opId, { type: "context_op", operation });
  const isSettled = directives.some(({ type }) => type === "settle");
  const isDeferred = !isSettled && directives.some(({ type }) => type === "defer");
  const isApplied = isSettled && after.thread.rev > before.thread.rev;
  const status = isDeferred ? "deferred" : isApplied ? "applied" : "duplicate";
  return { opId, status, settled: settled.then(operationSettled) };
}

function operationSettled({ end, error }: CommandSettled): OperationSettled {
  if (error !== undefined) return { status: "failed", error };
  if (end.status === "dropped") return { status: "withdrawn" };
  if (end.status !== "refused") return { status: "applied" };
  const { code, message } = end;
  return { status: "failed", error: new ContextOpError({ code: code as ContextOpErrorCode, message }) }; // the agent uses these codes
}

/** The lane and the seq where a branch starts. The entry may be before the loaded ones. */
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

/** Whether the operation is in the log before the loaded entries. Sent again, it would replace a deferred one. */
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
