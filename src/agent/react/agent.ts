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

/** Up to which entry to summarize, and with which policy. */
export interface SummaryGoal {
  readonly toSeq: number;
  readonly policy: ContextPolicy;
  readonly isEmergency: boolean;
  /** Entries before this one are cut from the context. */
  readonly cutSeq: number;
}

/** State that is not in the log. It is lost with the process, and no acknowledged write depends on it. */
export interface Flight {
  /** The run that this process started or resumed. */
  readonly runId: string | undefined;
  /** The pending model call. */
  readonly call: { readonly callId: string; readonly basis: CallBasis } | undefined;
  /** The pending summary, which is written before the next model call. */
  readonly summary: { readonly toSeq: number; readonly range: SummaryRange; readonly goal: SummaryGoal } | undefined;
  /** Set while the run is being cancelled or failed: the reason. */
  readonly ending: Ending | undefined;
  /** Set when the run should complete with the answer so far, as soon as nothing is running. */
  readonly finishing: "limit" | "stopped" | undefined;
  /** Ids of the running tool calls. */
  readonly running: readonly string[];
  readonly systemPrompt: string | undefined;
  /** Steers that wait for delivery, oldest first. */
  readonly steers: readonly Steer[];
  /** The operation that waits for the end of the run. A newer one replaces it. */
  readonly contextOp: ContextOperation | undefined;
  /** The `cutSeq` of the last `context_cut` event. */
  readonly cutSeq: number | undefined;
  /** The number of `tool_completed` events of this exchange, which are emitted in the order of the calls. */
  readonly told: number;
  /** Whether `decideNext` decides the next step, after the entries are durable. */
  readonly isPhased: boolean;
  /** The next step, for `decideNext`. */
  readonly next: "call" | "after_tools" | undefined;
}

export type Ending =
  | { readonly status: "cancelled"; readonly reason: string }
  | { readonly status: "failed"; readonly failure: Failure };

/** The immutable state of a ReAct agent between two signals. */
export interface ReactAgent {
  readonly strategy: "react";
  readonly settings: ReactSettings;
  readonly ports: Ports;
  readonly thread: Thread;
  readonly state: ReactState;
  readonly flight: Flight;
  /** The policy that was set at run time, if any. */
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
 * An agent on an empty thread. Use `restore` for a thread that has entries.
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

/** Whether a model call, a summary or a tool call of the run is pending. */
export function isAtWork({ flight: { call, summary, running } }: ReactAgent): boolean {
  return call !== undefined || summary !== undefined || running.length > 0;
}

/**
 * Whether the run waits only for an approval or an outside answer. For a restored agent, call this after `resume`: before
 * that, an interrupted call looks like a waiting one.
 *
 * @example
 * isWaiting(restore(reactSettings(), thread)); // false when no request is open
 */
export function isWaiting(agent: ReactAgent): boolean {
  const { run } = agent.state;
  return run !== undefined && !isAtWork(agent) && openCalls(run).length > 0;
}
