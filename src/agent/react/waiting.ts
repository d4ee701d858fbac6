import type { JsonValue } from "../../thread/json.ts";
import type { ReactAgent } from "./agent.ts";
import { type OpenCall, openCalls, type Run } from "./run.ts";
import type { ReactSettings } from "./settings.ts";

/** A call that waits for an approval or an outside answer. */
export interface WaitingCall {
  readonly toolCallId: string;
  readonly name: string;
  readonly arguments: JsonValue;
  /** "approval": call `approve` or `deny`. "answer": pass the result to `answer`. */
  readonly kind: "approval" | "answer";
}

/**
 * The calls that wait for an approval or an outside answer, in order. For a restored agent, call this after `resume`.
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

/** Whether a caller may answer this call. The call must not be running here. */
export function takesAnswer({ settings: { traits } }: ReactAgent, { call, status }: OpenCall): boolean {
  return status === "open" || (status === "started" && traits[call.name]?.client === true);
}

/** Whether a guard checks each call of the tool. Callers see such a call only after the log says that it is allowed. */
export function isGuarded({ guards = false, traits }: ReactSettings, name: string): boolean {
  return guards || traits[name]?.guarded === true;
}

/**
 * Whether the log shows that the run waits, or will wait, only for approvals or outside answers. Otherwise a process must
 * resume it. This is stored with the entries, because nothing is written when a call starts to wait for its answer.
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

/** Whether something was running when the log ends. A call that another process decided or answered, and that was not started, does not count. */
export function wasAtWork({ settings }: ReactAgent, run: Run): boolean {
  const open = openCalls(run);
  const isDecided = ({ status }: OpenCall): boolean => status === "approved" || status === "denied";
  if (open.length === 0) return !run.isAnsweredElsewhere;
  return !open.every((call) => isDecided(call) || isForOutside(settings, call));
}
