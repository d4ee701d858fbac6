import type { Entry } from "../../thread/entry.ts";
import { hasContent } from "../../thread/message.ts";
import { checkName } from "../../thread/options.ts";
import type { Signal, Steer } from "../signal.ts";
import {
  addDirectives,
  commitEntries,
  emitEvent,
  type ReactAgent,
  type Step,
  unchanged,
  updateFlight,
} from "./agent.ts";
import { fitsAlone, fitsNextCall } from "./call-context.ts";
import { steerEntry } from "./entries.ts";
import { hasOpenCalls, type Run } from "./state.ts";

const MAX_PENDING = 64;

/** The reason for words that cannot be shown beside the ask. An ask that does not fit has this code. */
const TOO_LONG = "pending_overflow";

type SteerSignal = Extract<Signal, { type: "steer" }>;

/** Queues a steer for the run, or drops it with the reason. A repeated id is delivered once. */
export function handleSteer(agent: ReactAgent, { type, ...input }: SteerSignal): Step {
  const { id, content } = input;
  checkName("id", id); // the entry takes its id from it
  if (agent.flight.steers.some((waiting) => waiting.id === id)) return unchanged(agent);
  const known = agent.thread.filterByRef("signalId", id, { partial: true }).find(isSteer);
  if (known !== undefined) {
    return addDirectives(unchanged(agent), { type: "settle", id, end: { status: "delivered", seq: known.seq } });
  }
  const steer: Steer = { ...input, content: typeof content === "string" ? content.trim() : content };
  const reason = steerRefusal(agent, steer);
  if (reason !== undefined) {
    return addDirectives(unchanged(agent), { type: "settle", id, end: { status: "dropped", reason } });
  }
  // After a crash the words must not reach a later request.
  const { run } = agent.state;
  const bound = { ...steer, ...(run && { requestId: run.requestId }), ...skipOf(agent, steer) };
  const older = replacedBy(agent, steer);
  const steers = [...agent.flight.steers.filter((one) => one !== older), bound];
  const replaces = older === undefined ? {} : { replaces: older.id };
  return addDirectives(updateFlight(unchanged(agent), { steers }), {
    type: "defer",
    id,
    signal: { type, ...bound },
    ...replaces,
  });
}

/** The waiting message with the same key. */
function replacedBy({ flight: { steers } }: ReactAgent, { key }: Steer): Steer | undefined {
  return key === undefined ? undefined : steers.find((one) => one.key === key);
}

/** Whether a message may wait for the next request. */
function waitsAtRest({ steer, requestId }: Steer): boolean {
  return steer === "inject" && requestId === undefined;
}

/** The number of the answer whose calls are skipped. It keeps a message that waits for long from skipping later calls. */
function skipOf({ state: { run } }: ReactAgent, { skip }: Steer): Pick<Steer, "skip"> {
  if (skip !== true || run === undefined) return {};
  return { skip: hasOpenCalls(run) ? run.iteration : run.iteration + 1 };
}

/** Whether a message that waits skips the calls of the last answer. */
export function skipsCalls({ flight: { steers } }: ReactAgent, { iteration }: Run): boolean {
  return steers.some(({ skip }) => skip === iteration);
}

function isSteer({ kind, payload }: Entry): boolean {
  return kind === "ai_message" && "steer" in payload;
}

function steerRefusal(agent: ReactAgent, steer: Steer): string | undefined {
  const { state, flight, settings } = agent;
  const { run } = state;
  const { steers, ending } = flight;
  const { maxPending = MAX_PENDING } = settings;
  if (run === undefined && !waitsAtRest(steer)) return "idle";
  if (run !== undefined && steer.requestId !== undefined && steer.requestId !== run.requestId)
    return "request_mismatch";
  if (!hasContent(steer.content)) return "empty_content";
  if (ending !== undefined) return "closed";
  const others = steers.filter(({ key }) => key === undefined || key !== steer.key);
  if (others.length >= maxPending) return "queue_full";
  return fitsAlone(agent, steer) ? undefined : TOO_LONG;
}

/** The steers to deliver now. A `follow_up` is delivered only when the run would end. */
export function dueSteers(agent: ReactAgent, atEnd: boolean): readonly Steer[] {
  const { steers } = agent.flight;
  const { steering, followUps } = agent.settings;
  if (!atEnd && isPaused(agent)) return [];
  const now = steers.filter(({ steer }) => steer !== "follow_up");
  if (now.length === 0) return !atEnd ? now : followUps === "one" ? steers.slice(0, 1) : steers;
  if (steering !== "one") return now;
  return !atEnd && isUnanswered(agent) ? [] : now.slice(0, 1);
}

/** A message behind a paused answer would end the tools of the provider without their results. */
function isPaused({ state: { run } }: ReactAgent): boolean {
  return run?.finishReason === "paused" && run.calls.length === 0;
}

/** Whether the newest message is one that was delivered, so that the model has to answer it first. */
function isUnanswered({ thread }: ReactAgent): boolean {
  const newest = thread.filterByKind("ai_message", { partial: true }).at(-1);
  return newest !== undefined && newest.payload.role === "user" && newest.refs["signalId"] !== undefined;
}

/** Commits as many of the steers as the next call can show, the oldest first. The others wait for a later call. */
export function deliverFitting(step: Step, run: Run, steers: readonly Steer[]): Step {
  for (let count = steers.length; count > 0; count >>= 1) {
    const next = deliverSteers(step, run, steers.slice(0, count));
    if (fitsNextCall(next.agent, next.agent.state.run ?? run)) return next;
  }
  return step;
}

/** Drops a steer that does not fit although nothing else is new. The context may have grown since it was accepted. */
export function dropTooLong(step: Step, { id }: Steer): Step {
  const steers = step.agent.flight.steers.filter((steer) => steer.id !== id);
  const end = { status: "dropped", reason: TOO_LONG } as const;
  return addDirectives(updateFlight(step, { steers }), { type: "settle", id, end });
}

/** Commits steers. Must be called when no tool call is open, so that none is put between a call and its result. */
function deliverSteers(step: Step, run: Run, steers: readonly Steer[]): Step {
  if (steers.length === 0) return step;
  const rest = step.agent.flight.steers.filter((steer) => !steers.includes(steer));
  return steers.reduce((before, steer) => deliverSteer(before, run, steer), updateFlight(step, { steers: rest }));
}

function deliverSteer(step: Step, run: Run, steer: Steer): Step {
  const next = commitEntries(step, steerEntry(run, steer));
  const { id, content, steer: kind, author, display } = steer;
  const data = { id, steer: kind, content, ...(author && { author }), ...(display && { display }) };
  const emitted = emitEvent(next, run, { kind: "input_injected", data });
  const { lastSeq: seq } = next.agent.thread;
  return addDirectives(emitted, { type: "settle", id, end: { status: "delivered", seq } });
}
