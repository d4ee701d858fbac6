import type { ContextPolicy, ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { SummaryRange } from "../../projection/summarise/range.ts";
import { type Ports, systemPorts } from "../../thread/ports.ts";
import { Thread } from "../../thread/thread.ts";
import type { CallBasis } from "../call-record.ts";
import type { Failure } from "../failure.ts";
import type { ContextOperation } from "../operation.ts";
import type { Steer } from "../signal.ts";
import { openCalls } from "./run.ts";
import type { ReactSettings } from "./settings.ts";
import { INITIAL, type ReactState } from "./state.ts";

/** How far summaries are to reach, and by which policy. */
export interface SummaryGoal {
  readonly toSeq: number;
  readonly policy: ContextPolicy;
  readonly isEmergency: boolean;
  /** History before this entry is not shown. */
  readonly cutSeq: number;
}

/** What no entry tells: it is lost with the process, and nothing that was acknowledged rests on it. */
export interface Flight {
  /** The run that this process carries: the one it has begun or taken up. */
  readonly runId: string | undefined;
  /** The model call that is out. */
  readonly call: { readonly callId: string; readonly basis: CallBasis } | undefined;
  /** The summary that is being written before the next call: up to where. */
  readonly summary: { readonly toSeq: number; readonly range: SummaryRange; readonly goal: SummaryGoal } | undefined;
  /** Why the run is being brought to its end. */
  readonly ending: Ending | undefined;
  /** The run is to end with what there is, as soon as nothing is at work. */
  readonly finishing: "limit" | "stopped" | undefined;
  /** Calls that were given to be run and have not reported back. */
  readonly running: readonly string[];
  readonly systemPrompt: string | undefined;
  /** Words on their way into the run, oldest first. */
  readonly steers: readonly Steer[];
  /** The last operation that waits for the run to end. */
  readonly contextOp: ContextOperation | undefined;
  /** Where the last cut without a summary was told of. */
  readonly cutSeq: number | undefined;
  /** Calls of the exchange whose completion was told, so that they are told in order. */
  readonly told: number;
  /** Whether what comes next is decided on its own, once the entries so far are durable. */
  readonly isPhased: boolean;
  /** What comes next, of a step that was decided so. */
  readonly next: "call" | "after_tools" | undefined;
}

export type Ending =
  | { readonly status: "cancelled"; readonly reason: string }
  | { readonly status: "failed"; readonly failure: Failure };

/** A ReAct agent at rest between two signals: a value, like the thread in it. */
export interface ReactAgent {
  readonly strategy: "react";
  readonly settings: ReactSettings;
  readonly ports: Ports;
  readonly thread: Thread;
  readonly state: ReactState;
  readonly flight: Flight;
  /** The policy that was set on the running agent. */
  readonly contextPolicy: ContextPolicyInput | undefined;
}

export const AT_REST: Flight = Object.freeze({
  runId: undefined,
  call: undefined,
  summary: undefined,
  ending: undefined,
  finishing: undefined,
  running: Object.freeze([]),
  systemPrompt: undefined,
  steers: Object.freeze([]),
  contextOp: undefined,
  cutSeq: undefined,
  told: 0,
  isPhased: false,
  next: undefined,
});

/**
 * An agent on an empty thread. To go on with a thread that has entries, `restore` it.
 *
 * @example
 * const agent = reactAgent(reactSettings({ name: "calculator" }));
 * agent.thread.rev; // 0
 */
export function reactAgent(settings: ReactSettings, ports: Ports = systemPorts, thread?: Thread): ReactAgent {
  return {
    strategy: "react",
    settings,
    ports,
    thread: thread ?? Thread.create({ clock: ports.clock, ids: ports.ids }),
    state: INITIAL,
    flight: AT_REST,
    contextPolicy: undefined,
  };
}

/** Whether anything of the run is under way that will report back. */
export function isAtWork({ flight: { call, summary, running } }: ReactAgent): boolean {
  return call !== undefined || summary !== undefined || running.length > 0;
}

/**
 * Whether the run waits for somebody outside, to approve a call or to answer it, and for nothing else. Of a restored agent,
 * ask after `resume`: until then a call that was interrupted looks like one that waits.
 *
 * @example
 * isWaiting(restore(reactSettings(), thread)); // false when no request is open
 */
export function isWaiting(agent: ReactAgent): boolean {
  const { run } = agent.state;
  return run !== undefined && !isAtWork(agent) && openCalls(run).length > 0;
}
