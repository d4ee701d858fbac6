import type { AnyAgent } from "../../agent/definition/config.ts";
import type { TerminationReason } from "../../agent/event.ts";
import type { ModelFinishReason, Usage, UsageByModel } from "../../agent/model-call.ts";
import { recordedCall } from "../../agent/model-call.ts";
import type { EndedRun } from "../../agent/react/state.ts";
import type { ProjectionView } from "../../projection/projection.ts";
import type { Entry } from "../../thread/entry.ts";
import { isPlainObject, type JsonValue } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import { checkOutput } from "../structured-output.ts";
import { requestCancelled, requestFailed } from "./request-error.ts";

/** One model call of a request: what it cost, and what it was shown. `rebuildCall` gives its messages again. */
export interface CallSummary {
  readonly callId: string;
  readonly usage: Usage;
  readonly view: ProjectionView;
}

interface RequestFacts {
  readonly requestId: string;
  readonly runId: string;
  /** The last text of the model. */
  readonly text: string;
  /** How the last model call ended: a final answer may have been cut by `length`, or by a `content-filter`. */
  readonly finishReason?: ModelFinishReason;
  /** Of all calls together, also those that wrote summaries for the request, used or discarded. */
  readonly usage: Usage;
  /** The same for each model, as `provider:model`: models have different prices. */
  readonly usageByModel: UsageByModel;
  readonly calls: readonly CallSummary[];
}

/** What a request came to. Comparing `terminationReason` says whether there is an `object`: only a final answer has the shape. */
export type RequestResult<Output = unknown> = RequestFacts & Ended<Output>;

type Ended<Output> =
  /** The answer in the shape that `output` asks for. */
  | { readonly terminationReason: "final_answer"; readonly object: Output }
  | { readonly terminationReason: Exclude<TerminationReason, "final_answer">; readonly object: undefined };

/** How a request ended: an answer of the right shape that was not the last one is no object. */
export function endedWith(terminationReason: TerminationReason, object: unknown): Ended<unknown> {
  return terminationReason === "final_answer"
    ? { terminationReason, object }
    : { terminationReason, object: undefined };
}

/** The result of a request that was completed, from the entries that the log has of it. */
export function resultIn(
  entries: readonly Entry[],
  { run, end }: EndedRun,
  object: JsonValue | undefined,
): RequestResult {
  const { requestId, runId, text, usage, usageByModel, finishReason } = run;
  const terminationReason = end.status === "completed" ? end.terminationReason : "stopped";
  const ended = { ...endedWith(terminationReason, object), ...(finishReason && { finishReason }) };
  return Object.freeze({ requestId, runId, text, usage, usageByModel, calls: callsIn(entries), ...ended });
}

/** The model calls that entries of a run tell of. */
function callsIn(entries: readonly Entry[]): readonly CallSummary[] {
  return entries.flatMap((entry) => {
    const call = recordedCall(entry);
    const { callId } = entry.refs;
    if (call === undefined || callId === undefined) return [];
    const { usage, view } = call as CallSummary; // written by us
    return [{ callId, usage, view }];
  });
}

/** What a request came to that has ended, from the entries that the log has of it. */
export async function pastResult(
  { output }: Pick<AnyAgent, "output">,
  entries: readonly Entry[],
  ended: EndedRun,
): Promise<RequestResult> {
  const { end, run } = ended;
  if (end.status === "failed") throw requestFailed(run.requestId, end.failure);
  if (end.status === "cancelled") throw requestCancelled(run.requestId, end.reason);
  return resultIn(entries, ended, await objectIn(output, entries, run.callId));
}

/** Objects are not in the log: the last answer is read once more. */
async function objectIn(
  output: AnyAgent["output"],
  entries: readonly Entry[],
  callId: string | undefined,
): Promise<JsonValue | undefined> {
  if (output === undefined || callId === undefined) return undefined;
  const answer = entries.find(({ refs, payload }) => refs.callId === callId && isAnswer(payload));
  const content = (answer?.payload as { readonly content?: Content } | undefined)?.content; // written by us
  if (content === undefined) return undefined;
  const checked = await checkOutput(content, output);
  return checked.ok ? checked.object : undefined;
}

function isAnswer(payload: unknown): boolean {
  return isPlainObject(payload) && payload["role"] === "assistant";
}
