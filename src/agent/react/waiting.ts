import type { JsonValue } from "../../thread/json.ts";
import type { ReactAgent } from "./agent.ts";
import { type OpenCall, openCalls, type Run } from "./run.ts";
import type { ReactSettings } from "./settings.ts";

/** A call that waits for somebody outside. */
export interface WaitingCall {
  readonly toolCallId: string;
  readonly name: string;
  readonly arguments: JsonValue;
  /** Whether it is to be approved or denied, or to be given its result. */
  readonly kind: "approval" | "answer";
}

/**
 * The calls that wait for somebody outside, in the order in which they were made. Of a restored agent, ask after `resume`.
 *
 * @example
 * waitingCalls(restore(reactSettings(), thread)); // [] when no request is open
 */
export function waitingCalls(agent: ReactAgent): readonly WaitingCall[] {
  const { run } = agent.state;
  const { running, ending } = agent.flight;
  if (run === undefined || ending !== undefined) return [];
  return openCalls(run).flatMap((open): readonly WaitingCall[] => {
    const { id: toolCallId, name, arguments: args } = open.call;
    if (running.includes(toolCallId)) return [];
    const kind = kindOf(agent, open);
    return kind === undefined ? [] : [{ toolCallId, name, arguments: args, kind }];
  });
}

function kindOf(agent: ReactAgent, open: OpenCall): WaitingCall["kind"] | undefined {
  if (open.status === "approval_requested") return "approval";
  return takesAnswer(agent, open) ? "answer" : undefined;
}

/** Whether somebody outside may answer a call that nothing here is at work on. */
export function takesAnswer({ settings: { traits } }: ReactAgent, { call, status }: OpenCall): boolean {
  return status === "open" || (status === "started" && traits[call.name]?.client === true);
}

/** Whether each call of the tool is asked about: until the log says that it may, nobody outside has been told of it. */
export function isGuarded({ guards = false, traits }: ReactSettings, name: string): boolean {
  return guards || traits[name]?.guarded === true;
}

/**
 * Whether the log alone tells that the run waits, or comes to wait, for nothing but somebody outside; otherwise somebody has
 * to go on with it. It is written beside the entries: nothing is written any more when a call turns out to wait for its answer.
 */
export function comesToWait({ state: { run }, settings }: ReactAgent): boolean {
  const open = run === undefined ? [] : openCalls(run);
  return open.length > 0 && open.every((call) => isForOutside(settings, call));
}

function isForOutside(settings: ReactSettings, { call, status }: OpenCall): boolean {
  const { client = false, needsApproval = false } = settings.traits[call.name] ?? {};
  const asksFirst = needsApproval || isGuarded(settings, call.name);
  return status === "approval_requested" || (client && (status === "started" || (status === "open" && !asksFirst)));
}

/** Whether the log ends while something was at work. A call that another process decided or answered, and that nobody has begun, was not. */
export function wasAtWork({ settings }: ReactAgent, run: Run): boolean {
  const open = openCalls(run);
  const isDecided = ({ status }: OpenCall): boolean => status === "approved" || status === "denied";
  if (open.length === 0) return !run.isAnsweredElsewhere;
  return !open.every((call) => isDecided(call) || isForOutside(settings, call));
}
