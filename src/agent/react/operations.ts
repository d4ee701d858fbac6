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
import type { EntryInput } from "../../thread/entry.ts";
import { HeddleError } from "../../thread/errors.ts";
import { type JsonObject, sameJson } from "../../thread/json.ts";
import { checkName } from "../../thread/options.ts";
import type { Thread } from "../../thread/thread.ts";
import { laneBaseOf } from "../../thread/thread-data.ts";
import type { DeferredCommand, Signal } from "../signal.ts";
import {
  addDirectives,
  commitEntries,
  emitEvent,
  type ReactAgent,
  type Step,
  unchanged,
  updateFlight,
} from "./agent.ts";
import { commandEntryId } from "./entries.ts";
import { hasOpenCalls, type Run } from "./state.ts";

/** Applies an operation at once when no request is open. Otherwise defers it to the end of the run. */
export function handleContextOperation(agent: ReactAgent, input: ContextOperation): Step {
  const operation = checkContextOperation(input, agent.thread);
  laneBaseOf(agent.thread.base, operation.contextRef); // the lane may become the active one
  mustReachBack(operation, agent.thread);
  const { opId: id } = operation;
  checkOpId(id);
  const waiting = agent.flight.deferred.find((command) => command.id === id);
  if (waiting !== undefined && isSame(waiting.signal.operation, operation)) return unchanged(agent);
  if (agent.state.run === undefined || isApplied(agent, operation)) return applyOperation(unchanged(agent), operation);
  checkLanes(agent, operation);
  checkOpenCalls(agent, operation);
  const command = { id, signal: { type: "context_op", operation } } as const;
  const deferred = [...agent.flight.deferred, command];
  return addDirectives(updateFlight(unchanged(agent), { deferred }), { type: "defer", ...command });
}

/** The entry of an operation that an ask brings with it. Throws when it cannot be applied. */
export function askedOperation(agent: ReactAgent, input: ContextOperation): EntryInput {
  const operation = checkContextOperation(input, agent.thread);
  laneBaseOf(agent.thread.base, operation.contextRef);
  mustReachBack(operation, agent.thread);
  checkOpId(operation.opId);
  checkLanes(agent, operation);
  return operationEntry(operation);
}

function operationEntry(operation: ContextOperation): EntryInput {
  return { id: commandEntryId(operation.opId), kind: "ai_context_operation", payload: operation };
}

/** Commits a setting at once. It holds for the requests that are asked after it, so an open request keeps what it has. */
export function handleSetting(agent: ReactAgent, { setting, refs }: Extract<Signal, { type: "set" }>): Step {
  const payload = checkSetting(setting, agent.thread);
  if (payload.setting.type === "context_policy" && payload.setting.value !== null) checkedInput(payload.setting.value);
  if (isSettingKnown(agent.thread, payload)) return unchanged(agent);
  const entry = { id: settingId(payload.opId), kind: "ai_setting", payload, ...(refs && { refs }) };
  return commitEntries(unchanged(agent), entry);
}

/** Commits the cut of an answer at once. The next model call is shown it, also in an open request. */
export function handleCut(agent: ReactAgent, { cut, refs }: Extract<Signal, { type: "cut" }>): Step {
  const id = `cut_${cut.opId}`;
  checkOpId(id);
  const known = agent.thread.filterByKind("note", { partial: true }).find((entry) => entry.id === id);
  if (known === undefined)
    return commitEntries(unchanged(agent), { id, kind: "note", payload: cut, ...(refs && { refs }) });
  if (sameJson(known.payload as JsonObject, cut)) return unchanged(agent); // every payload is a JSON object
  throw opIdReused(cut.opId);
}

/** Applies the commands that waited for the end of the run, in order. One that is refused does not stop the others. */
export function applyDeferred(step: Step, run: Run): Step {
  const { deferred } = step.agent.flight;
  return deferred.reduce(
    (before, command) => applyOrRefuse(before, run, command),
    updateFlight(step, { deferred: [] }),
  );
}

function applyOrRefuse(step: Step, run: Run, { id, signal: { operation } }: DeferredCommand): Step {
  try {
    const { thread } = step.agent;
    const { rev } = thread;
    const applied = applyOperation(step, checkContextOperation(operation, thread)); // entries may have followed since the operation was first checked
    const event = { kind: "context_op_applied", data: { opId: id, lane: operation.contextRef } } as const;
    return applied.agent.thread.rev === rev ? applied : emitEvent(applied, run, event);
  } catch (error) {
    if (!ContextOpError.isInstance(error)) throw error;
    const { code, message } = error;
    return addDirectives(step, { type: "settle", id, end: { status: "refused", code, message } });
  }
}

/** Writes nothing when the log has the operation. A store that has more of the log knows it by the id of its entry. */
function applyOperation(step: Step, operation: ContextOperation): Step {
  const { opId: id } = operation;
  const applied = { type: "settle", id, end: { status: "applied" } } as const;
  if (isApplied(step.agent, operation)) return addDirectives(step, applied);
  checkLanes(step.agent, operation);
  return addDirectives(commitEntries(step, operationEntry(operation)), applied);
}

/** Whether the operation is in the loaded log. The id of its entry has another form in logs of 0.1. */
function isApplied({ thread }: ReactAgent, operation: ContextOperation): boolean {
  const applied = thread
    .filterByKind("ai_context_operation", { partial: true })
    .find(({ payload }) => payload.opId === operation.opId)?.payload;
  return applied !== undefined && isSame(applied, operation);
}

function isSame(known: ContextOperation, operation: ContextOperation): boolean {
  if (sameJson(known as JsonObject, operation as JsonObject)) return true; // every payload is a JSON object
  throw opIdReused(operation.opId);
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

/** The entry takes its id from it. A bad one is refused now, not at the end of the run. */
function checkOpId(opId: string): void {
  try {
    checkName("opId", opId);
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
  /** The commands that wait for the end of the run, oldest first. */
  readonly deferred: readonly DeferredCommand[];
  /** The ids of the operations applied last. */
  readonly appliedContextOps: readonly string[];
  /** The last entry that the last model call could see; -1 when there was no call. */
  readonly projectionCursorSeq: number;
}

/**
 * The agent's state as a view. It is computed from the thread on each call, except for the deferred commands.
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
    deferred: flight.deferred,
    appliedContextOps,
    projectionCursorSeq,
  };
}
