import type { RequestScope } from "../../agent/definition/config.ts";
import type { LlmStream } from "../../agent/directive.ts";
import type { ModelAnswer } from "../../agent/model-call.ts";
import type { Failure, OutputCheck, SentMessages, Signal } from "../../agent/signal.ts";
import { fingerprintOf } from "../../projection/engine/fingerprint.ts";
import { copyJsonRepaired, type JsonValue, sameJson } from "../../thread/json.ts";
import type { Message, ToolSpec } from "../../thread/message.ts";
import { hookAnswer } from "../hook.ts";
import { callModel } from "../model/call.ts";
import { ModelError } from "../model/error.ts";
import type { FetchedFiles } from "../model/fetched-files.ts";
import { retryDelay } from "../model/retries.ts";
import type { ModelSettings } from "../model/settings.ts";
import { checkOutput } from "../output/check-output.ts";
import type { LiveRequest } from "../request/request.ts";
import { failureOf, RequestError } from "../request/request-error.ts";
import { patiently } from "../session/patiently.ts";
import { pause } from "../tools/settle.ts";
import { checkOptions } from "./lost-options.ts";
import { hookLimitOf, mayStart, type Scene, sceneOf } from "./scene.ts";

/** Makes a model call; its answer, or why there is none, is the next signal. */
export function llmStream(scene: Scene, directive: LlmStream): void {
  const request = scene.request(directive.requestId);
  if (request === undefined) return;
  scene.track(call(sceneOf(scene, request), directive, request));
}

async function call(scene: Scene, directive: LlmStream, request: LiveRequest): Promise<void> {
  const { callId } = directive;
  scene.objects.delete(directive.requestId); // of an answer that was not the last
  const span = scene.telemetry.model(directive, scene);
  const kept = scene.kept.blobs(directive.blobs);
  kept.catch(() => undefined); // looked at before the call is recorded
  let sent: SentMessages | undefined;
  let signal: Extract<Signal, { type: "llm_result" | "llm_error" }>;
  try {
    checkOptions(scene, request.id);
    if (directive.afterMs !== undefined) await pause(directive.afterMs, request.abort.signal, scene.ports);
    await mayStart(scene, request); // where it may not, the request was interrupted, and the call ends as aborted
    const transformed = await transform(scene, directive, request);
    sent = transformed.sent;
    span.sending(transformed);
    const answer = await span.within(() => ask(scene, directive, request, transformed));
    span.answered(answer);
    const output = await outputOf(scene, request, answer);
    if (output?.ok) scene.objects.set(directive.requestId, output.object);
    const { finishReason } = answer;
    const isCut = finishReason === "interrupted" || finishReason === "error";
    signal = { type: "llm_result", callId, answer, ...(output && { output }), ...(isCut && retryIn(scene, {})) };
  } catch (error) {
    const isOfModel = ModelError.isInstance(error);
    const failure = isOfModel
      ? error.failure
      : failureOf(error, { code: "request_transform_failed", message: "transformRequest threw an error." });
    const { code } = failure;
    request.thrown = { error, code };
    // An abort is nobody's error.
    if (!request.abort.signal.aborted) scene.onError(error, { code, threadId: scene.threadId, requestId: request.id });
    const partial = isOfModel ? error.partial : undefined;
    span.failed(failure, partial?.usage);
    const retry = isOfModel && failure.retryable ? retryIn(scene, failure) : {};
    signal = { type: "llm_error", callId, failure, ...(partial && { partial }), ...retry };
  }
  await kept; // what cannot be kept is a failure of the store: a record must not name what is not there
  scene.send({ ...signal, ...(sent && { sent }), eventSeq: request.eventSeq, ...scene.worked() });
}

/** How long to wait before the call is made again; whether it is, the core decides. */
function retryIn({ agent, ports }: Scene, failure: Pick<Failure, "retryAfterMs">): { readonly retryMs?: number } {
  const failed = agent().state.run?.failedAttempts ?? 0;
  const retryMs = retryDelay(failed + 1, failure, ports.random());
  return retryMs === undefined ? {} : { retryMs };
}

interface Sent {
  readonly messages: readonly Message[];
  readonly toolSpec: readonly ToolSpec[];
  readonly settings: ModelSettings;
  readonly sent?: SentMessages;
}

async function transform(
  scene: Scene,
  { messages, toolSpec, settings, requestId }: LlmStream,
  request: LiveRequest,
): Promise<Sent> {
  const { transformRequest } = scene.definition;
  const plain = { messages, toolSpec, settings: settings as ModelSettings }; // made of the definition's fields
  if (transformRequest === undefined) return plain;
  const of: RequestScope<never> = scene.scope(requestId);
  const given = { messages, tools: toolSpec, settings };
  const hook = { name: "transformRequest", code: "request_transform_failed" };
  const changed = await hookAnswer(hookLimitOf(scene, request), hook, () => transformRequest(given, of));
  const wanted = copyJsonRepaired({ ...given, ...changed }, "transformRequest") as unknown as {
    readonly messages: readonly Message[];
    readonly tools: readonly ToolSpec[];
    readonly settings: ModelSettings;
  }; // JSON is checked here, its meaning by the formatters
  const { messages: list, tools, settings: set } = wanted;
  // Only what differs is stored: the rest is made again from the log.
  const changes = {
    ...(!sameText(list, messages) && { messages: list }),
    ...(!sameText(tools, toolSpec) && { tools }),
    ...(!sameJson(settings, set as JsonValue) && { settings: set }),
  };
  if (Object.keys(changes).length === 0) return plain;
  const blob = await scene.kept.blob(changes as unknown as JsonValue);
  return { messages: list, toolSpec: tools, settings: set, sent: { blob, fingerprint: fingerprintOf(tools, list) } };
}

/** A fingerprint is over the text, in which the order of keys counts. */
function sameText(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

async function ask(scene: Scene, directive: LlmStream, request: LiveRequest, sent: Sent): Promise<ModelAnswer> {
  const { definition, ports, threadId } = scene;
  const { callId, iteration, basis } = directive;
  return callModel({
    model: definition.model,
    messages: sent.messages,
    tools: sent.toolSpec,
    settings: sent.settings,
    cache: true,
    download: definition.download,
    downloadTimeoutMs: definition.hookTimeoutMs,
    fetched: filesOf(request),
    readBlob: (hash) => patiently(ports, () => scene.store.getBlob(hash)),
    staleThinking: basis.view.thinkingStale !== undefined,
    streaming: definition.streaming,
    signal: request.abort.signal,
    idleTimeoutMs: definition.streamIdleTimeoutMs,
    onDelta: ({ type, id, text, ...call }) => {
      request.emit({ kind: "llm_delta", callId, ...call, data: { type, id, text } }, iteration);
    },
    onWarning: (warning) => scene.warn(`Thread ${threadId}: ${warning}`),
    ports,
  });
}

/** The files that were fetched for a request, as long as it lives. */
const FILES = new WeakMap<LiveRequest, FetchedFiles>();

function filesOf(request: LiveRequest): FetchedFiles {
  const known: FetchedFiles = FILES.get(request) ?? new Map();
  FILES.set(request, known);
  return known;
}

async function outputOf(
  scene: Scene,
  request: LiveRequest,
  { content, toolCalls }: ModelAnswer,
): Promise<OutputCheck | undefined> {
  const { output } = scene.definition;
  if (output === undefined || toolCalls.length > 0) return undefined;
  const hook = { name: "The schema of `output`", code: "output_invalid" };
  try {
    return await hookAnswer(hookLimitOf(scene, request), hook, () => checkOutput(content, output));
  } catch (error) {
    // The answer is kept, whatever the check does: it was paid for.
    return { ok: false, issues: [RequestError.isInstance(error) ? error.message : "it was not checked"] };
  }
}
