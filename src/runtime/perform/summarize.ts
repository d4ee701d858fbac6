import type { Summarizer } from "../../agent/definition/config.ts";
import { type ProviderModel, qualifiedModelName, staticModels } from "../../agent/definition/language-model.ts";
import type { Summarize } from "../../agent/directive.ts";
import { addUsage, type ModelAnswer, recordedUsage, type Usage } from "../../agent/model-call.ts";
import { failedSummary, isSummaryOf, NOT_SMALLER } from "../../agent/react/summary-plan.ts";
import type { Signal } from "../../agent/signal.ts";
import { limitsOf } from "../../projection/policy/policy.ts";
import type { ProjectionMeta } from "../../projection/projection.ts";
import type { SummaryRange } from "../../projection/summary/summary-range.ts";
import { acceptSummary, type SummaryVerdict, summaryRequest } from "../../projection/summary/summary-request.ts";
import { HeddleError } from "../../thread/errors.ts";
import { copyJsonRepaired, isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import type { SummaryPayload } from "../../thread/kinds.ts";
import { contentText } from "../../thread/message.ts";
import { countMessage, countText, heuristic } from "../../tokens/counter.ts";
import { callModel, type ModelCall, WHOLE_ANSWER_TIMEOUTS, withRetries, withUsage } from "../model/call.ts";
import { classifyModelError, ModelError } from "../model/failure.ts";
import { findModels } from "../model/find-models.ts";
import { RequestError } from "../request/request-error.ts";
import type { SummarySpan } from "../telemetry/telemetry.ts";
import { hookAnswer, summaryWaitMs, untilAborted } from "../time-limits.ts";
import { costOf, spentWith } from "./check-exchange.ts";
import { inPlace, NOT_CALLED, type Scene } from "./scene.ts";

/** Writes a summary. The summary or the failure is the next signal. Undefined: the model was not called, because the host stops. */
export async function summarize(
  scene: Scene,
  directive: Summarize,
  signal: AbortSignal | undefined,
): Promise<{ readonly signal: Extract<Signal, { type: "summary_result" | "summary_failed" | "notice" }> } | undefined> {
  const { requestId, lane, range, maxTokens, model, meta } = directive;
  const outcome =
    meta === undefined
      ? await writeSummary(scene, range, { lane, requestId, model, maxTokens, signal })
      : await requestedSummary(scene, { ...directive, meta }, signal);
  if (outcome === undefined) return { signal: { type: "notice" } };
  if (!outcome.ok && outcome.error === NOT_CALLED) return undefined;
  const { call } = outcome.ok ? outcome.summary : outcome;
  const used = { model: typeof call?.["model"] === "string" ? call["model"] : undefined, usage: recordedUsage(call) };
  const spent = requestId === undefined ? {} : await spentWith(scene, used, signal);
  if (outcome.ok) return { signal: { type: "summary_result", lane, ...outcome.summary, ...spent } };
  const { error, ...failure } = outcome;
  if (!signal?.aborted) scene.onError(error, { code: "summary_failed", threadId: scene.threadId, requestId });
  return { signal: { ...summaryFailed(lane, range, failure), ...spent } };
}

/**
 * Waits for the summary that a call needs: the answer of `onNeedsSummary`, or an entry of another writer. Undefined: the log has
 * such an entry. Never throws.
 */
async function requestedSummary(
  scene: Scene,
  { requestId = "", lane, range, meta }: Summarize & { readonly meta: ProjectionMeta },
  outer: AbortSignal | undefined,
): Promise<Outcome | undefined> {
  const { definition, threadId, ports } = scene;
  const over = new AbortController();
  const signal = outer === undefined ? over.signal : AbortSignal.any([outer, over.signal]);
  const limit = { ports, timeoutMs: timeLeft(scene), signal };
  const hook = { name: "onNeedsSummary", code: "summary_timeout", option: "summaryWaitMs" };
  let verdict: SummaryVerdict | undefined;
  const logged = summaryInLog(scene, lane, range, signal);
  const asked = async (): Promise<SummaryAnswer> => {
    const answer = await definition.onNeedsSummary?.(meta, range, { threadId, requestId, signal });
    return answer === undefined ? new Promise(() => undefined) : checkedAnswer(answer);
  };
  try {
    const answer = await hookAnswer(limit, hook, () => Promise.race([logged, asked()]));
    if (answer === undefined) return undefined;
    verdict = acceptSummary(range, answer.content, { lane });
    if (!verdict.accepted) throw notAccepted(verdict.reason);
    return { ok: true, summary: { payload: { ...verdict.payload, ...detailsOf(answer) } } };
  } catch (error) {
    return { ok: false, error, ...failureIn(scene, error, verdict) };
  } finally {
    over.abort();
  }
}

/** The time is counted from the last message or summary, so that a restart does not begin it again. */
function timeLeft({ agent, definition, ports }: Scene): number {
  const { thread } = agent();
  const last = thread
    .slice(thread.firstSeq, thread.lastSeq)
    .findLast(({ kind }) => kind === "ai_message" || kind === "summary");
  return Math.max(0, (last?.at ?? ports.clock()) + summaryWaitMs(definition) - ports.clock());
}

/** Resolves when the log has a summary of the range. */
async function summaryInLog(
  { store, threadId, agent }: Scene,
  lane: string,
  { toSeq }: SummaryRange,
  signal: AbortSignal,
): Promise<undefined> {
  try {
    for await (const entry of store.watch(threadId, { fromSeq: agent().thread.rev, signal })) {
      if (!signal.aborted && isSummaryOf(entry, lane, toSeq)) return undefined;
    }
  } catch {
    // the store cannot be read now: the limit ends the wait
  }
  return new Promise(() => undefined);
}

interface SummaryCall {
  readonly focus?: string | undefined;
  readonly lane: string;
  readonly requestId?: string | undefined;
  readonly model?: string | undefined;
  readonly maxTokens: number;
  readonly signal?: AbortSignal | undefined;
}

/** The answer of a function of the caller. */
interface SummaryAnswer {
  readonly content: string;
  readonly details?: JsonValue | undefined;
}

/** The text of a summary, and the model call that wrote it, if the runtime made one. */
interface SummaryText extends SummaryAnswer {
  readonly call?: JsonObject;
}

interface SummaryFailure {
  readonly code: string;
  readonly reason: string;
  /** The call of a discarded or interrupted summary. It was paid for. */
  readonly call?: JsonObject;
}

type Outcome =
  | { readonly ok: true; readonly summary: { readonly payload: SummaryPayload; readonly call?: JsonObject } }
  | ({ readonly ok: false; readonly error: unknown } & SummaryFailure);

/** The payload of a summary and the record of its call, or the failure. Never throws. */
export async function writeSummary(
  scene: Scene,
  range: SummaryRange,
  { lane, requestId, model, maxTokens, signal = new AbortController().signal, focus }: SummaryCall,
): Promise<Outcome> {
  const span = scene.telemetry.summary({ range, requestId, model }, scene);
  let paid: { readonly call?: JsonObject } = {};
  let verdict: SummaryVerdict | undefined;
  let asked: ProviderModel | undefined;
  try {
    const hasOwn = scene.definition.summarizer !== undefined;
    const writer = hasOwn ? undefined : await modelFor(scene, model, requestId, signal);
    asked = writer;
    const answer = await span.within(() => written(scene, { range, maxTokens, focus }, span, writer, signal));
    const { content, details, ...call } = answer;
    paid = call;
    verdict = acceptSummary(range, content, { lane });
    if (!verdict.accepted) throw notAccepted(verdict.reason);
    span.ended();
    const payload = { ...verdict.payload, ...detailsOf({ details }), ...(focus !== undefined && { focus }) };
    return { ok: true, summary: { payload, ...call } };
  } catch (error) {
    const broken = brokenCall(asked, error);
    span.failed(error, broken && (await costOf(scene, broken, signal)));
    const call = broken && { ...broken, finishReason: "error" };
    return { ok: false, error, ...failureIn(scene, error, verdict), ...paid, ...(call && { call }) };
  }
}

function failureIn(scene: Scene, error: unknown, verdict: SummaryVerdict | undefined): SummaryFailure {
  const reason = HeddleError.isInstance(error) ? error.message : "The summarizer threw an error.";
  const isLarge = verdict?.accepted === false && verdict.reason === "not_smaller";
  return { code: isLarge ? NOT_SMALLER : codeOf(error, scene), reason };
}

function detailsOf({ details }: Pick<SummaryAnswer, "details">): { readonly details?: JsonValue } {
  return details === undefined ? {} : { details: copyJsonRepaired(details, "details") };
}

export function summaryFailed(
  lane: string,
  range: SummaryRange,
  { code, reason, call }: SummaryFailure,
): Extract<Signal, { type: "summary_failed" }> {
  const failed = failedSummary(range, code);
  return { type: "summary_failed", lane, failed, reason, ...(call !== undefined && { call }) };
}

/** A summarizer of the caller may throw what a provider's package has thrown. */
function codeOf(error: unknown, { ports }: Scene): string {
  return HeddleError.isInstance(error) ? error.code : classifyModelError(error, ports.clock).code;
}

/** The usage of an interrupted call, as the provider has sent it, or estimated. */
function brokenCall(
  asked: ProviderModel | undefined,
  error: unknown,
): { readonly model: string; readonly usage: Usage } | undefined {
  const usage = ModelError.isInstance(error) ? error.partial?.usage : undefined;
  if (asked === undefined || usage === undefined || Object.keys(usage).length === 0) return undefined;
  return { model: qualifiedModelName(asked), usage };
}

async function written(
  scene: Scene,
  { range, maxTokens, focus }: Pick<SummaryCall, "maxTokens" | "focus"> & { readonly range: SummaryRange },
  span: SummarySpan,
  model: ProviderModel | undefined,
  signal: AbortSignal,
): Promise<SummaryText> {
  const { summarizer } = scene.definition;
  const beforeAttempt = async (): Promise<void> => {
    if (scene.isHeld() || (await untilAborted(signal, () => scene.ensureHeld()))) return;
    throw new RequestError({ code: "summary_not_accepted", message: "Another process may have the thread." });
  };
  await beforeAttempt();
  if (summarizer !== undefined) {
    const first = await writtenBy(summarizer, { range, focus }, scene, signal);
    const { maxSummaryTokens } = range;
    if (maxSummaryTokens === undefined || !isTooLongFor(range, first.content)) return first;
    const shorter = { ...range, maxSummaryTokens: Math.floor(SHORTER * maxSummaryTokens) };
    return writtenBy(summarizer, { range: shorter, focus }, scene, signal);
  }
  if (model === undefined) throw new RequestError({ code: "model_unresolved", message: NO_MODEL });
  const { streaming, streamIdleTimeoutMs: idleTimeoutMs } = scene.definition;
  const { modelMaxRetries, modelRetryBackoffMs, modelRetryBackoffFactor } = scene.definition;
  const name = qualifiedModelName(model);
  // Between two attempts another call has the place.
  const attempt = (call: ModelCall): Promise<ModelAnswer> =>
    inPlace(scene, signal, name, async () => {
      if (scene.stopping().aborted) throw NOT_CALLED;
      await beforeAttempt();
      return callModel(call);
    });
  const waits = { modelMaxRetries, modelRetryBackoffMs, modelRetryBackoffFactor };
  const retries = { ...waits, attempt, stopping: scene.stopping() };
  const ask = (maxCharacters?: number): Promise<ModelAnswer> => {
    const { messages } = summaryRequest(range, { maxTokens, focus, maxCharacters });
    const estimateUsage = (received: string): Usage => ({
      inputTokens: messages.reduce((sum, message) => sum + countMessage(message, heuristic), 0),
      outputTokens: countText(received, heuristic),
    });
    // A stream shows when the model falls silent.
    const maxOutputTokens = longestAnswer(name, range, maxTokens);
    const settings = maxOutputTokens === undefined ? {} : { maxOutputTokens };
    const call = { model, messages, settings, streaming, idleTimeoutMs, signal, estimateUsage, ports: scene.ports };
    return withRetries(call, retries);
  };
  const answer = await wholeSummary(range, ask);
  const { usage, finishReason } = answer;
  span.answered(answer, await costOf(scene, { model: name, usage }, signal));
  return { content: contentText(answer.content), call: { model: name, usage, finishReason } };
}

function isTooLongFor(range: SummaryRange, text: string): boolean {
  const verdict = acceptSummary(range, text);
  return !verdict.accepted && verdict.reason === "too_long";
}

/** The tokens of a model that thinks before it writes. */
const THINKING = 4000;

/**
 * The limit of output tokens: some models count thinking too, and texts may have more tokens than estimated. None for a model
 * whose longest answer is not known, because it may refuse a greater limit.
 */
function longestAnswer(model: string, { maxSummaryTokens }: SummaryRange, request: number): number | undefined {
  const output = limitsOf(model)?.output;
  if (output === undefined || maxSummaryTokens === undefined) return output;
  return Math.min(output, Math.max(maxSummaryTokens, Math.min(2 * maxSummaryTokens + THINKING, request)));
}

/** A summary that the model has finished. One that is too long is asked for once more, shorter. */
async function wholeSummary(
  range: SummaryRange,
  ask: (maxCharacters?: number) => Promise<ModelAnswer>,
): Promise<ModelAnswer> {
  const first = unfiltered(await ask());
  const text = contentText(first.content);
  if (first.finishReason !== "length" && !isTooLongFor(range, text)) return first;
  const share = (range.maxSummaryTokens ?? Number.POSITIVE_INFINITY) / countText(text, heuristic);
  const maxCharacters = Math.floor(SHORTER * text.length * Math.min(1, share));
  if (maxCharacters === 0) throw notWhole(TOO_LONG, first);
  const second = await ask(maxCharacters).catch((error: unknown) => {
    throw ModelError.isInstance(error) ? withUsage(error, addUsage(first.usage, error.partial?.usage ?? {})) : error;
  });
  const both = { ...second, usage: addUsage(first.usage, second.usage) };
  if (both.finishReason === "length") throw notWhole(TOO_LONG, both);
  return unfiltered(both);
}

/** The share of a summary that was too long for the next attempt. Models count their characters badly. */
const SHORTER = 0.7;

function unfiltered(answer: ModelAnswer): ModelAnswer {
  if (answer.finishReason === "content-filter") throw notWhole(FILTERED, answer);
  return answer;
}

const TOO_LONG = {
  code: "summary_too_long",
  message: "The summary reached the limit of output tokens before its end, a shorter one too.",
};
const FILTERED = { code: "model_refused", message: "The filter of the provider stopped the summary." };

function notWhole(failure: { readonly code: string; readonly message: string }, { usage }: ModelAnswer): ModelError {
  return new ModelError({ ...failure, partial: { content: "", usage } });
}

/** A summarizer usually calls a model, so it has the time limit of an answer without streaming. */
async function writtenBy(
  summarizer: Summarizer,
  { range, focus }: Pick<SummaryCall, "focus"> & { readonly range: SummaryRange },
  { definition, ports }: Scene,
  signal: AbortSignal,
): Promise<SummaryAnswer> {
  const limit = { ports, timeoutMs: WHOLE_ANSWER_TIMEOUTS * definition.streamIdleTimeoutMs, signal };
  const over = new AbortController();
  const hook = { name: "The summarizer", code: "summary_timeout", option: "streamIdleTimeoutMs" };
  const either = AbortSignal.any([signal, over.signal]);
  try {
    return checkedAnswer(await hookAnswer(limit, hook, () => summarizer.summarize(range, { signal: either, focus })));
  } catch (error) {
    over.abort(error);
    throw error;
  }
}

/** Checks the text of a summarizer, which may be untyped code. */
function checkedAnswer(answer: unknown): SummaryAnswer {
  const given = isPlainObject(answer) ? answer : { content: answer };
  const { content, details } = given;
  if (typeof content === "string") return { content, details: details as JsonValue | undefined }; // checked by its copy
  throw new RequestError({ code: "summary_not_accepted", message: "The summarizer gave no text." });
}

const NO_MODEL =
  "No model can write the summary: the agent's `model` is a function. Name one in the policy: summarizationModel.";

/** The model that the policy names, else the one of the request, else the agent's. */
async function modelFor(
  scene: Scene,
  name: string | undefined,
  requestId: string | undefined,
  signal: AbortSignal,
): Promise<ProviderModel | undefined> {
  const { definition, ports } = scene;
  if (name === undefined) {
    const [known] = scene.transient(requestId).models;
    const own = known === undefined ? staticModels(definition.model).slice(0, 1) : [known];
    const limit = { ports, timeoutMs: definition.hookTimeoutMs, signal };
    return (await findModels({ options: scene, hookLimit: limit }, own))[0];
  }
  const found = definition.models?.[name];
  if (found !== undefined) return found;
  const message = `The policy names ${name} as summarizationModel, and the agent has no such model. Give it: models: { "${name}": model }.`;
  throw new RequestError({ code: "unknown_model", message });
}

function notAccepted(reason: "empty" | "too_long" | "not_smaller"): RequestError {
  if (reason === "too_long") {
    const message = "The summary is too long: it would leave too little space for the conversation.";
    return new RequestError({ code: "summary_too_long", message });
  }
  const message =
    reason === "empty" ? "The summary says nothing." : "The summary is no smaller than what it would replace.";
  return new RequestError({ code: "summary_not_accepted", message });
}
