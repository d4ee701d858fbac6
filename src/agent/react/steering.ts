import type { Entry } from "../../thread/entry.ts";
import type { Signal, Steer } from "../signal.ts";
import type { ReactAgent } from "./agent.ts";
import { saysSomething } from "./content.ts";
import { steerEntry } from "./entries.ts";
import type { Run } from "./run.ts";
import { committed, doing, inFlight, type Step, stay, telling } from "./step.ts";

/** Words that may wait for one run. */
export const MAX_STEERS = 64;

type SteerSignal = Extract<Signal, { type: "steer" }>;

/** Takes words on their way into the run, or says why not. The same words twice, by their id, are delivered once. */
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

/** What is to be delivered now: what was steered, and, where the run would end, what was to follow. */
export function due({ flight: { steers } }: ReactAgent, atEnd: boolean): readonly Steer[] {
  const now = steers.filter(({ steer }) => steer !== "follow_up");
  return now.length > 0 || !atEnd ? now : steers;
}

/** Commits what is due; never between a call and its result, because no call is open when this is asked. */
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
