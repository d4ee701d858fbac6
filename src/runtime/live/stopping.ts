import { refuseAsks } from "./asks.ts";
import { effects, followedBy, update } from "./decision.ts";
import { unwritten } from "./inbox.ts";
import type { Hold } from "./live.ts";
import { suspendRequest, suspensionIn, workTime } from "./request-state.ts";
import type { Decision, Moment } from "./signal.ts";
import { restore } from "./store-failure.ts";

/** How long a stop waits for running work, by default. */
export const GRACE_MS = 30_000;

/** How long a stop waits for the store to finish writes and to release the claim. */
export const RELEASE_LIMIT_MS = 10_000;

/**
 * Begins a stop. No work starts. Running work may end within the grace period; the rest is in the log for the next
 * process.
 */
export function beginStop(decision: Decision, graceMs: number, why: unknown): Decision {
  if (decision.live.stopping !== undefined) return decision;
  const refused = refuseAsks(
    update(decision, { stopping: { phase: "grace", why, isStrict: false, hasRestored: false } }),
    why,
  );
  return graceMs <= 0 ? endGrace(refused) : effects(refused, { type: "timer", name: "grace", ms: graceMs });
}

/** Ends the grace period. From now the store has a limited time for the last writes. */
export function endGrace(decision: Decision): Decision {
  const { stopping } = decision.live;
  if (stopping?.phase !== "grace") return decision;
  const strict = update(decision, { stopping: { ...stopping, isStrict: true } });
  return effects(
    strict,
    { type: "timer", name: "grace", ms: undefined },
    { type: "timer", name: "give_up", ms: RELEASE_LIMIT_MS },
  );
}

/** Ends the grace period when nothing runs, or when its time is over. */
export function advanceStop(decision: Decision, hasSignals: boolean, moment: Moment): Decision {
  const { stopping, hold, work, isAsking, broken, agent } = decision.live;
  if (stopping?.phase !== "grace" || hold !== undefined) return decision;
  const isQuiet = work.length === 0 && !hasSignals && !isAsking;
  if (stopping.hasRestored ? hasSignals : !stopping.isStrict && !isQuiet) return decision;
  const strict = stopping.isStrict ? decision : endGrace(decision);
  // Tries once more to close a failed request in the log. Otherwise the next process would resume it.
  if (broken !== undefined && broken.suspension === undefined && !stopping.hasRestored) {
    return restore(update(strict, { stopping: { ...stopping, isStrict: true, hasRestored: true } }));
  }
  const limited = effects(update(strict, { stopping: { ...stopping, isStrict: true, phase: "handing_over" } }), {
    type: "timer",
    name: "reload",
    ms: undefined,
  });
  if (broken !== undefined || agent.state.run === undefined) return closeLive(limited, false);
  const { begun, request, lastCall } = decision.live;
  const isCut = lastCall?.isSent && lastCall.directive.callId === agent.flight.call?.callId;
  // The result of a call that is cut now is dropped, so its usage is noted here.
  const call = work.some((id) => id === request?.call) ? moment.used?.() : undefined;
  const note = { ...(isCut && { isCut }), ...(call && { call }), ...workTime(request, moment) };
  const signal = { type: "hand_over", begun, ...note } as const;
  return followedBy(limited, { type: "agent", signal });
}

/** The callers that wait for the answer to an effect. */
function repliesOf(hold: Hold | undefined): readonly string[] {
  if (hold === undefined) return [];
  switch (hold.type) {
    case "shorten":
    case "post_ask":
    case "consume":
      return [];
    case "restore":
      return hold.after.flatMap(({ reply }) => reply ?? []);
    case "read_inbox":
      return [hold.turn?.reply ?? hold.reply ?? []].flat();
    case "load_for_read":
      return [hold.read.reply];
    default:
      return hold.turn.reply === undefined ? [] : [hold.turn.reply];
  }
}

/** Releases the thread. `gaveUp`: the store did not answer in time. Its later writes are fenced by the claim. */
export function closeLive(decision: Decision, gaveUp: boolean): Decision {
  const { stopping, postsCommands } = decision.live;
  if (stopping === undefined || stopping.phase === "closed") return decision;
  const refused = refuseAsks(update(decision, { isAsking: false }), stopping.why);
  const { why: error } = stopping;
  const replies = repliesOf(decision.live.hold).map((reply) => ({ type: "settle", reply, error }) as const);
  const { hold } = decision.live;
  const outcomes = hold?.type === "read_inbox" ? hold.again : hold?.type === "consume" ? hold : undefined;
  const answered = effects(refused, ...replies, ...(outcomes ? unwritten(decision.live, outcomes, error) : []));
  const suspended = suspendRequest(answered, suspensionIn(decision.live), {});
  const closed = update(suspended, { stopping: { ...stopping, phase: "closed" }, hold: undefined });
  return effects(
    closed,
    { type: "timer", name: "give_up", ms: undefined },
    { type: "follow", fromSeq: undefined },
    { type: "settle_all", reason: postsCommands ? "suspended" : "closed", error: stopping.why },
    { type: "close", gaveUp },
  );
}
