import type { AnyAgent, DownloadFunction, DownloadLimits } from "../../agent/definition/config.ts";
import {
  type ModelReader,
  type ModelStream,
  modelIdentity,
  type ProviderModel,
} from "../../agent/definition/language-model.ts";
import { addUsage, type ModelAnswer, type ModelFinishReason, type Usage } from "../../agent/model-call.ts";
import type { Failure } from "../../agent/signal.ts";
import type { CacheOption } from "../../providers/cache.ts";
import type { Message, ToolSpec } from "../../thread/message.ts";
import type { RuntimePorts } from "../ports.ts";
import { pause, signalOf } from "../timers.ts";
import { AnswerBuilder, finishAnswer, type ModelDelta } from "./answer.ts";
import { classifyModelError, isRefusalOfFile, ModelError } from "./failure.ts";
import { type FetchedFiles, type ReadBlob, withFetchedFiles } from "./files.ts";
import {
  filesLeftOut,
  isOn,
  isUnsupported,
  planThinking,
  promptFor,
  type ThinkingPlan,
  withKnownFiles,
  withNotes,
  withoutRefused,
} from "./prompt.ts";
import { estimateBytes, fieldsIn, plainText, rawPart, warningText } from "./provider-values.ts";
import { callSettings, isStored, type ModelSettings, type ModelSpec, specOf } from "./specification.ts";

/** Far above the longest answer of any model. A larger one would never end. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** The time limit of an answer without streaming, as a multiple of `streamIdleTimeoutMs`. By default 10 minutes, as in the SDKs of providers. */
export const WHOLE_ANSWER_TIMEOUTS = 5;

/** More than any package sends for one call. */
const MAX_WARNINGS = 100;

export interface ModelCall {
  readonly model: ProviderModel;
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolSpec[];
  readonly settings?: ModelSettings;
  /** Prompt cache breakpoints. Only Claude uses them. */
  readonly cache?: CacheOption;
  /** Whether messages before some thinking have changed since it was made (`meta.view.thinkingStale`). Default false. */
  readonly staleThinking?: boolean;
  /** How to download files whose URLs the model cannot read itself. Default: with the default `DownloadLimits`. */
  readonly download?: DownloadFunction | DownloadLimits | undefined;
  /** How long a download function may take. Default 30,000. */
  readonly downloadTimeoutMs?: number;
  /** Files that an earlier call of the request has fetched. Asked for when there are files. Default: none. */
  readonly fetched?: (() => FetchedFiles) | undefined;
  /** Reads files that are blobs. Default: such a file cannot be sent. */
  readonly readBlob?: ReadBlob | undefined;
  /** Whether the answer comes in parts. Default true. */
  readonly streaming?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** The longest wait for the next part of a stream, also for the first. An answer without streaming has five times as long. Default: no limit. */
  readonly idleTimeoutMs?: number;
  readonly maxAnswerBytes?: number;
  /** Called for every piece of a stream, in order. An error that it throws ends the call and is rethrown. */
  readonly onDelta?: (delta: ModelDelta) => void;
  /** The usage of an answer that ended before the provider reported it, from what came in. Default: unknown. */
  readonly estimateUsage?: (received: string) => Usage;
  /** Called as the call begins, with a function that answers its usage so far. */
  readonly onStart?: (soFar: () => Usage) => void;
  /** Called before the answer, for each setting or file that cannot be used as given. An error that it throws ends the call. */
  readonly onWarning?: (warning: string) => void;
  readonly ports: RuntimePorts;
}

/**
 * Calls a model once. A failure is a ModelError with the content so far. An answer is plain JSON. The arguments are not
 * changed, and the package gets copies of them.
 */
export async function callModel(call: ModelCall): Promise<ModelAnswer> {
  const wait = new ModelWait(call.signal, call.ports);
  const run: Run = { call, wait, bytes: 0, received: "", builder: undefined, hasFailedReading: false, end: {} };
  call.onStart?.(() => usageSoFar(run));
  try {
    const spec = specOf(call.model);
    const { provider, modelId } = modelIdentity(call.model);
    const builder = new AnswerBuilder(spec, { provider, model: modelId });
    run.builder = builder;
    const { messages, settings, warnings } = planCall(call, spec);
    for (const warning of warnings) warnOf(call, warning);
    const { download, downloadTimeoutMs: timeoutMs = 30_000, fetched = () => new Map(), readBlob, ports } = call;
    const options = { download, fetched, readBlob, signal: wait.signal, limit: { ports, timeoutMs } };
    const files = await wait.until(() => withFetchedFiles(call.model, messages, options));
    for (const warning of files.warnings) warnOf(call, warning);
    await callWithFiles(run, spec, builder, files.messages, settings);
    const { finishReason = "interrupted" } = run.end;
    const isWhole = finishReason !== "interrupted" && finishReason !== "error";
    return finishAnswer(builder, isWhole ? run.end : { ...run.end, usage: usageSoFar(run) });
  } catch (error) {
    wait.abandon();
    if (error instanceof CallbackError) throw error.cause;
    throw modelErrorOf(error, run);
  } finally {
    wait.release();
  }
}

function planCall({ model, messages, settings = {}, staleThinking = false }: ModelCall, spec: ModelSpec): ThinkingPlan {
  const plan = planThinking({ model, messages, settings, isStale: staleThinking });
  if (spec.takesReasoning || !isOn(settings.reasoning)) return plan;
  const warning =
    `reasoning: "${settings.reasoning}" is not sent: the package of ${model.provider} implements the specification ` +
    `${model.specificationVersion}, which lacks it. Update the package, or set the option of the provider in providerOptions.`;
  return { ...plan, warnings: [warning, ...plan.warnings] };
}

interface Run {
  readonly call: ModelCall;
  readonly wait: ModelWait;
  bytes: number;
  /** The text of all pieces of the stream. */
  received: string;
  builder: AnswerBuilder | undefined;
  /** The stream had begun, and reading from it failed. */
  hasFailedReading: boolean;
  /** Facts about the whole answer. */
  end: { usage?: Usage; finishReason?: ModelFinishReason; response?: NonNullable<ModelAnswer["response"]> };
}

/** Calls the model. If the package or the provider refuses a file, the call is repeated with notes in place of files. */
async function callWithFiles(
  run: Run,
  spec: ModelSpec,
  builder: AnswerBuilder,
  messages: readonly Message[],
  settings: ModelSettings,
): Promise<void> {
  const { call, wait } = run;
  const { model, cache, streaming } = call;
  const shared = { ...callSettings(model, spec, settings, call.tools), abortSignal: wait.signal };
  const known = withKnownFiles(model, messages, settings);
  if (known !== messages) warnOfFiles(call, messages, known);
  let others: readonly (readonly Message[])[] | undefined;
  for (let list = known; ; ) {
    const prompt = promptFor(model, spec, list, {
      ...(cache !== undefined && { cache }),
      stored: isStored(model, settings),
    });
    try {
      if (streaming === false) await generate(run, spec, builder, { ...shared, prompt });
      else await stream(run, spec, builder, { ...shared, prompt });
      return;
    } catch (error) {
      const isRefused = isRefusalOfFile(error);
      if (!isRefused && !isUnsupported(error)) throw error;
      others ??= isRefused ? withoutRefused(known) : withNotes(known);
      const [next, ...later] = others;
      if (next === undefined) throw error;
      warnOfFiles(call, list, next, isRefused);
      others = later;
      list = next;
    }
  }
}

function warnOfFiles(call: ModelCall, before: readonly Message[], after: readonly Message[], isRefused = false): void {
  const types = filesLeftOut(before, after).join(", ");
  if (types === "") return;
  const { provider } = call.model;
  const trouble = isRefused
    ? `${provider} refused the request for a file`
    : `the package of ${provider} cannot take these files`;
  warnOf(call, `${trouble} (${types}). The model gets their text or a note in their place.`);
}

type Options = Parameters<ProviderModel["doStream"]>[0];

/** Wraps an error that a callback of the caller threw. The error is its `cause`. */
class CallbackError extends Error {}

async function generate(run: Run, spec: ModelSpec, builder: AnswerBuilder, options: Options): Promise<void> {
  const { call, wait } = run;
  const { idleTimeoutMs } = call;
  const timeoutMs = idleTimeoutMs === undefined ? undefined : WHOLE_ANSWER_TIMEOUTS * idleTimeoutMs;
  const result = fieldsIn(await wait.until(() => call.model.doGenerate(options), timeoutMs, answerTimeout));
  const content = result["content"];
  for (const value of Array.isArray(content) ? content : []) {
    const part = rawPart(value);
    if (part === undefined) continue;
    count(run, part);
    emitDelta(run, builder.takeWhole(part));
  }
  warn(call, result["warnings"]);
  addStructured(builder, result["structuredOutputText"]);
  run.end = {
    usage: spec.usage(result["usage"]),
    finishReason: spec.finishReason(result["finishReason"]),
    ...responseIn(result["response"]),
  };
}

async function stream(run: Run, spec: ModelSpec, builder: AnswerBuilder, options: Options): Promise<void> {
  const { call, wait } = run;
  let opening: Promise<ModelStream> | undefined;
  const begin = (): Promise<ModelStream> => {
    opening = Promise.resolve().then(() => call.model.doStream(options));
    return opening;
  };
  let reader: ModelReader | undefined;
  try {
    reader = (await wait.until(begin, call.idleTimeoutMs)).stream.getReader();
    await read(run, spec, builder, reader);
  } finally {
    // Closes the stream, also one that opens after the wait for it has ended.
    cancel(reader ?? opening?.then(({ stream }) => stream.getReader()));
  }
}

/** Reads up to the `finish` part, and does not wait for the stream to close after it. */
async function read(run: Run, spec: ModelSpec, builder: AnswerBuilder, reader: ModelReader): Promise<void> {
  const { call, wait } = run;
  for (;;) {
    const { done, value } = await wait
      .until(() => reader.read(), call.idleTimeoutMs)
      .catch((error: unknown) => {
        run.hasFailedReading = true;
        throw error;
      });
    if (done) return;
    const part = rawPart(value);
    if (part === undefined) continue;
    count(run, part);
    switch (part.type) {
      case "finish":
        run.end.usage = spec.usage(part["usage"]);
        run.end.finishReason = spec.finishReason(part["finishReason"]);
        return;
      case "stream-start":
        warn(call, part["warnings"]);
        break;
      case "error":
        throw part["error"];
      case "response-metadata":
        run.end = { ...run.end, ...responseIn(part) };
        break;
      default:
        emitDelta(run, builder.take(part));
    }
  }
}

function answerTimeout(ms: number): ModelError {
  return new ModelError({
    code: "model_answer_timeout",
    message: `The model did not answer within ${ms} ms, which is ${WHOLE_ANSWER_TIMEOUTS} times streamIdleTimeoutMs. Raise it, or set streaming: true.`,
    retryable: true,
  });
}

/** OpenAI sends a structured answer in a field of its own. Without any other text, it is the text of the answer. */
function addStructured(builder: AnswerBuilder, text: unknown): void {
  if (plainText(text) !== "" && !builder.hasText) builder.takeWhole({ type: "text", text });
}

function warn(call: ModelCall, warnings: unknown): void {
  if (call.onWarning === undefined || !Array.isArray(warnings)) return;
  for (const warning of warnings.slice(0, MAX_WARNINGS))
    warnOf(call, `warning of the model package: ${warningText(warning)}`);
}

function warnOf({ onWarning }: ModelCall, warning: string): void {
  try {
    onWarning?.(warning);
  } catch (cause) {
    throw new CallbackError("onWarning threw", { cause });
  }
}

function emitDelta(run: Run, delta: ModelDelta | undefined): void {
  if (delta === undefined) return;
  if (delta.type !== "part") run.received += delta.text; // its bytes are no tokens of the answer
  try {
    run.call.onDelta?.(delta);
  } catch (cause) {
    throw new CallbackError("onDelta threw", { cause });
  }
}

function count(run: Run, part: object): void {
  const limit = run.call.maxAnswerBytes ?? MAX_ANSWER_BYTES;
  run.bytes += estimateBytes(part, limit);
  if (run.bytes <= limit) return;
  throw new ModelError({
    code: "model_answer_too_large",
    message: `The answer is larger than ${limit} bytes. Set maxOutputTokens, or raise maxAnswerBytes.`,
  });
}

function responseIn(value: unknown): Pick<ModelAnswer, "response"> {
  const { id, modelId } = fieldsIn(value);
  const response = { ...text("id", id), ...text("modelId", modelId) };
  return Object.keys(response).length === 0 ? {} : { response };
}

function text(field: string, value: unknown): { readonly [field: string]: string } {
  return plainText(value) === "" ? {} : { [field]: plainText(value) };
}

function cancel(reader: ModelReader | PromiseLike<ModelReader> | undefined): void {
  const cancelled = async (): Promise<void> => await (await reader)?.cancel();
  cancelled().catch(() => undefined); // the call is over, and the stream may be closed already
}

/** The counts that the provider reported. Those that it did not report are estimated, once the answer has begun. */
function usageSoFar({ call: { estimateUsage }, end: { usage = {} }, received }: Run): Usage {
  const { inputTokens, outputTokens } = usage;
  if (estimateUsage === undefined || received === "") return usage;
  if (inputTokens !== undefined && outputTokens !== undefined) return usage;
  return { ...estimateUsage(received), ...usage, estimated: true };
}

function modelErrorOf(cause: unknown, run: Run): ModelError {
  const { call, builder, hasFailedReading } = run;
  const content = builder?.partial() ?? "";
  const usage = usageSoFar(run);
  const partial = content === "" && Object.keys(usage).length === 0 ? undefined : { content, usage };
  const own = ModelError.isInstance(cause);
  const failure = own ? cause.failure : classifyModelError(cause, call.ports.clock, hasFailedReading);
  return new ModelError({ ...failure, partial, cause: own ? cause.cause : cause });
}

/**
 * Waits for a model. An abort or a timeout ends the wait at once, also when the package ignores its signal. A later
 * rejection of the package is not an unhandled rejection.
 */
class ModelWait {
  readonly #outer: AbortSignal | undefined;
  readonly #ports: RuntimePorts;
  readonly #inner = new AbortController();
  #stopped: ModelError | undefined;
  #interrupt: ((error: ModelError) => void) | undefined;

  constructor(outer: AbortSignal | undefined, ports: RuntimePorts) {
    this.#outer = outer;
    this.#ports = ports;
    if (outer?.aborted) this.#onAbort();
    else outer?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** The signal for the package. It is aborted when the wait is stopped. */
  get signal(): AbortSignal {
    return this.#inner.signal;
  }

  /** Waits for the result of `begin`. `timeout` makes the error for a wait longer than `timeoutMs`. */
  until<T>(
    begin: () => PromiseLike<T>,
    timeoutMs?: number,
    timeout: (ms: number) => ModelError = idleTimeout,
  ): Promise<T> {
    if (this.#stopped !== undefined) return Promise.reject(this.#stopped);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const stopLate = (ms: number) => this.#ports.after(ms, () => this.#stop(timeout(ms)));
    const cancelTimer = timeoutMs === undefined ? undefined : stopLate(timeoutMs);
    this.#interrupt = reject;
    const end = (): void => {
      cancelTimer?.();
      this.#interrupt = undefined;
    };
    promise.then(end, end);
    runAsync(begin).then(resolve, reject);
    return promise;
  }

  /** Removes the listener of the outer signal. */
  release(): void {
    this.#outer?.removeEventListener("abort", this.#onAbort);
  }

  /** Aborts the signal of the package after a failure. */
  abandon(): void {
    if (!this.#inner.signal.aborted) this.#inner.abort();
  }

  readonly #onAbort = (): void => this.#stop(abortError());

  #stop(error: ModelError): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = error;
    try {
      this.#inner.abort(this.#outer?.aborted ? this.#outer.reason : error);
    } finally {
      this.#interrupt?.(error);
    }
  }
}

/** Some packages throw instead of rejecting, or return no promise. */
async function runAsync<T>(begin: () => PromiseLike<T>): Promise<T> {
  return await begin();
}

function abortError(): ModelError {
  return new ModelError({ code: "model_aborted", message: "The model call was aborted by its signal." });
}

function idleTimeout(ms: number): ModelError {
  return new ModelError({
    code: "model_stream_idle",
    message: `The model sent nothing for ${ms} ms. Try again, or raise streamIdleTimeoutMs if the model thinks for longer.`,
    retryable: true,
  });
}

/** The longest wait, unless the first one is longer. */
const MAX_WAIT_MS = 30_000;
/** If the provider asks for a longer wait, the call fails instead. */
const MAX_RETRY_AFTER_MS = 10 * 60_000;

/** The waits between attempts. */
type RetryWaits = Pick<AnyAgent, "modelRetryBackoffMs" | "modelRetryBackoffFactor">;

export interface RetryPolicy extends RetryWaits {
  /** How many retries follow the first attempt. */
  readonly modelMaxRetries: number;
  /** Makes an attempt. Default: calls the model. */
  readonly attempt?: (call: ModelCall) => Promise<ModelAnswer>;
  /** When aborted, the next attempt does not wait. */
  readonly stopping?: AbortSignal;
}

/**
 * Calls a model, and retries retryable failures and answers that were cut off. For calls whose attempts are not in the log, such as
 * summaries. The usage is that of all attempts.
 */
export async function withRetries(
  call: ModelCall,
  { modelMaxRetries, attempt: make = callModel, stopping, ...waits }: RetryPolicy,
): Promise<ModelAnswer> {
  let usage: Usage = {};
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await make(call);
      if (answer.finishReason === "interrupted" || answer.finishReason === "error") throw cutOff(answer);
      return { ...answer, usage: addUsage(usage, answer.usage) };
    } catch (error) {
      if (!ModelError.isInstance(error)) throw error;
      usage = addUsage(usage, error.partial?.usage ?? {});
      const waitMs = retryDelay(attempt, error, call.ports.random(), waits);
      if (attempt > modelMaxRetries || !error.retryable || waitMs === undefined) throw withUsage(error, usage);
      await pause(call.ports, waitMs, signalOf(call.signal, stopping));
      if (call.signal?.aborted) throw withUsage(abortError(), usage);
    }
  }
}

function cutOff({ content, usage }: ModelAnswer): ModelError {
  return new ModelError({
    code: "model_stream_interrupted",
    message: "The model's stream ended before its answer did. Ask again.",
    retryable: true,
    partial: { content, usage },
  });
}

export function withUsage(error: ModelError, usage: Usage): ModelError {
  if (Object.keys(usage).length === 0) return error;
  const { failure, cause, partial: { content } = { content: "" } } = error;
  return new ModelError({ ...failure, cause, partial: { content, usage } });
}

/**
 * The wait after so many failed attempts: as long as the provider asks for, else longer each time. Up to half of it is random, so that callers that failed together do not retry together. Undefined if the provider asks for too long a wait.
 */
export function retryDelay(
  failed: number,
  { retryAfterMs }: Pick<Failure, "retryAfterMs">,
  chance: number,
  { modelRetryBackoffMs: first, modelRetryBackoffFactor: factor }: RetryWaits,
): number | undefined {
  if (retryAfterMs !== undefined) return retryAfterMs > MAX_RETRY_AFTER_MS ? undefined : retryAfterMs;
  const most = Math.min(first * factor ** (failed - 1), Math.max(first, MAX_WAIT_MS));
  return Math.round((most * (1 + chance)) / 2);
}
