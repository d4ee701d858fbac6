import type { ContextPolicy } from "../../projection/policy/policy.ts";
import type { ProjectionMeta } from "../../projection/projection.ts";
import type { SummaryRange } from "../../projection/summary/summary-range.ts";
import type { EntryInput, Refs } from "../../thread/entry.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import { type Ports, systemPorts } from "../../thread/ports.ts";
import { Thread } from "../../thread/thread.ts";
import type { Mode } from "../definition/config.ts";
import type { Directive } from "../directive.ts";
import type { EventDraft } from "../event.ts";
import type { CallBasis } from "../model-call.ts";
import type { DeferredCommand, Failure, Steer } from "../signal.ts";
import type { ReactSettings } from "./settings.ts";
import {
  type EndedRun,
  evolve,
  hasOpenCalls,
  INITIAL_STATE,
  type OpenCall,
  openCalls,
  type ReactState,
  type Run,
} from "./state.ts";

/** Up to which entry to summarize, and with which policy. */
export interface SummaryGoal {
  readonly toSeq: number;
  readonly policy: ContextPolicy;
  readonly isEmergency: boolean;
  /** Entries before this one are cut from the context. */
  readonly cutSeq: number;
  /** The facts for the hook that it is requested from. Absent: it is written here. */
  readonly requested?: ProjectionMeta;
}

/** State that is not in the log. It is lost with the process, and no acknowledged write depends on it. */
export interface InFlightState {
  /** The run that this process started or resumed. */
  readonly runId: string | undefined;
  /** The model call that failed, or was not made, and is made again: its id, and the wait before. */
  readonly retry: { readonly callId: string; readonly afterMs: number; readonly isRenewed?: true } | undefined;
  /** The pending model call. */
  readonly call: { readonly callId: string; readonly basis: CallBasis } | undefined;
  /** The pending summary, which is written before the next model call. */
  readonly summary: { readonly toSeq: number; readonly range: SummaryRange; readonly goal: SummaryGoal } | undefined;
  /** Set while the run is being cancelled or failed: the reason. */
  readonly ending: PendingEnd | undefined;
  /** Set when the run should complete with the answer so far, as soon as nothing is running. */
  readonly finishing: "limit" | "stopped" | undefined;
  /** Ids of the running tool calls. */
  readonly running: readonly string[];
  readonly systemPrompt: string | undefined;
  /** Steers that wait for delivery, oldest first. */
  readonly steers: readonly Steer[];
  /** Commands that wait for the end of the run, oldest first. */
  readonly deferred: readonly DeferredCommand[];
  /** The `cutSeq` of the last `context_cut` event. */
  readonly cutSeq: number | undefined;
  /** The number of `tool_completed` events of this exchange, which are emitted in the order of the calls. */
  readonly emittedResults: number;
  /** Whether `decideNext` decides the next step, after the entries are durable. */
  readonly isPhased: boolean;
  /** The runtime checks whether the run ends after this exchange, or changes the agent. */
  readonly isChecking: boolean;
  /** The next step, for `decideNext`. */
  readonly next: "call" | "after_tools" | undefined;
}

export type PendingEnd =
  | { readonly status: "cancelled"; readonly reason: string; readonly spoken?: string; readonly refs?: Refs }
  | { readonly status: "failed"; readonly failure: Failure };

/** The immutable state of a ReAct agent between two signals. */
export interface ReactAgent {
  readonly strategy: "react";
  readonly settings: ReactSettings;
  readonly ports: Ports;
  readonly thread: Thread;
  readonly state: ReactState;
  readonly flight: InFlightState;
}

export const NOTHING_IN_FLIGHT: InFlightState = Object.freeze({
  runId: undefined,
  retry: undefined,
  call: undefined,
  summary: undefined,
  ending: undefined,
  finishing: undefined,
  running: Object.freeze([]),
  systemPrompt: undefined,
  steers: Object.freeze([]),
  deferred: Object.freeze([]),
  cutSeq: undefined,
  emittedResults: 0,
  isPhased: false,
  isChecking: false,
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
    state: INITIAL_STATE,
    flight: NOTHING_IN_FLIGHT,
  };
}

/** Whether a model call, a summary, a check or a tool call of the run is pending. */
export function hasPendingWork({ flight: { call, summary, isChecking, running } }: ReactAgent): boolean {
  return call !== undefined || summary !== undefined || isChecking || running.length > 0;
}

/**
 * Whether the run waits only for an approval, an outside answer, another agent or a time. For a restored agent, call this after `resume`: before
 * that, an interrupted call looks like a waiting one.
 *
 * @example
 * isWaiting(restore(reactSettings(), thread)); // false when no request is open
 */
export function isWaiting(agent: ReactAgent): boolean {
  const { run } = agent.state;
  return run !== undefined && !hasPendingWork(agent) && hasOpenCalls(run);
}

/** The result of a signal: the next agent, whose thread has the new entries, and the directives. */
export interface Step {
  readonly agent: ReactAgent;
  readonly directives: readonly Directive[];
}

export function unchanged(agent: ReactAgent): Step {
  return { agent, directives: [] };
}

/** Appends entries and folds them into the state. A state changes only here. */
export function commitEntries(step: Step, ...entries: readonly EntryInput[]): Step {
  const { agent } = step;
  const { ids, clock } = agent.ports;
  const complete = entries.map((entry) => ({ id: ids("entry"), at: clock(), ...entry }));
  const thread = agent.thread.append(complete);
  const fresh = thread.slice(agent.thread.rev, thread.lastSeq);
  return { ...step, agent: { ...agent, thread, state: fresh.reduce(evolve, agent.state) } };
}

export function updateFlight(step: Step, change: Partial<InFlightState>): Step {
  return { ...step, agent: { ...step.agent, flight: { ...step.agent.flight, ...change } } };
}

export function addDirectives(step: Step, ...directives: readonly Directive[]): Step {
  return { ...step, directives: [...step.directives, ...directives] };
}

export function emitEvent(step: Step, { requestId, runId, iteration }: Run, event: EventDraft): Step {
  return addDirectives(step, { type: "emit", requestId, runId, iteration, event });
}

/** How a run has ended, also when the next one has begun since. Undefined when its end is not in the log. */
export function endedRun({ thread, state: { last } }: ReactAgent, runId: string): EndedRun | undefined {
  if (last?.run.runId === runId) return last;
  return thread.filterByRef("runId", runId, { partial: true }).reduce(evolve, INITIAL_STATE).last;
}

/** Whether another agent had the thread before, or may get it. */
export function wasHandedOver({ state: { run, last } }: Pick<ReactAgent, "state">): boolean {
  const { handedTo, startedBy } = run ?? last?.run ?? {};
  return handedTo !== undefined || startedBy !== undefined;
}

/** The agent that runs the thread. The calls of an answer that hands it over are those of the agent before. */
export function nextAgent({
  settings: { name },
  state: { run, last },
}: Pick<ReactAgent, "settings" | "state">): string {
  const { handedTo } = run ?? last?.run ?? {};
  const isPending = run !== undefined && hasOpenCalls(run) && handedTo?.callId === run.callId;
  return (isPending ? handedTo?.from : handedTo?.agent) ?? name;
}

/** When the next approval stops to wait, or the next call wakes, in milliseconds since 1970. */
export function nextDeadline({ state: { run } }: ReactAgent): number | undefined {
  const deadlines = run === undefined ? [] : openCalls(run).flatMap(({ deadline }) => deadline ?? []);
  return deadlines.length === 0 ? undefined : Math.min(...deadlines);
}

/** When the open request must be looked at again: at the next deadline of an approval, the end of a sleep, or its own deadline. */
export function nextDue(agent: ReactAgent): number | undefined {
  const [approval, own] = [nextDeadline(agent), agent.state.run?.options.deadline];
  return approval === undefined || own === undefined ? (approval ?? own) : Math.min(approval, own);
}

/** A call that waits for an approval, an outside answer or a time. */
export interface WaitingCall {
  readonly toolCallId: string;
  readonly name: string;
  readonly arguments: JsonValue;
  /** "approval": call `approve` or `deny`. "answer": pass the result to `answer`. "sleep": it has its result at `deadline`. */
  readonly kind: "approval" | "answer" | "sleep";
  /** Until when it waits, in milliseconds since 1970. Default: without limit. */
  readonly deadline?: number;
  /** The request of the call. Only from a host. */
  readonly requestId?: string;
  /** The thread of the call, if an agent waits that the thread has asked. Default: the thread itself. */
  readonly threadId?: string;
  /** The question of the tool, if it has suspended the call. Pass the answer to `answer`. */
  readonly question?: JsonValue;
}

/**
 * The calls that wait for an approval, an outside answer or a time, in order. For a restored agent, call this after `resume`.
 *
 * @example
 * waitingCalls(restore(reactSettings(), thread)); // [] when no request is open
 */
export function waitingCalls(agent: ReactAgent): readonly WaitingCall[] {
  const { run } = agent.state;
  const { running, ending } = agent.flight;
  if (run === undefined || ending !== undefined) return [];
  return openCalls(run).flatMap((open): readonly WaitingCall[] => {
    if (running.includes(open.call.id)) return [];
    const kind = waitingKind(agent, open);
    return kind === undefined ? [] : [waitingCall(open, kind)];
  });
}

function waitingCall({ call, deadline, status, question }: OpenCall, kind: WaitingCall["kind"]): WaitingCall {
  const { id: toolCallId, name, arguments: args } = call;
  return {
    toolCallId,
    name,
    arguments: args,
    kind,
    ...(deadline !== undefined && { deadline }),
    ...(status === "asked" && question && { question: question.value }),
  };
}

function waitingKind(agent: ReactAgent, open: OpenCall): WaitingCall["kind"] | undefined {
  if (open.status === "approval_requested") return "approval";
  if (open.status === "asleep") return "sleep";
  return open.status === "asked" || takesAnswer(agent, open) ? "answer" : undefined;
}

/**
 * The waiting calls, from the log, for a process that does not run the thread. Running calls are open in the log too,
 * so only calls that are known to wait are listed. `onlyWaits`: the holder has recorded that all open calls wait.
 */
export function storedWaitingCalls(
  { thread, state: { run }, settings }: ReactAgent,
  onlyWaits: boolean = thread.metadata["status"] === "waiting",
): readonly WaitingCall[] {
  const open = run === undefined ? [] : openCalls(run);
  const kinds: { readonly [Status in OpenCall["status"]]?: WaitingCall["kind"] } = {
    approval_requested: "approval",
    asleep: "sleep",
  };
  return open.flatMap((one): readonly WaitingCall[] => {
    const isElsewhere = DECIDED.includes(one.status) || one.status === "delegated";
    if (isElsewhere || (!onlyWaits && !waitsForOutside(settings, one))) return [];
    return [waitingCall(one, kinds[one.status] ?? "answer")];
  });
}

/** Longer arguments are in the log only, in characters of JSON text. */
const MAX_LISTED_ARGUMENTS = 32_768;

/** A waiting call, for a list of all threads. */
interface ListedCall {
  readonly callId: string;
  readonly kind: WaitingCall["kind"];
  readonly deadline?: number;
  readonly body: JsonObject;
}

/** The waiting calls, for a list of all threads. A call with an id that the list refuses is in the log only. */
export function listedCalls(agent: ReactAgent, onlyWaits: boolean | undefined): readonly ListedCall[] {
  const { requestId = "", options } = agent.state.run ?? {};
  const requestDeadline = options?.deadline;
  return storedWaitingCalls(agent, onlyWaits).flatMap((call, index, all) => {
    const { toolCallId: callId, name, arguments: given, kind, deadline } = call;
    const isSecond = all.findIndex(({ toolCallId }) => toolCallId === callId) < index;
    if (isSecond || !isListed(callId)) return [];
    const isShort = JSON.stringify(given).length <= MAX_LISTED_ARGUMENTS;
    const of = {
      agent: agent.settings.name,
      requestId,
      name,
      ...(requestDeadline !== undefined && { requestDeadline }),
    };
    const body = { ...of, ...(isShort && { arguments: given }) };
    return [{ callId, kind, body, ...(deadline !== undefined && { deadline }) }];
  });
}

export function isListed(id: string): boolean {
  return /^\P{Cc}{1,512}$/u.test(id) && id.isWellFormed();
}

/** Whether a caller may answer this call. The call must not be running here. */
export function takesAnswer({ settings: { traits } }: ReactAgent, { call, status }: OpenCall): boolean {
  return status === "open" || (status === "started" && traits[call.name]?.client === true);
}

/** Whether a guard or a rule of a mode checks each call of the tool. Callers see such a call only after the log says that it is allowed. */
export function isGuarded({ guards = false, traits, modes = {} }: ReactSettings, name: string): boolean {
  const isRuled = ({ rules = [] }: Pick<Mode, "rules">) =>
    rules.some(({ tool, verdict }) => tool === name && verdict === "deny");
  return guards || traits[name]?.guarded === true || Object.values(modes).some(isRuled);
}

/**
 * Whether the log shows that the run waits, or will wait, only for approvals or outside answers. Otherwise a process must
 * resume it. This is stored with the entries, because nothing is written when a call starts to wait for its answer.
 */
export function willOnlyWait({ state: { run }, settings }: Pick<ReactAgent, "state" | "settings">): boolean {
  if (run === undefined || !hasOpenCalls(run)) return false;
  for (let index = run.firstOpen; index < run.calls.length; index++) {
    const call = run.calls[index];
    if (call !== undefined && call.status !== "done" && !waitsForOutside(settings, call)) return false;
  }
  return true;
}

function waitsForOutside(settings: ReactSettings, { call, status }: OpenCall): boolean {
  const { client = false, needsApproval = false } = settings.traits[call.name] ?? {};
  const asksFirst = needsApproval || isGuarded(settings, call.name);
  return (
    status === "approval_requested" ||
    status === "asked" ||
    status === "delegated" ||
    status === "asleep" ||
    (client && (status === "started" || (status === "open" && !asksFirst)))
  );
}

const DECIDED: readonly OpenCall["status"][] = ["approved", "denied", "answered"];

/** Whether something was running when the log ends. A call that another process decided or answered, and that was not started, does not count. */
export function hadPendingWork({ settings }: ReactAgent, run: Run): boolean {
  const open = openCalls(run);
  const isDecided = ({ status }: OpenCall): boolean => DECIDED.includes(status);
  if (open.length === 0) return !run.isAnsweredElsewhere;
  return !open.every((call) => isDecided(call) || waitsForOutside(settings, call));
}
