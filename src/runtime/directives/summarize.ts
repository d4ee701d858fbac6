import { type LanguageModel, modelNameOf } from "../../agent/definition/language-model.ts";
import type { Summarize } from "../../agent/directive.ts";
import { textOf } from "../../agent/react/content.ts";
import { acceptSummary } from "../../projection/summarise/accept.ts";
import type { SummaryRange } from "../../projection/summarise/range.ts";
import { summaryRequest } from "../../projection/summarise/request.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { JsonObject } from "../../thread/json.ts";
import { withRetries } from "../model/retries.ts";
import { RequestError } from "../request/request-error.ts";
import type { SummarySpan } from "../telemetry/telemetry.ts";
import type { Scene } from "./scene.ts";
import { untilAborted } from "./until-aborted.ts";

/** Has a summary written; whether it is worth having is decided here, and the log is told by the next signal. */
export function summarize(scene: Scene, { requestId, lane, range, model }: Summarize): void {
  const signal = requestId === undefined ? undefined : scene.request(requestId)?.abort.signal;
  const work = async (): Promise<void> => {
    try {
      const summary = await writeSummary(scene, range, { lane, requestId, model, signal });
      scene.send({ type: "summary_result", lane, ...summary });
    } catch (error) {
      if (!signal?.aborted) scene.onError(error, { code: "summary_failed", threadId: scene.threadId, requestId });
      const reason = HeddleError.isInstance(error) ? error.message : "The summarizer threw an error.";
      scene.send({ type: "summary_failed", toSeq: range.toSeq, reason });
    }
  };
  scene.track(work());
}

interface Wanted {
  readonly lane: string;
  readonly requestId?: string | undefined;
  readonly model?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A summary, and the call that wrote it, where a model was asked here. */
interface Written {
  readonly content: string;
  readonly call?: JsonObject;
}

/** The payload of a summary and the record of its call, or an error that says why there is none. */
export async function writeSummary(scene: Scene, range: SummaryRange, { lane, requestId, model, signal }: Wanted) {
  const span = scene.telemetry.summary({ range, requestId, model }, scene);
  try {
    const stopped = signal ?? new AbortController().signal;
    const { content, ...call } = await span.within(() => written(scene, range, span, model, stopped));
    const verdict = acceptSummary(range, content, { lane });
    if (!verdict.accepted) throw notAccepted(verdict.reason);
    span.ended();
    return { payload: verdict.payload, ...call };
  } catch (error) {
    span.failed(error);
    throw error;
  }
}

async function written(
  scene: Scene,
  range: SummaryRange,
  span: SummarySpan,
  name: string | undefined,
  signal: AbortSignal,
): Promise<Written> {
  const { summarizer } = scene.definition;
  if (summarizer !== undefined)
    return { content: textGiven(await untilAborted(signal, () => summarizer.summarize(range, { signal }))) };
  const { messages } = summaryRequest(range);
  const model = modelFor(scene, name);
  const { streaming, streamIdleTimeoutMs: idleTimeoutMs, modelMaxRetries } = scene.definition;
  // As a stream it can be seen to have fallen silent.
  const call = { model, messages, streaming, idleTimeoutMs, signal, ports: scene.ports };
  const answer = await withRetries(call, { modelMaxRetries });
  span.answered(answer);
  const { usage, finishReason } = answer;
  return { content: textOf(answer.content), call: { model: modelNameOf(model), usage, finishReason } };
}

/** Of a summarizer without types. */
function textGiven(content: unknown): string {
  if (typeof content === "string") return content;
  throw new RequestError({ code: "summary_not_accepted", message: "The summarizer gave no text." });
}

function modelFor({ definition }: Scene, name: string | undefined): LanguageModel {
  if (name === undefined) return definition.model;
  const found = definition.models?.[name];
  if (found !== undefined) return found;
  const message = `The policy names ${name} as summarizationModel, and the agent has no such model. Give it: models: { "${name}": model }.`;
  throw new RequestError({ code: "unknown_model", message });
}

function notAccepted(reason: "empty" | "not_smaller"): RequestError {
  const message =
    reason === "empty" ? "The summary says nothing." : "The summary is no smaller than what it would replace.";
  return new RequestError({ code: "summary_not_accepted", message });
}
