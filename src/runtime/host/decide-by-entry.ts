import type { AnyAgent } from "../../agent/definition/config.ts";
import { commitEntries, type ReactAgent, type Step, unchanged } from "../../agent/react/agent.ts";
import { currentModel } from "../../agent/react/call-context.ts";
import {
  approvalResolvedEntry,
  foreignAnswerEntry,
  questionAnsweredEntry,
  withRefs,
} from "../../agent/react/entries.ts";
import { ruledCalls, ruleEntries } from "../../agent/react/permission-rules.ts";
import type { OpenCall, Run } from "../../agent/react/state.ts";
import { checkEditedFits, isInTime } from "../../agent/react/tools.ts";
import { ConflictError, threadNotFound } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { readTail } from "../../stores/project-from-store.ts";
import { foreignChange } from "../live/schedule.ts";
import { changedStatus } from "../live/thread-metadata.ts";
import { append } from "../perform/answer.ts";
import type { RuntimePorts } from "../ports.ts";
import { RequestError } from "../request/request-error.ts";
import { decisionOf, rememberOf } from "../server/command-refs.ts";
import { notWaiting } from "../server/not-waiting.ts";
import type { AnswerOptions, ApproveOptions } from "../server/options.ts";
import { settingsFor } from "../server/settings.ts";
import { loadAgent } from "../session/load.ts";
import { checkEdited } from "../tools/approval.ts";
import { outcomeOf } from "../tools/result.ts";
import { questionAnswer } from "../tools/validate.ts";

export type Decision =
  | ({ readonly toolCallId: string; readonly approved: boolean } & ApproveOptions)
  | ({ readonly toolCallId: string; readonly output: unknown } & AnswerOptions);

interface Elsewhere {
  readonly agent: AnyAgent;
  readonly store: ThreadStore;
  readonly threadId: string;
  readonly ports: RuntimePorts;
  /** The request that the decision is for, where that is known. */
  readonly requestId?: string | undefined;
}

/** Writes a decision into a thread that another process holds. That process follows the log while it waits. */
export async function decideByEntry(place: Elsewhere, decision: Decision): Promise<void> {
  const { agent, store, threadId, ports, requestId = decision.requestId } = place;
  const settings = await settingsFor(agent, { ports });
  for (;;) {
    const before = await loadAgent(store, threadId, settings, ports);
    if (before.thread.rev === 0) throw threadNotFound(threadId);
    const { run } = before.state;
    const isOf = run !== undefined && (requestId === undefined || run.requestId === requestId);
    const decided = isOf ? await decidedBy(place, before, run, decision) : undefined;
    const type = "output" in decision ? "answer" : "approve";
    if (decided === undefined) throw notWaiting(before, { type, toolCallId: decision.toolCallId, requestId });
    try {
      // The status is written too: if the holder has died, `recover` has to find the thread.
      const { agent: after } = decided;
      const metadata = changedStatus(before, after);
      const schedule = foreignChange(before, after);
      await append({ store, ports, threadId }, undefined, { before, after, metadata, schedule });
      return;
    } catch (error) {
      if (!ConflictError.isInstance(error)) throw error; // another process has written: read the log again
    }
  }
}

async function decidedBy(
  { agent, ports, store }: Elsewhere,
  before: ReactAgent,
  run: Run,
  decision: Decision,
): Promise<Step | undefined> {
  const { toolCallId } = decision;
  const open = run.calls.find(({ call, status }) => call.id === toolCallId && status !== "done");
  if (open === undefined) return undefined;
  if ("output" in decision) {
    const { refs, requestId: _checked, ...decider } = decisionOf(decision);
    const sent = withRefs(run, refs);
    if (open.status === "asked") {
      const limit = { ports, timeoutMs: agent.hookTimeoutMs };
      const answer = await questionAnswer(agent.tools, open.call.name, decision.output, limit);
      return commitEntries(unchanged(before), questionAnsweredEntry(sent, toolCallId, { answer, ...decider }));
    }
    const outcome = outcomeOf(decision.output);
    if (!isForOutside(agent, open)) return undefined;
    return commitEntries(unchanged(before), foreignAnswerEntry(sent, open, outcome, decider.by));
  }
  if (open.status !== "approval_requested" || !isInTime(open, ports.clock())) return undefined;
  const { approved, arguments: given, remember, ...decider } = decision;
  const { refs, requestId: _checked, ...said } = decisionOf(decider);
  const limit = { ports, timeoutMs: agent.hookTimeoutMs };
  const edited = given === undefined ? undefined : await checkEdited(open.call, given, agent.tools, limit);
  // A model that only the holder knows may read more.
  if (approved && edited !== undefined && Object.hasOwn(run.usageByModel, currentModel(before) ?? ""))
    await readTail(store, before.thread, (thread) => checkEditedFits({ ...before, thread }, run, open, edited));
  const made = { approved, ...said, ...(edited !== undefined && { editedArguments: edited }) };
  const sent = withRefs(run, refs);
  const first = commitEntries(unchanged(before), approvalResolvedEntry(sent, toolCallId, made));
  const call = edited === undefined ? open.call : { ...open.call, arguments: edited };
  const { remember: rule } = rememberOf({ remember }, ports);
  const second = commitEntries(first, ...ruleEntries(first.agent, sent, call, made, rule));
  const others = rule === undefined ? [] : ruledCalls(second.agent);
  return commitEntries(
    second,
    ...others.map(({ open: other, rule: { id, verdict } }) =>
      approvalResolvedEntry(run, other.call.id, { approved: verdict === "allow", rule: id }),
    ),
  );
}

/** Whether the call is answered from outside. A tool that the holder runs is not. */
function isForOutside({ tools, guardTools }: AnyAgent, { call, status }: OpenCall): boolean {
  const tool = Object.hasOwn(tools, call.name) ? tools[call.name] : undefined;
  if (tool?.execute !== undefined) return false;
  // A started call was allowed. With `guardTools` or a rule, the holder has to allow the call before it can be
  // answered.
  if (status === "started") return tool !== undefined;
  const asksFirst = guardTools !== undefined || (tool?.needsApproval ?? false) !== false;
  return status === "open" && !asksFirst;
}

/** The error of a decision with the token of a request that is not open any more. */
export function ofEndedRequest(requestId: string): RequestError {
  return new RequestError({ code: "not_waiting", message: `The request ${requestId} of the token has ended.` });
}
