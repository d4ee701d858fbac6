import type { AnyAgent } from "../../agent/definition/config.ts";
import type { TerminationReason } from "../../agent/event.ts";
import type { ModelFinishReason, Usage, UsageByModel } from "../../agent/model-call.ts";
import { recordedCall } from "../../agent/model-call.ts";
import { outputAsked } from "../../agent/react/call-context.ts";
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
  /** The finish reason of the last model call. With `length` or `content-filter` the answer was cut. */
  readonly finishReason?: ModelFinishReason;
  /** The usage of all calls, also of summaries for the request that were used or discarded. */
  readonly usage: Usage;
  /** The usage by model, as `provider:model`, because prices differ. */
  readonly usageByModel: UsageByModel;
  readonly calls: readonly CallSummary[];
}

/** The result of a request. Only with the `terminationReason` "final_answer" is there an `object`. */
export type RequestResult<Output = unknown> = RequestFacts & Ended<Output>;

type Ended<Output> =
  /** `object` is the answer, checked with the schema `output`. */
  | { readonly terminationReason: "final_answer"; readonly object: Output }
  | { readonly terminationReason: Exclude<TerminationReason, "final_answer">; readonly object: undefined };

/** The termination reason, with the object of a final answer. An earlier answer that matches the schema does not count. */
export function endedWith(terminationReason: TerminationReason, object: unknown): Ended<unknown> {
  return terminationReason === "final_answer"
    ? { terminationReason, object }
    : { terminationReason, object: undefined };
}

/** The result of a completed request, from its entries. */
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

/** The model calls that the entries record. */
function callsIn(entries: readonly Entry[]): readonly CallSummary[] {
  return entries.flatMap((entry) => {
    const call = recordedCall(entry);
    const { callId } = entry.refs;
    if (call === undefined || callId === undefined) return [];
    const { usage, view } = call as CallSummary; // the runtime wrote it
    return [{ callId, usage, view }];
  });
}

/** The result of an ended request, from its entries. */
export async function pastResult(
  { output }: Pick<AnyAgent, "output">,
  entries: readonly Entry[],
  ended: EndedRun,
): Promise<RequestResult> {
  const { end, run } = ended;
  if (end.status === "failed") throw requestFailed(run.requestId, end.failure, undefined, run);
  if (end.status === "cancelled") throw requestCancelled(run.requestId, end.reason, run);
  return resultIn(entries, ended, await objectIn(outputAsked(run) ?? output, entries, run.callId));
}

/** Objects are not in the log, so the last answer is checked again. */
async function objectIn(
  output: AnyAgent["output"],
  entries: readonly Entry[],
  callId: string | undefined,
): Promise<JsonValue | undefined> {
  if (output === undefined || callId === undefined) return undefined;
  const answer = entries.find(({ refs, payload }) => refs.callId === callId && isAnswer(payload));
  const content = (answer?.payload as { readonly content?: Content } | undefined)?.content; // the runtime wrote it
  if (content === undefined) return undefined;
  const checked = await checkOutput(content, output);
  return checked.ok ? checked.object : undefined;
}

function isAnswer(payload: unknown): boolean {
  return isPlainObject(payload) && payload["role"] === "assistant";
}
