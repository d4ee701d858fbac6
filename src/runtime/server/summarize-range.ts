import type { ReactAgent } from "../../agent/react/agent.ts";
import { counterFor } from "../../agent/react/counter.ts";
import { rangeUpTo } from "../../agent/react/next-call.ts";
import { ProjectionError } from "../../projection/error.ts";
import type { ContextPolicy } from "../../projection/policy/fields.ts";
import { resolvePolicy } from "../../projection/policy/resolve.ts";
import type { SummaryRange } from "../../projection/summarise/range.ts";
import { writeSummary } from "../directives/summarize.ts";
import { RequestError } from "../request/request-error.ts";
import type { LiveThread } from "./live-thread.ts";

interface Given {
  readonly fromSeq?: number;
  readonly toSeq?: number;
}

interface Work {
  readonly lane: string;
  readonly model: string | undefined;
  readonly range: SummaryRange;
}

/** Has a summary written because somebody asked for it. */
export async function summarizeRange(live: LiveThread, given: Given): Promise<{ readonly seq: number }> {
  await live.mend();
  const { fromSeq } = given;
  const { lane, model, range } = await live.session.read((agent) => workFor(agent, given));
  const signal = live.stopped;
  const written = await writeSummary(live.scene, range, { lane, model, signal });
  const { payload: whole } = written;
  const payload = fromSeq === undefined ? whole : { ...whole, fromSeq: Math.min(fromSeq, whole.toSeq) };
  const { before } = await live.submit({ type: "summary_result", lane, ...written, payload });
  return { seq: before.thread.rev };
}

function workFor(agent: ReactAgent, { fromSeq, toSeq }: Given): Work {
  const policy = policyOf(agent);
  const lane = agent.state.activeContextRef;
  checkSeq("fromSeq", fromSeq, agent);
  checkSeq("toSeq", toSeq, agent);
  const edge = toSeq ?? boundaryOf(agent, policy, lane);
  const range = edge === undefined ? undefined : rangeUpTo(agent, lane, edge);
  if (range === undefined) throw nothingToSummarize(policy, toSeq);
  return { lane, model: policy.summarizationModel, range };
}

function policyOf({ settings, contextPolicy, state: { run, last } }: ReactAgent): ContextPolicy {
  const request = (run ?? last?.run)?.options.contextPolicy;
  return resolvePolicy({
    request,
    state: contextPolicy,
    definition: settings.contextPolicy,
    model: settings.model,
  });
}

/** All but the turns that the policy keeps; where the view does not even fit any more, all but the open request. */
function boundaryOf(agent: ReactAgent, policy: ContextPolicy, lane: string): number | undefined {
  const { thread, settings, state } = agent;
  const { projector, model, readers, systemPrompt: system, tools } = settings;
  try {
    const { meta } = projector.project({
      thread,
      lane,
      policy: resolvePolicy({ request: { ...policy, summarization: "request_new", overflow: "shrink" } }),
      system,
      tools,
      model,
      readers,
      tokenCounter: counterFor(policy, settings, thread),
    });
    return meta.boundary;
  } catch (error) {
    if (!ProjectionError.isInstance(error) || error.code === "tail_too_short") throw error;
    return state.run === undefined ? thread.lastSeq : state.run.askSeq - 1;
  }
}

function checkSeq(name: string, seq: number | undefined, { thread }: ReactAgent): void {
  if (seq === undefined || (Number.isSafeInteger(seq) && seq >= 0 && seq <= thread.lastSeq)) return;
  const message = `${name} must be the seq of an entry, from 0 to ${thread.lastSeq}.`;
  throw new RequestError({ code: "invalid_options", message });
}

function nothingToSummarize({ keepLastTurns }: ContextPolicy, toSeq: number | undefined): RequestError {
  const message =
    toSeq === undefined
      ? `There is nothing to summarise before the last ${keepLastTurns} turns, which the policy keeps. Pass toSeq to go further.`
      : `There is nothing up to seq ${toSeq} that is not summarised already.`;
  return new RequestError({ code: "nothing_to_summarize", message });
}
