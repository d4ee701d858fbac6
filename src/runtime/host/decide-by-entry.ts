import type { AnyAgent } from "../../agent/definition/config.ts";
import { commitEntries, unchanged } from "../../agent/react/agent.ts";
import { approvalResolvedEntry, foreignAnswerEntry } from "../../agent/react/entries.ts";
import { type OpenCall, type Run, withRefs } from "../../agent/react/state.ts";
import type { ToolOutcome } from "../../agent/signal.ts";
import { ConflictError, threadNotFound } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { EntryInput } from "../../thread/entry.ts";
import { changedStatus } from "../live/thread-metadata.ts";
import { append } from "../perform/answer.ts";
import type { RuntimePorts } from "../ports.ts";
import { RequestError } from "../request/request-error.ts";
import { commandRefs, decisionOf } from "../server/command-refs.ts";
import type { Decider, SenderOptions } from "../server/options.ts";
import { settingsFor } from "../server/settings.ts";
import { loadAgent } from "../session/load.ts";

export type Decision =
  | ({ readonly toolCallId: string; readonly approved: boolean } & Decider)
  | ({ readonly toolCallId: string; readonly outcome: ToolOutcome } & SenderOptions);

interface Elsewhere {
  readonly agent: AnyAgent;
  readonly store: ThreadStore;
  readonly threadId: string;
  readonly ports: RuntimePorts;
  /** The request that the decision is for, where that is known. */
  readonly requestId?: string | undefined;
}

/** Writes a decision into the thread of another process, which follows the log while it waits. */
export async function decideByEntry(place: Elsewhere, decision: Decision): Promise<void> {
  const { agent, store, threadId, ports, requestId } = place;
  const settings = await settingsFor(agent, { ports });
  for (;;) {
    const before = await loadAgent(store, threadId, settings, ports);
    if (before.thread.rev === 0) throw threadNotFound(threadId);
    const { run } = before.state;
    const isOf = run !== undefined && (requestId === undefined || run.requestId === requestId);
    const entry = isOf ? entryFor(agent, run, decision) : undefined;
    if (entry === undefined) throw notWaiting(decision.toolCallId);
    try {
      // With its status: where the holder has died, somebody has to go on with what is decided.
      const { agent: after } = commitEntries(unchanged(before), entry);
      await append({ store, ports, threadId }, undefined, { before, after, metadata: changedStatus(before, after) });
      return;
    } catch (error) {
      if (!ConflictError.isInstance(error)) throw error; // they have written: look again
    }
  }
}

function entryFor(agent: AnyAgent, run: Run, decision: Decision): EntryInput | undefined {
  const { toolCallId } = decision;
  const open = run.calls.find(({ call, status }) => call.id === toolCallId && status !== "done");
  if (open === undefined) return undefined;
  if ("outcome" in decision) {
    return isForOutside(agent, open)
      ? foreignAnswerEntry(withRefs(run, commandRefs(decision).refs), toolCallId, open.call.name, decision.outcome)
      : undefined;
  }
  if (open.status !== "approval_requested") return undefined;
  const { refs, ...said } = decisionOf(decision);
  return approvalResolvedEntry(withRefs(run, refs), toolCallId, { approved: decision.approved, ...said });
}

/** A tool that is run there is not answered from here. */
function isForOutside({ tools, guardTools }: AnyAgent, { call, status }: OpenCall): boolean {
  const tool = Object.hasOwn(tools, call.name) ? tools[call.name] : undefined;
  if (tool?.execute !== undefined) return false;
  // Found to be allowed: for the one who answers. Where that is asked of each call, it has to be found first.
  if (status === "started") return tool !== undefined;
  const asksFirst = guardTools !== undefined || (tool?.needsApproval ?? false) !== false;
  return status === "open" && !asksFirst;
}

export function notWaiting(toolCallId: string): RequestError {
  const message = `No call ${toolCallId} waits for this. It was decided before, or its request has ended.`;
  return new RequestError({ code: "not_waiting", message });
}
