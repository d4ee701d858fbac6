import type { EntryInput } from "../../thread/entry.ts";
import type { Directive } from "../directive.ts";
import type { EventDraft } from "../event.ts";
import type { Flight, ReactAgent } from "./agent.ts";
import type { Run } from "./run.ts";
import { evolve } from "./state.ts";

/** The result of a signal: the next agent, whose thread has the new entries, and the directives. */
export interface Step {
  readonly agent: ReactAgent;
  readonly directives: readonly Directive[];
}

export function stay(agent: ReactAgent): Step {
  return { agent, directives: [] };
}

/** Appends entries and folds them into the state. A state changes only here. */
export function committed(step: Step, ...entries: readonly EntryInput[]): Step {
  const { agent } = step;
  const { ids, clock } = agent.ports;
  const complete = entries.map((entry) => ({ id: ids("entry"), at: clock(), ...entry }));
  const thread = agent.thread.append(complete);
  const fresh = thread.slice(agent.thread.rev, thread.lastSeq);
  return { ...step, agent: { ...agent, thread, state: fresh.reduce(evolve, agent.state) } };
}

export function inFlight(step: Step, change: Partial<Flight>): Step {
  return { ...step, agent: { ...step.agent, flight: { ...step.agent.flight, ...change } } };
}

export function doing(step: Step, ...directives: readonly Directive[]): Step {
  return { ...step, directives: [...step.directives, ...directives] };
}

export function telling(step: Step, { requestId, runId, iteration }: Run, event: EventDraft): Step {
  return doing(step, { type: "emit", requestId, runId, iteration, event });
}
