import type { ReactAgent } from "../../agent/react/agent.ts";
import {
  counterFor,
  currentModel,
  heldFor,
  policyOf,
  systemPromptOf,
  toolsFor,
} from "../../agent/react/call-context.ts";
import { type SummaryPlan, summaryPlan } from "../../agent/react/summary-plan.ts";
import { ProjectionError } from "../../projection/error.ts";
import { ContextPolicy } from "../../projection/policy/policy.ts";
import type { Loop } from "../loop.ts";
import { summaryFailed, writeSummary } from "../perform/summarize.ts";
import { RequestError } from "../request/request-error.ts";

interface Given {
  readonly fromSeq?: number | undefined;
  readonly toSeq?: number | undefined;
}

interface Work {
  readonly lane: string;
  readonly model: string | undefined;
  readonly plan: SummaryPlan;
  readonly toSeq: number;
}

/** Has a summary written because a caller asked for it: piece by piece where the range is too long for one call. */
export async function summarizeRange(live: Loop, given: Given): Promise<{ readonly seq: number }> {
  await live.mend();
  const { fromSeq } = given;
  let seq: number | undefined;
  let { toSeq } = given;
  for (;;) {
    const work = await live.read((agent) => workFor(agent, { ...given, toSeq }, seq));
    if (work === undefined) return { seq: seq ?? -1 };
    const { lane, model, plan } = work;
    const { range, maxTokens, isPart } = plan;
    toSeq = work.toSeq;
    const outcome = await writeSummary(live.scene, range, { lane, model, maxTokens, signal: live.stopped });
    if (outcome.ok) {
      const { payload: whole } = outcome.summary;
      const payload = fromSeq === undefined ? whole : { ...whole, fromSeq: Math.min(fromSeq, whole.toSeq) };
      const { before } = await live.command({ type: "summary_result", lane, ...outcome.summary, payload });
      seq = before.thread.rev;
      if (!isPart) return { seq };
    } else {
      if (live.stopped.aborted) throw outcome.error;
      await live.command(summaryFailed(lane, range, outcome));
      const next = await live.read((agent) => workFor(agent, { ...given, toSeq }, seq));
      if (next === undefined || !next.plan.isDue || next.plan.range.toSeq >= range.toSeq) throw outcome.error;
    }
  }
}

/** The next piece; undefined when all was summarized, once something was. */
function workFor(agent: ReactAgent, { fromSeq, toSeq }: Given, written: number | undefined): Work | undefined {
  const { run, last } = agent.state;
  const held = heldFor(agent);
  const policy = policyOf(agent, held, run ?? last?.run);
  const lane = agent.state.activeContextRef;
  checkSeq("fromSeq", fromSeq, agent);
  checkSeq("toSeq", toSeq, agent);
  const edge = toSeq ?? boundaryOf(agent, policy, lane);
  const plan = edge === undefined ? undefined : summaryPlan(agent, lane, { toSeq: edge, policy, isAsked: true });
  if (plan !== undefined && edge !== undefined) return { lane, model: policy.summarizationModel, plan, toSeq: edge };
  if (written !== undefined) return undefined;
  throw nothingToSummarize(policy, toSeq);
}

/** All but the turns that the policy keeps; where the view does not even fit any more, all but the open request. */
function boundaryOf(agent: ReactAgent, policy: ContextPolicy, lane: string): number | undefined {
  const { thread, settings, state } = agent;
  const { projector, readers } = settings;
  const model = currentModel(agent);
  const held = heldFor(agent);
  try {
    const { meta } = projector.project({
      thread,
      lane,
      policy: ContextPolicy.resolve({ request: { ...policy, summarization: "request_new", overflow: "shrink" } }),
      system: systemPromptOf(agent, held),
      tools: toolsFor(agent, {}, held),
      model,
      readers,
      tokenCounter: counterFor(policy, { ...settings, model }, thread),
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
