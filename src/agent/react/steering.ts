import type { Entry } from "../../thread/entry.ts";
import type { Signal, Steer } from "../signal.ts";
import type { ReactAgent } from "./agent.ts";
import { saysSomething } from "./content.ts";
import { steerEntry } from "./entries.ts";
import type { Run } from "./run.ts";
import { committed, doing, inFlight, type Step, stay, telling } from "./step.ts";

/** The most steers that may wait for delivery. */
export const MAX_STEERS = 64;

type SteerSignal = Extract<Signal, { type: "steer" }>;

/** Queues a steer for the run, or returns a receipt with the reason. A repeated id is delivered once. */
export function steered(agent: ReactAgent, { type: _type, ...given }: SteerSignal): Step {
  const { id, content } = given;
  if (agent.flight.steers.some((waiting) => waiting.id === id)) return stay(agent);
  const known = agent.thread.filterByRef("signalId", id).find(isSteer);
  if (known !== undefined) return doing(stay(agent), { type: "receipt", id, delivered: true, entryId: known.id });
  const steer: Steer = { ...given, content: typeof content === "string" ? content.trim() : content };
  const reason = refusalOf(agent, steer);
  if (reason !== undefined) return doing(stay(agent), { type: "receipt", id, delivered: false, reason });
  return inFlight(stay(agent), { steers: [...agent.flight.steers, steer] });
}

function isSteer({ kind, payload }: Entry): boolean {
  return kind === "ai_message" && "steer" in payload;
}

function refusalOf({ state: { run }, flight: { steers, ending } }: ReactAgent, steer: Steer): string | undefined {
  if (run === undefined) return "idle";
  if (steer.requestId !== undefined && steer.requestId !== run.requestId) return "request_mismatch";
  if (!saysSomething(steer.content)) return "empty_content";
  if (ending !== undefined) return "closed";
  return steers.length >= MAX_STEERS ? "queue_full" : undefined;
}

/** The steers to deliver now. A `follow_up` is delivered only when the run would end. */
export function due({ flight: { steers } }: ReactAgent, atEnd: boolean): readonly Steer[] {
  const now = steers.filter(({ steer }) => steer !== "follow_up");
  return now.length > 0 || !atEnd ? now : steers;
}

/** Commits steers. Must be called when no tool call is open, so that none is put between a call and its result. */
export function delivered(step: Step, run: Run, steers: readonly Steer[]): Step {
  if (steers.length === 0) return step;
  const rest = step.agent.flight.steers.filter((steer) => !steers.includes(steer));
  return steers.reduce((before, steer) => delivery(before, run, steer), inFlight(step, { steers: rest }));
}

function delivery(step: Step, run: Run, steer: Steer): Step {
  const next = committed(step, steerEntry(run, steer));
  const { id, content, steer: kind } = steer;
  const told = telling(next, run, { kind: "input_injected", data: { id, steer: kind, content } });
  const entryId = next.agent.thread.last()?.id;
  return doing(told, { type: "receipt", id, delivered: true, ...(entryId !== undefined && { entryId }) });
}
