import { addUsage, recordedUsage, type Usage } from "../../agent/model-call.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import {
  counterFor,
  currentModel,
  heldFor,
  policyOf,
  systemPromptOf,
  toolsFor,
} from "../../agent/react/call-context.ts";
import { CANCELLED, type SummaryPlan, summaryPlan } from "../../agent/react/summary-plan.ts";
import { ProjectionError } from "../../projection/error.ts";
import { ContextPolicy } from "../../projection/policy/policy.ts";
import { coveredSeqs, type SummaryRange } from "../../projection/summary/summary-range.ts";
import type { Loop } from "../loop.ts";
import { summaryFailed, writeSummary } from "../perform/summarize.ts";
import { RequestError } from "../request/request-error.ts";

/** The range and options of a summary. Default: all except the turns that the policy keeps. */
export interface SummarizeOptions {
  /** Where the summary begins. It must begin where the one before begins, or at the first entry of the lane. Default: there. */
  readonly fromSeq?: number | undefined;
  /** The last entry to cover. Default: the last one before the turns that the policy keeps. */
  readonly toSeq?: number | undefined;
  /** The subject that the summary should keep most of, such as "the open bugs". Stored with it. Default: nothing. */
  readonly focus?: string | undefined;
  /** Cancels the summary: it rejects as `summary_cancelled`, with the `usage` of the call if it is known. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

type SeqRange = Pick<SummarizeOptions, "fromSeq" | "toSeq">;

interface Work {
  readonly lane: string;
  readonly model: string | undefined;
  readonly plan: SummaryPlan;
  readonly toSeq: number;
}

/** Writes a summary on demand, in pieces if the range is too long for one call. */
export async function summarizeRange(
  live: Loop,
  { focus, signal: cancel, ...given }: SummarizeOptions,
): Promise<{ readonly seq: number; readonly usage: Usage }> {
  const signal = cancel === undefined ? live.stopped : AbortSignal.any([live.stopped, cancel]);
  await live.reload();
  const findWork = (toSeq: number | undefined, written: number | undefined): Promise<Work | undefined> =>
    live.read((agent) => workFor(agent, { ...given, toSeq }, written));
  let usage: Usage = {};
  let seq: number | undefined;
  let upTo = given.toSeq;
  for (;;) {
    const work = await findWork(upTo, seq);
    if (work === undefined) return { seq: seq ?? -1, usage };
    const { lane, model, plan } = work;
    const { range, maxTokens, isPart } = plan;
    upTo = work.toSeq;
    if (cancel?.aborted) throw cancelled(usage);
    const outcome = await writeSummary(live.scene, range, { lane, model, maxTokens, signal, focus });
    usage = addUsage(usage, recordedUsage(outcome.ok ? outcome.summary.call : outcome.call));
    if (outcome.ok) {
      const { before } = await live.command({ type: "summary_result", lane, ...outcome.summary });
      seq = before.thread.rev;
      if (!isPart) return { seq, usage };
    } else {
      if (live.stopped.aborted || (live.scene.stopping().aborted && outcome.call === undefined)) throw outcome.error;
      if (cancel?.aborted) {
        // An entry only if the call was paid for.
        if (outcome.call !== undefined) await live.command(summaryFailed(lane, range, { ...outcome, code: CANCELLED }));
        throw cancelled(usage);
      }
      await live.command(summaryFailed(lane, range, outcome));
      const next = await findWork(upTo, seq);
      if (next === undefined || !next.plan.isDue || next.plan.range.toSeq >= range.toSeq) throw outcome.error;
    }
  }
}

/** The next piece; undefined when a piece was written and none is left. */
function workFor(agent: ReactAgent, { fromSeq, toSeq }: SeqRange, written: number | undefined): Work | undefined {
  const { run, last } = agent.state;
  const held = heldFor(agent);
  const policy = policyOf(agent, held, run ?? last?.run);
  const lane = agent.state.activeContextRef;
  checkSeq("fromSeq", fromSeq, agent);
  checkSeq("toSeq", toSeq, agent);
  const edge = toSeq ?? boundaryOf(agent, policy, lane);
  const plan = edge === undefined ? undefined : summaryPlan(agent, lane, { toSeq: edge, policy, isAsked: true });
  if (plan !== undefined && written === undefined) checkStart(fromSeq, plan.range);
  if (plan !== undefined && edge !== undefined) return { lane, model: policy.summarizationModel, plan, toSeq: edge };
  if (written !== undefined) return undefined;
  throw nothingToSummarize(policy, toSeq);
}

/**
 * The end of the range: before the turns that the policy keeps. If the view does not fit any more, before the open
 * request.
 */
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

/** A summary also covers what the one before it covers. */
function checkStart(fromSeq: number | undefined, range: SummaryRange): void {
  const covered = coveredSeqs(range);
  if (fromSeq === undefined || fromSeq <= (range.previous === undefined ? range.fromSeq : covered.fromSeq)) return;
  const message = `The summary covers the entries from ${covered.fromSeq} on, not from ${fromSeq}. Leave fromSeq out.`;
  throw new RequestError({ code: "summary_range_mismatch", message });
}

function cancelled(usage: Usage): RequestError {
  return new RequestError({ code: "summary_cancelled", message: "The signal of the summary was aborted.", usage });
}

function checkSeq(name: string, seq: number | undefined, { thread }: ReactAgent): void {
  if (seq === undefined || (Number.isSafeInteger(seq) && seq >= 0 && seq <= thread.lastSeq)) return;
  const message = `${name} must be the seq of an entry, from 0 to ${thread.lastSeq}.`;
  throw new RequestError({ code: "invalid_options", message });
}

function nothingToSummarize({ keepLastTurns }: ContextPolicy, toSeq: number | undefined): RequestError {
  const message =
    toSeq === undefined
      ? `There is nothing to summarize before the last ${keepLastTurns} turns, which the policy keeps. Pass toSeq to go further.`
      : `There is nothing up to seq ${toSeq} that is not summarized already.`;
  return new RequestError({ code: "nothing_to_summarize", message });
}
