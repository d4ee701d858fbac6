import { activeLane, lanesBefore } from "../../lanes/active-lane.ts";
import { ProjectionError } from "../../projection/error.ts";
import type { Entry } from "../../thread/entry.ts";
import { type Ports, systemPorts } from "../../thread/ports.ts";
import type { Thread } from "../../thread/thread.ts";
import { NOTHING_IN_FLIGHT, type ReactAgent, reactAgent } from "./agent.ts";
import type { ReactSettings } from "./settings.ts";
import { evolve, INITIAL_STATE, type ReactState, recordedCursor, runFromAsk } from "./state.ts";

/**
 * Restores an agent from its thread, without pending calls and steers. A loaded tail must include the ask of the last
 * request; otherwise this throws `tail_too_short` with the seq to load from.
 *
 * @example
 * const agent = restore(reactSettings({ systemPrompt: "You are a calculator." }), thread);
 * const { directives } = cmd(agent, { type: "resume" }); // resumes where the log ends
 */
export function restore(
  settings: ReactSettings,
  thread: Thread,
  ports: Ports = systemPorts,
  { lastAskSeq }: RestoreOptions = {},
): ReactAgent {
  return { ...reactAgent(settings, ports, thread), state: foldState(thread, lastAskSeq), flight: NOTHING_IN_FLIGHT };
}

/** Facts about a thread from a caller with access to the whole log, so that `restore` need not load it. */
export interface RestoreOptions {
  /** The seq of the last entry for which `isAsk` is true; -1 when there is none. Default: unknown. */
  readonly lastAskSeq?: number | undefined;
}

/**
 * Whether the entry starts a request of an agent.
 *
 * @example
 * const asks = thread.toArray().filter(isAsk);
 * console.log(asks.map(({ refs }) => refs.requestId));
 */
export function isAsk(entry: Entry): boolean {
  return runFromAsk(entry) !== undefined;
}

/** Folds the entries from the last request's ask on. Earlier entries are not needed. */
function foldState(thread: Thread, lastAskSeq: number | undefined): ReactState {
  if (thread.base?.malformed) throw unclearLanes();
  const from = lastAskSeqIn(thread, lastAskSeq);
  const before: ReactState = {
    ...INITIAL_STATE,
    activeContextRef: activeLane(thread, undefined, from),
    lanes: lanesBefore(thread, from),
    appliedContextOps: operationsBefore(thread, from),
    projectionCursorSeq: cursorBefore(thread, from),
  };
  return thread.slice(from, Math.max(from, thread.lastSeq)).reduce(evolve, before);
}

/** The seq of the last ask. A tail without an ask is too short, because an earlier request may be open. */
function lastAskSeqIn(thread: Thread, lastAskSeq: number | undefined): number {
  for (let seq = thread.lastSeq; seq >= thread.firstSeq; seq--) {
    const entry = thread.at(seq);
    if (entry !== undefined && isAsk(entry)) return seq;
  }
  if (thread.firstSeq === 0 || lastAskSeq === -1) return thread.firstSeq;
  const loaded = thread.rev - thread.firstSeq;
  const neededFromSeq = lastAskSeq ?? Math.max(0, thread.firstSeq - 2 * loaded - 8);
  const message = `The ask of the last request lies before the entries loaded. Load the thread from seq ${neededFromSeq}.`;
  throw new ProjectionError({ code: "tail_too_short", message, neededFromSeq });
}

/** After a malformed operation before the tail, the stored lane state is valid only for projector heddle/1. */
function unclearLanes(): ProjectionError {
  const message = "A context operation before the entries loaded is malformed. Load the thread from seq 0.";
  return new ProjectionError({ code: "tail_too_short", message, neededFromSeq: 0 });
}

function operationsBefore(thread: Thread, seq: number): readonly string[] {
  const operations = thread.filterByKind("ai_context_operation", { partial: true }).filter((entry) => entry.seq < seq);
  return operations.reduce(evolve, INITIAL_STATE).appliedContextOps;
}

function cursorBefore(thread: Thread, from: number): number {
  for (let seq = from - 1; seq >= thread.firstSeq; seq--) {
    const entry = thread.at(seq);
    const cursor = entry && recordedCursor(entry);
    if (cursor !== undefined) return cursor;
  }
  return INITIAL_STATE.projectionCursorSeq;
}
