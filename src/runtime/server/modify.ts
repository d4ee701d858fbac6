import { opIdReused } from "../../agent/react/operations.ts";
import { isWritten } from "../../lanes/active-lane.ts";
import { answerText, hasWords, isAnswer, lastAnswer, readCut, spokenCharacters } from "../../lanes/answer-cut.ts";
import { type BranchOptions, branchId, branchPosition } from "../../lanes/branch.ts";
import {
  ContextOpError,
  type ContextOpErrorCode,
  type ContextOperation,
  checkContextOperation,
} from "../../lanes/context-operation.ts";
import { foldLane } from "../../lanes/fold-lane.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { readTail } from "../../stores/project-from-store.ts";
import type { Entry } from "../../thread/entry.ts";
import { type JsonObject, sameJson } from "../../thread/json.ts";
import { type Branch, DEFAULT_LANE, LaneReader } from "../../thread/lane-operations.ts";
import { checkName } from "../../thread/options.ts";
import type { Thread } from "../../thread/thread.ts";
import type { CommandSettled } from "../live/live.ts";
import type { Loop } from "../loop.ts";
import { checkBranchOptions } from "../option-names.ts";
import { RequestError } from "../request/request-error.ts";
import { findOlderEntry } from "../session/load.ts";
import { commandRefs } from "./command-refs.ts";
import type { CutOptions } from "./options.ts";

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

/** A cut that is stored. */
export interface CutAnswer {
  readonly opId: string;
  readonly entryId: string;
  readonly characters: number;
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

export function operationSettled({ end, error }: CommandSettled): OperationSettled {
  if (error !== undefined) return { status: "failed", error };
  if (end.status === "dropped") return { status: "withdrawn" };
  if (end.status !== "refused") return { status: "applied" };
  const { code, message } = end;
  return { status: "failed", error: new ContextOpError({ code: code as ContextOpErrorCode, message }) }; // the agent uses these codes
}

/** The operation that switches to a lane, or begins a branch. */
export async function branchOperation(live: Loop, given: BranchOptions): Promise<ContextOperation> {
  checkBranchOptions(given);
  const { opId, lane, ...point } = given;
  if (lane !== undefined && point.at === undefined && point.before === undefined) {
    await checkWritten(live, lane);
    const { ids } = live.options.ports;
    return { opId: opId ?? ids("op"), contextRef: lane, operation: { type: "switch", reason: "manual" } };
  }
  const contextRef = lane ?? opId ?? live.options.ports.ids("lane"); // a retry names the same lane
  const operation = { type: "switch", reason: "manual", ...(await findBranchPosition(live, point)) } as const;
  return { opId: opId ?? `branch_${contextRef}`, contextRef, operation };
}

/** A switch to a lane without entries would begin an empty lane, which is probably a mistake. */
async function checkWritten(live: Loop, lane: string): Promise<void> {
  checkName("lane", lane);
  if (await live.read(({ thread }) => lane === DEFAULT_LANE || isWritten(thread, lane))) return;
  const message = `lane: lane ${JSON.stringify(lane)} does not exist. Name a lane of the thread, or begin one with \`before\` or \`at\`.`;
  throw new ContextOpError({ code: "context_op_lane_unknown", path: "lane", message });
}

/** Makes a lane active. Writes nothing when it is active already. */
export async function switchBranch(live: Loop, lane: string): Promise<OperationAnswer> {
  await live.reload();
  const operation = await branchOperation(live, { lane });
  const isActive = await live.read(
    ({ state, flight }) => state.activeContextRef === lane && flight.deferred.length === 0,
  );
  if (!isActive) return modify(live, operation);
  return { opId: operation.opId, status: "duplicate", settled: Promise.resolve({ status: "applied" }) };
}

/** The lane and the seq where a branch starts. The entry may be before the loaded ones. */
export async function findBranchPosition(live: Loop, point: BranchOptions): Promise<Branch> {
  const id = branchId(point);
  await live.reload();
  const { thread } = live.agent;
  const { store, ports } = live.options;
  const is = (entry: Entry): boolean => entry.id === id;
  const isLoaded = thread.toArray({ partial: true }).some(is);
  const older = isLoaded ? undefined : await findOlderEntry({ store, ports, signal: live.stopped }, thread, { is });
  const place = older && (await store.load(thread.id, { last: 1, upToSeq: older.seq }));
  return branchPosition(place ?? thread, point);
}

/** Cuts an answer to what was spoken or read, in the lane of the next call if that shows it. */
export async function cutAnswer(live: Loop, options: CutOptions): Promise<CutAnswer> {
  const { requestId, entryId, characters: given, spoken, opId = live.options.ports.ids("op"), ...sender } = options;
  const { refs } = commandRefs(sender);
  if ((requestId === undefined) === (entryId === undefined))
    throw cutInvalid("Pass requestId or entryId, and not both");
  if ((given === undefined) === (spoken === undefined)) throw cutInvalid("Pass characters or spoken, and not both");
  await live.reload();
  const entry = await findAnswer(live, { requestId, entryId });
  const text = answerText(entry);
  const characters = spoken === undefined ? given : spokenCharacters(text, String(spoken));
  if (characters === undefined) throw cutInvalid("The answer does not begin with the text in spoken");
  if (!Number.isSafeInteger(characters) || characters < 0 || characters > text.length) {
    throw cutInvalid(`characters must be a whole number from 0 to ${text.length}, the length of the answer`);
  }
  const cut = { opId, contextRef: await laneOfCut(live, entry), cut: { seq: entry.seq, characters } };
  await live.command({ type: "cut", cut, ...(refs && { refs }) });
  return { opId, entryId: entry.id, characters };
}

/** Cuts the last answer of a request that has ended, unless its end has cut it there. Without a word there is nothing to cut. */
export async function cutToSpoken(live: Loop, options: CutOptions & { readonly spoken: string }): Promise<void> {
  const { requestId = "", spoken } = options;
  await live.reload();
  const { thread } = live.agent;
  const answer = lastAnswer(thread, requestId);
  const cuts = thread.filterByKind(["note", "error"], { partial: true }).flatMap((entry) => readCut(entry) ?? []);
  const cut = cuts.findLast(({ seq }) => seq === answer?.seq);
  if (answer !== undefined && cut !== undefined && cut.characters === spokenCharacters(answerText(answer), spoken))
    return;
  try {
    await cutAnswer(live, options);
  } catch (error) {
    const isSilent = spoken.trim() === "" && RequestError.isInstance(error) && error.code === "answer_unknown";
    if (!isSilent) throw error;
  }
}

/** The answer with this id, or the last one of the request that has text. It may be before the loaded entries. */
async function findAnswer(
  live: Loop,
  { requestId, entryId }: Pick<CutOptions, "requestId" | "entryId">,
): Promise<Entry> {
  const { thread } = live.agent;
  const { store, ports } = live.options;
  const is = (entry: Entry): boolean =>
    entryId === undefined ? entry.refs.requestId === requestId && hasWords(entry) : entry.id === entryId;
  const entry =
    thread.toArray({ partial: true }).findLast(is) ??
    (await findOlderEntry({ store, ports, signal: live.stopped }, thread, {
      is,
      ...(requestId !== undefined && { refs: { requestId } }),
    }));
  if (entry !== undefined && isAnswer(entry)) return entry;
  const what =
    entryId === undefined
      ? `The request ${requestId} has no answer with text`
      : `The entry ${entryId} is no answer of this thread`;
  throw new RequestError({ code: "answer_unknown", message: `${what}. Cut an answer when it is in the log.` });
}

/** A branch shows answers of the lane that it left. */
async function laneOfCut({ agent, options: { store } }: Loop, answer: Entry): Promise<string> {
  const { thread, state } = agent;
  const current = state.run?.lane ?? state.activeContextRef;
  const isShown = foldLane(thread, current).items.some(
    ({ entry, snapshot }) => entry.seq === answer.seq && snapshot === undefined,
  );
  if (isShown) return current;
  const before = answer.seq < thread.firstSeq ? await store.load(thread.id, { last: 1, upToSeq: answer.seq }) : thread;
  const reader = new LaneReader(before?.base);
  const lanes = (before ?? thread)
    .upTo(answer.seq)
    .toArray({ partial: true })
    .map((entry) => reader.read(entry));
  return lanes.at(-1) ?? current;
}

function cutInvalid(message: string): RequestError {
  return new RequestError({ code: "cut_invalid", message: `${message}.` });
}

function checkedOperation(store: ThreadStore, tail: Thread, operation: ContextOperation): Promise<ContextOperation> {
  return readTail(store, tail, (thread) => checkContextOperation(operation, thread));
}

/** Whether the operation is in the log before the loaded entries. Sent again, it would replace a deferred one. */
async function wasApplied(live: Loop, operation: ContextOperation): Promise<boolean> {
  await live.reload();
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
