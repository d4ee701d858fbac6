import { activeLane, lanesBefore } from "../../lanes/active-lane.ts";
import { ProjectionError } from "../../projection/error.ts";
import type { Entry } from "../../thread/entry.ts";
import { type Ports, systemPorts } from "../../thread/ports.ts";
import type { Thread } from "../../thread/thread.ts";
import { AT_REST, type ReactAgent, reactAgent } from "./agent.ts";
import type { ReactSettings } from "./settings.ts";
import { beginning, cursorIn, evolve, INITIAL, type ReactState } from "./state.ts";

/**
 * The agent that a thread tells of: the same as the one that wrote it, but for what was only on its way. A loaded tail
 * has to hold the ask of the last request; where it does not, `tail_too_short` says from where to load.
 *
 * @example
 * const agent = restore(reactSettings({ systemPrompt: "You are a calculator." }), thread);
 * const { directives } = cmd(agent, { type: "resume" }); // goes on where the log ends
 */
export function restore(
  settings: ReactSettings,
  thread: Thread,
  ports: Ports = systemPorts,
  { lastAskSeq }: KnownOfThread = {},
): ReactAgent {
  return { ...reactAgent(settings, ports, thread), state: stateOf(thread, lastAskSeq), flight: AT_REST };
}

/** What somebody who can look at all of a thread knows of it, so that nobody has to load all of it to find out. */
export interface KnownOfThread {
  /** The last entry for which `isAsk` is true; -1 when there is none. */
  readonly lastAskSeq?: number | undefined;
}

/**
 * Whether the entry begins a request of an agent.
 *
 * @example
 * const asks = thread.toArray().filter(isAsk);
 * console.log(asks.map(({ refs }) => refs.requestId));
 */
export function isAsk(entry: Entry): boolean {
  return beginning(entry) !== undefined;
}

/** What the log tells, read from the ask of the last request on; the whole of it is not needed. */
function stateOf(thread: Thread, lastAskSeq: number | undefined): ReactState {
  if (thread.base?.malformed) throw unclearLanes();
  const from = startOf(thread, lastAskSeq);
  const before: ReactState = {
    ...INITIAL,
    activeContextRef: activeLane(thread, undefined, from),
    lanes: lanesBefore(thread, from),
    appliedContextOps: operationsBefore(thread, from),
    projectionCursorSeq: cursorBefore(thread, from),
  };
  return thread.slice(from, Math.max(from, thread.lastSeq)).reduce(evolve, before);
}

/** The ask of the last request of ours. Where the tail holds none, the one before it may be open. */
function startOf(thread: Thread, lastAskSeq: number | undefined): number {
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

/** What a store knows of lanes holds for projector heddle/1 where an operation before the tail was malformed. */
function unclearLanes(): ProjectionError {
  const message = "A context operation before the entries loaded is malformed. Load the thread from seq 0.";
  return new ProjectionError({ code: "tail_too_short", message, neededFromSeq: 0 });
}

function operationsBefore(thread: Thread, seq: number): readonly string[] {
  const operations = thread.filterByKind("ai_context_operation").filter((entry) => entry.seq < seq);
  return operations.reduce(evolve, INITIAL).appliedContextOps;
}

function cursorBefore(thread: Thread, from: number): number {
  for (let seq = from - 1; seq >= thread.firstSeq; seq--) {
    const entry = thread.at(seq);
    const cursor = entry && cursorIn(entry);
    if (cursor !== undefined) return cursor;
  }
  return INITIAL.projectionCursorSeq;
}
