import {
  ContextOpError,
  type ContextOperation,
  checkBranch,
  checkContextOperation,
} from "../../lanes/context-operation.ts";
import { type Context, foldLane } from "../../lanes/fold-lane.ts";
import { checkSetting, isSettingKnown, settingId } from "../../lanes/setting.ts";
import { ProjectionError } from "../../projection/error.ts";
import { checkedInput } from "../../projection/policy/policy.ts";
import { HeddleError } from "../../thread/errors.ts";
import { type JsonObject, sameJson } from "../../thread/json.ts";
import { checkName } from "../../thread/options.ts";
import type { Thread } from "../../thread/thread.ts";
import { laneBaseOf } from "../../thread/thread-data.ts";
import type { Signal } from "../signal.ts";
import { addDirectives, commitEntries, type ReactAgent, type Step, unchanged, updateFlight } from "./agent.ts";
import { hasOpenCalls } from "./state.ts";

/** Applies an operation at once when no request is open. Otherwise defers it to the end of the run; the last one wins. */
export function handleContextOperation(agent: ReactAgent, input: ContextOperation): Step {
  const operation = checkContextOperation(input, agent.thread);
  laneBaseOf(agent.thread.base, operation.contextRef); // the lane may become the active one
  mustReachBack(operation, agent.thread);
  if (isKnown(agent, operation)) return unchanged(agent);
  checkLanes(agent, operation);
  if (agent.state.run === undefined) return applyOperation(unchanged(agent), operation);
  checkOpenCalls(agent, operation);
  const superseded = agent.flight.contextOp?.opId;
  return addDirectives(updateFlight(unchanged(agent), { contextOp: operation }), {
    type: "keep_context_op",
    operation,
    ...(superseded !== undefined && { superseded }),
  });
}

/** Commits a setting at once. It holds for the requests that are asked after it, so an open request keeps what it has. */
export function handleSetting(agent: ReactAgent, { setting, refs }: Extract<Signal, { type: "set" }>): Step {
  const payload = checkSetting(setting, agent.thread);
  if (payload.setting.type === "context_policy" && payload.setting.value !== null) checkedInput(payload.setting.value);
  if (isSettingKnown(agent.thread, payload)) return unchanged(agent);
  const entry = { id: settingId(payload.opId), kind: "ai_setting", payload, ...(refs && { refs }) };
  return commitEntries(unchanged(agent), entry);
}

/** The entry id is made from the `opId`, so that a store accepts an operation only once. */
export function applyOperation(step: Step, operation: ContextOperation): Step {
  const entry = { id: operationId(operation.opId), kind: "ai_context_operation", payload: operation };
  return commitEntries(updateFlight(step, { contextOp: undefined }), entry);
}

/** Whether the operation is in the loaded log or deferred. The store checks entries that are not loaded. */
function isKnown({ thread, flight }: ReactAgent, operation: ContextOperation): boolean {
  const { opId } = operation;
  operationId(opId); // refuse a bad id now, not at the end of the run
  const applied = thread
    .filterByKind("ai_context_operation", { partial: true })
    .find(({ payload }) => payload.opId === opId)?.payload;
  const known = applied ?? (flight.contextOp?.opId === opId ? flight.contextOp : undefined);
  if (known === undefined) return false;
  if (sameJson(known as JsonObject, operation as JsonObject)) return true; // every payload is a JSON object
  throw opIdReused(opId);
}

/** Refuses an edge behind an open call: the edge would separate the call from its result. */
function checkOpenCalls({ thread, state: { run } }: ReactAgent, { contextRef, operation }: ContextOperation): void {
  const edge = operation.type === "switch" ? operation.atSeq : operation.baseSeq;
  const lane = operation.type === "switch" ? operation.from : contextRef;
  if (run === undefined || edge === undefined || lane !== run.lane || !hasOpenCalls(run)) return;
  const call = thread
    .filterByRef("callId", run.callId ?? "", { partial: true })
    .find(({ payload }) => "toolCalls" in payload);
  if (call === undefined || call.seq > edge) return;
  const message = `operation: seq ${edge} is between a call (${call.seq}) and its result, which is still pending. Use ${call.seq - 1}.`;
  throw new ContextOpError({ code: "context_op_splits_exchange", message });
}

/** The number of rows to load before the edge, enough for an exchange. */
const EXCHANGE_ROWS = 64;

/** Both sides of an edge must be loaded to see whether it splits an exchange. */
function mustReachBack({ operation }: ContextOperation, { firstSeq }: Thread): void {
  const edge = operation.baseSeq ?? operation.atSeq;
  if (firstSeq === 0 || edge === undefined || edge >= firstSeq + EXCHANGE_ROWS) return;
  const neededFromSeq = Math.max(0, Math.min(edge - EXCHANGE_ROWS, firstSeq - 1));
  const message = `The operation refers to seq ${edge}, which is too near to the first loaded entry or before it. Load the thread from seq ${neededFromSeq}.`;
  throw new ProjectionError({ code: "tail_too_short", message, neededFromSeq });
}

/** A branch into a lane that exists before the loaded entries may be a retry. Only the whole log shows this. */
function checkLanes({ thread }: ReactAgent, operation: ContextOperation): void {
  const { base, firstSeq } = thread;
  if (operation.operation.type === "switch" && operation.operation.from !== undefined && firstSeq > 0) {
    if (laneBaseOf(base, operation.contextRef) !== undefined) {
      const message = `Lane ${operation.contextRef} existed before the entries loaded. Load the thread from seq 0.`;
      throw new ProjectionError({ code: "tail_too_short", message, neededFromSeq: 0 });
    }
  }
  checkBranch(operation, thread);
}

export function opIdReused(opId: string): ContextOpError {
  const message = `The operation ${opId} was applied before with other content. Give a new operation a new opId.`;
  return new ContextOpError({ code: "context_op_id_reused", path: "opId", message });
}

/** The id of an operation's entry. */
function operationId(opId: string): string {
  const id = `op_${opId}`;
  try {
    checkName("opId", id);
    return id;
  } catch (cause) {
    const message = HeddleError.isInstance(cause) ? cause.message : "opId is not a name.";
    throw new ContextOpError({ code: "context_op_invalid", path: "opId", message, cause });
  }
}

/** A view of a ReAct agent's state, for inspection. */
export interface AgentInspection {
  /** The content of the active lane. */
  readonly context: Context;
  /** The content of the running request's lane; undefined when no request is open. */
  readonly runContext: Context | undefined;
  readonly activeContextRef: string;
  /** The operation that waits for the end of the run. */
  readonly pendingContextOp: ContextOperation | undefined;
  /** The ids of the operations applied last. */
  readonly appliedContextOps: readonly string[];
  /** The last entry that the last model call could see; -1 when there was no call. */
  readonly projectionCursorSeq: number;
}

/**
 * The agent's state as a view. It is computed from the thread on each call, except for the deferred operation.
 *
 * @example
 * inspectAgent(restore(reactSettings(), thread)).context.entries; // the messages of the active lane
 */
export function inspectAgent({ thread, state, flight }: ReactAgent): AgentInspection {
  const { run, activeContextRef, appliedContextOps, projectionCursorSeq } = state;
  return {
    context: foldLane(thread, activeContextRef),
    runContext: run && foldLane(thread, run.lane),
    activeContextRef,
    pendingContextOp: flight.contextOp,
    appliedContextOps,
    projectionCursorSeq,
  };
}
