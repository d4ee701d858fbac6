import { recordedCall } from "../../../src/agent/model-call.ts";
import type { Live } from "../../../src/runtime/live/live.ts";
import type { Difference } from "./differences.ts";

/** Why a field of `Live` may differ after a restart, and when. Every field that is not listed is equal. */
interface Exception {
  readonly because: string;
  readonly isAllowed?: (live: Live) => boolean;
}

const WORK = "work in flight ends with its process, and the next one begins it again";
const RESUMED = "set when the request is resumed, from the log and the functions of the caller";
const NOT_ACKNOWLEDGED = "the caller has no answer yet, and sends the command again";

/** By path. A path stands also for everything in it. */
export const EXCEPTIONS: { readonly [path: string]: Exception } = {
  work: { because: WORK },
  begun: { because: WORK },
  hold: { because: WORK },
  "agent.flight.call": { because: WORK },
  "agent.flight.retry": { because: "the wait before the next attempt is backoff" },
  "agent.flight.summary": { because: WORK },
  "agent.flight.running": { because: WORK },
  "agent.flight.next": { because: "decided again from the log when the request is resumed" },
  "agent.flight.runId": { because: RESUMED },
  "agent.flight.emittedResults": { because: RESUMED },
  "agent.flight.systemPrompt": { because: RESUMED },
  "agent.flight.cutSeq": {
    because: "the place of the last `context_cut` event; without it the event is emitted once more",
  },
  given: { because: RESUMED },
  "agent.settings.tools": { because: RESUMED, isAllowed: hasLentTools },
  "agent.settings.traits": { because: RESUMED, isAllowed: hasLentTools },
  "request.time": { because: RESUMED },
  "request.call": { because: WORK },
  "request.phase": {
    because: "changes at the end of a turn, which has an append more",
    isAllowed: ({ agent }) => agent.flight.next !== undefined,
  },
  "request.thrown": { because: "an error value is for callers of this process; the log has its code" },
  "request.object": { because: "the checked answer is for callers of this process; it is read from the log again" },
  request: { because: "an ended request is in the log", isAllowed: ({ agent }) => agent.state.run === undefined },
  asks: { because: NOT_ACKNOWLEDGED, isAllowed: ({ asks }) => asks.some(({ row }) => row !== "waits") },
  "asks.id": { because: "names the caller" },
  isAsking: { because: NOT_ACKNOWLEDGED },
  "agent.flight.ending": { because: NOT_ACKNOWLEDGED },
  "agent.flight.finishing": { because: NOT_ACKNOWLEDGED },
  lastCall: { because: "for `explain`, which uses the recorded call after a restart" },
  environment: {
    because: "a call that is not recorded yet is not in the log; at worst the warning of a change comes again",
    isAllowed: ({ lastCall, agent }) =>
      !agent.thread
        .toArray({ partial: true })
        .some((entry) => entry.refs.callId === lastCall?.directive.callId && hasEnvironment(entry)),
  },
  nextId: { because: "ids of effects are of one process" },
  nextRetryMs: { because: "backoff" },
  resumes: { because: "backoff: how often the store was away" },
  stopping: { because: "a stop is of one process" },
};

/** Of the open request, or of the ask that is taken next. */
function hasLentTools({ given, asks, agent }: Live): boolean {
  return given?.tools !== undefined || (agent.state.run === undefined && asks.length > 0);
}

function hasEnvironment(entry: Parameters<typeof recordedCall>[0]): boolean {
  return recordedCall(entry)?.["environment"] !== undefined;
}

/** The exception that a difference falls under. */
export function exceptionOf({ path: given, live }: Difference): string | undefined {
  const path = given.replace(/^asks\.\d+\./, "asks.");
  return Object.entries(EXCEPTIONS).find(
    ([excepted, { isAllowed = () => true }]) => isIn(path, excepted) && isAllowed(live),
  )?.[0];
}

/** What is equal again after the request was resumed, as long as the restarted process goes on with it. */
const SUPPLIED = [
  ...["given", "ownTools", "recover", "queuesAsks", "mintsTokens", "request.id", "request.runId"],
  ...["request.time.limitMs", "request.time.noteEveryMs", "request.time.over"],
  ...["agent.settings", "agent.contextPolicy", "agent.flight.runId", "agent.flight.systemPrompt"],
  "agent.flight.deferred",
];

export function isSupplied({ path, restarted }: Difference): boolean {
  return restarted.agent.state.run !== undefined && SUPPLIED.some((one) => isIn(path, one));
}

function isIn(path: string, place: string): boolean {
  return path === place || (path.startsWith(`${place}.`) && place !== "request");
}
