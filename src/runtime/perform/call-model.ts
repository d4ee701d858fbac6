import { type ProviderModel, qualifiedModelName } from "../../agent/definition/language-model.ts";
import type { RequestScope } from "../../agent/definition/prepare.ts";
import type { LlmStream } from "../../agent/directive.ts";
import type { CallBasis, CallRecord, ModelAnswer, Usage } from "../../agent/model-call.ts";
import { currentModel, outputAsked } from "../../agent/react/call-context.ts";
import type { Failure, OutputCheck, SentMessages, Signal } from "../../agent/signal.ts";
import { fingerprintOf } from "../../projection/engine/fingerprint.ts";
import { copyJsonRepaired, type JsonValue, sameJson } from "../../thread/json.ts";
import type { Message, ToolSpec } from "../../thread/message.ts";
import { countText, factsOf, heuristic } from "../../tokens/counter.ts";
import { retryDelay, callModel as streamModel } from "../model/call.ts";
import { ModelError } from "../model/failure.ts";
import type { FetchedFiles } from "../model/files.ts";
import type { ModelSettings } from "../model/specification.ts";
import type { LiveRequest } from "../request/request.ts";
import { failureOf, RequestError } from "../request/request-error.ts";
import { retryStore } from "../session/store-retry.ts";
import { checkOutput } from "../structured-output.ts";
import type { ModelSpan } from "../telemetry/telemetry.ts";
import { hookAnswer } from "../time-limits.ts";
import { costOf, spentWith } from "./check-exchange.ts";
import { prepareStep, repairCalls } from "./prepare-step.ts";
import { hookLimitOf, inPlace, makeMissing, mayStart, NOT_CALLED, type Scene } from "./scene.ts";

/** The result of a call: the next signal, and values that only the loop has. */
interface CallResult {
  readonly signal: Extract<Signal, { type: "llm_result" | "llm_error" }>;
  readonly object?: JsonValue;
  readonly thrown?: { readonly error: unknown; readonly code: string };
}

/** Makes a model call. Its answer or its failure is the next signal. Undefined: it was not made, because the host stops. */
export async function callModel(
  scene: Scene,
  directive: LlmStream,
  request: LiveRequest,
): Promise<CallResult | undefined> {
  const { callId } = directive;
  let span: ModelSpan | undefined;
  KEPT.set(request, { files: filesOf(request) }); // the usage of the call before is in the log
  const kept = scene.blobs.putAll(directive);
  kept.catch(() => undefined); // awaited before the call is recorded
  let sent: SentMessages | undefined;
  const called = async (): Promise<CallResult | undefined> => {
    try {
      const { lost, isNewContext } = await makeMissing(scene, request.id);
      if (lost !== undefined) throw new RequestError({ ...lost, requestId: request.id });
      if (isNewContext && !directive.isRenewed)
        return { signal: { type: "llm_error", callId, failure: STALE, isStale: true } };
      if (directive.afterMs !== undefined) scene.doubtHeld(); // it has waited
      const started = scene.telemetry.model(directive, scene);
      span = started;
      await mayStart(scene, request); // if this is false, the request was interrupted, and the call ends as aborted
      const transformed = await transform(scene, directive, request);
      sent = transformed.sent;
      const { model } = sent ?? {};
      const given = await inPlace(scene, request.abort.signal, model ?? directive.basis.model, async () => {
        await mayStart(scene, request); // the wait for a place may have been long
        started.sending(transformed);
        scene.began();
        return started.within(() => ask(scene, directive, request, transformed, started));
      });
      started.answered(given, await costBy(scene, given.usage, request, model));
      const { repaired, ...answer } = await repairCalls(scene, request, transformed, given);
      const output = await outputOf(scene, request, answer);
      const { finishReason } = answer;
      const isCut = finishReason === "interrupted" || finishReason === "error";
      const retry = isCut ? retryIn(scene, {}) : {};
      const spent = isCut || answer.toolCalls.length === 0 ? await spentBy(scene, answer.usage, request, model) : {};
      const signal = {
        type: "llm_result",
        callId,
        answer,
        ...(output && { output }),
        ...(repaired && { repaired }),
        ...retry,
        ...spent,
      } as const;
      return { signal, ...(output?.ok && { object: output.object }) };
    } catch (error) {
      const isOfModel = ModelError.isInstance(error);
      const failure = isOfModel
        ? error.failure
        : failureOf(error, { code: "request_transform_failed", message: "transformRequest threw an error." });
      const { code } = failure;
      // An abort is not an error.
      if (!request.abort.signal.aborted && error !== NOT_CALLED)
        scene.onError(error, { code, threadId: scene.threadId, requestId: request.id });
      const partial = isOfModel ? error.partial : undefined;
      const { usage = {} } = partial ?? {};
      span?.failed(failure, usage, await costBy(scene, usage, request, sent?.model));
      if (error === NOT_CALLED) return undefined;
      const isRetried = isOfModel && failure.retryable;
      const retry = isRetried
        ? { ...retryIn(scene, failure), ...(await spentBy(scene, partial?.usage ?? {}, request, sent?.model)) }
        : {};
      const signal = { type: "llm_error", callId, failure, ...(partial && { partial }), ...retry } as const;
      return { signal, thrown: { error, code } };
    }
  };
  const result = await called();
  const last = usedSoFar(request); // without the answer, because the handle of a request may be kept for long
  KEPT.set(request, { files: filesOf(request), ...(last && { used: () => last }) });
  if (result === undefined) return undefined;
  const { signal, ...notes } = result;
  await kept; // the record must not name a blob that is not stored, so this failure is one of the store
  const facts = { ...(sent && { sent }), eventSeq: request.eventSeq, ...scene.worked() };
  return { signal: { ...signal, ...facts }, ...notes };
}

/** The cost of the call, for its span. */
function costBy(
  scene: Scene,
  usage: Usage,
  { abort: { signal } }: LiveRequest,
  model = currentModel(scene.agent()),
): Promise<number | undefined> {
  return costOf(scene, { model, usage }, signal);
}

function spentBy(
  scene: Scene,
  usage: Usage,
  { abort: { signal } }: LiveRequest,
  model = currentModel(scene.agent()),
): ReturnType<typeof spentWith> {
  return spentWith(scene, { model, usage }, signal);
}

/** The delay before a retry. The agent decides whether there is one. */
function retryIn(
  { agent, ports, definition }: Scene,
  failure: Pick<Failure, "retryAfterMs">,
): { readonly retryMs?: number } {
  const failed = agent().state.run?.failedAttempts ?? 0;
  const retryMs = retryDelay(failed + 1, failure, ports.random(), definition);
  return retryMs === undefined ? {} : { retryMs };
}

interface Sent {
  /** The model that `prepareStep` has chosen. Default: that of the request. */
  readonly model?: ProviderModel | undefined;
  readonly messages: readonly Message[];
  readonly toolSpec: readonly ToolSpec[];
  readonly settings: ModelSettings;
  readonly sent?: SentMessages;
}

async function transform(scene: Scene, directive: LlmStream, request: LiveRequest): Promise<Sent> {
  const { messages, toolSpec, settings, requestId } = directive;
  const { transformRequest } = scene.definition;
  const plain = { messages, toolSpec, settings: settings as ModelSettings }; // made of the definition's fields
  const prepared = await prepareStep(scene, directive, request);
  if (transformRequest === undefined && prepared === undefined) return plain;
  const { model, ...own } = prepared ?? {};
  const of: RequestScope<never> = scene.scope(requestId);
  const given = { messages, tools: toolSpec, settings, ...own };
  const hook = { name: "transformRequest", code: "request_transform_failed" };
  const changed = await hookAnswer(hookLimitOf(scene, request), hook, () => transformRequest?.(given, of));
  const wanted = copyJsonRepaired({ ...given, ...changed }, "transformRequest") as unknown as {
    readonly messages: readonly Message[];
    readonly tools: readonly ToolSpec[];
    readonly settings: ModelSettings;
  }; // JSON is checked here, its meaning by the formatters
  const { messages: list, tools, settings: set } = wanted;
  // Only the differences are stored. The rest is rebuilt from the log, with the model of the record. For another model all is stored.
  const changes = {
    ...((model || !sameText(list, messages)) && { messages: list }),
    ...((model || !sameText(tools, toolSpec)) && { tools }),
    ...((model || !sameJson(settings, set as JsonValue)) && { settings: set }),
  };
  if (Object.keys(changes).length === 0) return plain;
  const blob = await scene.blobs.put(changes as unknown as JsonValue);
  const sent = { blob, fingerprint: fingerprintOf(tools, list), ...(model && { model: qualifiedModelName(model) }) };
  return { model, messages: list, toolSpec: tools, settings: set, sent };
}

/** A fingerprint is computed from the JSON text, so the order of keys counts. */
function sameText(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

async function ask(
  scene: Scene,
  directive: LlmStream,
  request: LiveRequest,
  sent: Sent,
  span: ModelSpan,
): Promise<ModelAnswer> {
  const { definition, ports, threadId } = scene;
  const { callId, iteration, basis, modelIndex = 0 } = directive;
  const { models, headers } = scene.transient(request.id);
  const model = sent.model ?? models[modelIndex];
  if (model === undefined) throw unresolved(basis.model);
  return streamModel({
    model,
    messages: sent.messages,
    tools: sent.toolSpec,
    settings: { ...sent.settings, ...(headers && { headers: { ...headers, ...sent.settings.headers } }) },
    cache: true,
    download: definition.download,
    downloadTimeoutMs: definition.hookTimeoutMs,
    fetched: () => filesOf(request),
    readBlob: (hash) => retryStore(ports, () => scene.store.getBlob(hash)),
    staleThinking: basis.view.thinkingStale !== undefined,
    streaming: definition.streaming,
    signal: request.abort.signal,
    idleTimeoutMs: definition.streamIdleTimeoutMs,
    onDelta: ({ type, id, text, ...call }) => {
      if (definition.streaming) span.received?.();
      request.emit({ kind: "llm_delta", callId, ...call, data: { type, id, text } }, iteration);
    },
    estimateUsage: (received) => ({
      inputTokens: basis.estimatedTokens,
      outputTokens: countReceived(scene, basis, received),
    }),
    onStart: (soFar) => {
      const used = (): CallUsage => ({ model: qualifiedModelName(model), usage: soFar() });
      KEPT.set(request, { files: filesOf(request), used });
    },
    onWarning: (warning) => scene.warn(`Thread ${threadId}: ${warning}`),
    ports,
  });
}

/** Counts with the counter of the call. The heuristic one counts where it throws. */
function countReceived({ definition: { tokenCounter: counter } }: Scene, basis: CallBasis, text: string): number {
  const { calibration, model } = basis;
  try {
    if (counter && factsOf(counter).id === basis.counter.id) return countText(text, counter, model);
  } catch {
    // The failure of the call is the one to report.
  }
  return Math.ceil(countText(text, heuristic) * calibration);
}

/** The context of the call was made without values that the agent has now. */
const STALE: Failure = { code: "context_failed", message: "The context of the call was made without all values." };

function unresolved(name = "that the function `model` chooses"): RequestError {
  const message = `The model ${name} was not found when the request was resumed. Give the agent, server or host \`resolveModel\`, and ask again.`;
  return new RequestError({ code: "model_unresolved", message });
}

type CallUsage = Pick<CallRecord, "model" | "usage">;

/** Of a request, until it ends: the files that were fetched for it, and the usage so far of its newest model call. */
const KEPT = new WeakMap<LiveRequest, { readonly files: FetchedFiles; readonly used?: () => CallUsage }>();

function filesOf(request: LiveRequest): FetchedFiles {
  return KEPT.get(request)?.files ?? new Map();
}

/** The usage so far of the model call that a request makes now. Undefined before its first word. */
export function usedSoFar(request: LiveRequest | undefined): CallUsage | undefined {
  const used = request && KEPT.get(request)?.used?.();
  return used && Object.keys(used.usage).length > 0 ? used : undefined;
}

async function outputOf(
  scene: Scene,
  request: LiveRequest,
  { content, toolCalls }: ModelAnswer,
): Promise<OutputCheck | undefined> {
  const output = scene.transient(request.id).output ?? outputAsked(scene.agent().state.run) ?? scene.definition.output;
  if (output === undefined || toolCalls.length > 0) return undefined;
  const hook = { name: "The schema of `output`", code: "output_invalid" };
  try {
    return await hookAnswer(hookLimitOf(scene, request), hook, () => checkOutput(content, output));
  } catch (error) {
    // The answer is kept even if the check throws, because it was paid for.
    return { ok: false, issues: [RequestError.isInstance(error) ? error.message : "it was not checked"] };
  }
}
