import type { FinishReason, Usage } from "../../agent/answer.ts";
import type { TerminationReason } from "../../agent/event.ts";
import type { EndedRun } from "../../agent/react/state.ts";
import type { View } from "../../projection/projection.ts";
import type { Entry } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";

/** One model call of a request: what it cost, and what it was shown. `rebuildCall` gives its messages again. */
export interface CallSummary {
  readonly callId: string;
  readonly usage: Usage;
  readonly view: View;
}

/** What a request came to. */
export interface RequestResult<Output = unknown> {
  readonly requestId: string;
  readonly runId: string;
  /** The last text of the model. */
  readonly text: string;
  readonly terminationReason: TerminationReason;
  /** How the last model call ended: a final answer may have been cut by `length`, or by a `content-filter`. */
  readonly finishReason?: FinishReason;
  /** Of all calls together, also those that wrote summaries for the request. */
  readonly usage: Usage;
  readonly calls: readonly CallSummary[];
  /** The answer in the shape that `output` asks for. */
  readonly object: Output;
}

/** The result of a request that was completed, from the entries that the log has of it. */
export function resultIn(
  entries: readonly Entry[],
  { run, end }: EndedRun,
  object: JsonValue | undefined,
): RequestResult {
  const { requestId, runId, text, usage, finishReason } = run;
  const terminationReason = end.status === "completed" ? end.terminationReason : "stopped";
  const ended = { terminationReason, ...(finishReason && { finishReason }) };
  return Object.freeze({ requestId, runId, text, ...ended, usage, calls: callsIn(entries), object });
}

/** The model calls that entries of a run tell of. */
function callsIn(entries: readonly Entry[]): readonly CallSummary[] {
  return entries.flatMap(({ payload, refs }) => {
    const call = (payload as JsonObject)["call"]; // payloads are JSON
    if (!isPlainObject(call) || refs.callId === undefined) return [];
    const { usage, view } = call as unknown as CallSummary; // written by us
    return [{ callId: refs.callId, usage, view }];
  });
}
