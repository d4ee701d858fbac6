import type { DownloadFunction, DownloadLimits } from "../../agent/definition/config.ts";
import {
  type ModelReader,
  type ModelStream,
  modelIdentity,
  type ProviderModel,
} from "../../agent/definition/language-model.ts";
import type { ModelAnswer, ModelFinishReason, Usage } from "../../agent/model-call.ts";
import type { CacheOption } from "../../providers/cache.ts";
import type { Message, ToolSpec } from "../../thread/message.ts";
import type { RuntimePorts } from "../ports.ts";
import { Assembly, answerOf, type ModelDelta } from "./answer.ts";
import { classifyModelError, ModelError } from "./failure.ts";
import { type FetchedFiles, type ReadBlob, withFetchedFiles } from "./files.ts";
import { filesLeftOut, isOn, isUnsupported, planThinking, promptFor, type ThinkingPlan, withNotes } from "./prompt.ts";
import { fieldsIn, plainText, rawPart, warningText, weigh } from "./provider-values.ts";
import { callSettings, isStored, type ModelSettings } from "./settings.ts";
import { type ModelSpec, specOf } from "./spec.ts";

/** Far above the longest answer of any model: what is larger does not end by itself. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** A whole answer has to come in so many times the silence that a stream may keep: by default ten minutes, as in the SDKs of providers. */
export const SILENCES_OF_A_WHOLE_ANSWER = 5;

/** More than any package has to say of one call. */
const MAX_WARNINGS = 100;

export interface ModelCall {
  readonly model: ProviderModel;
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolSpec[];
  readonly settings?: ModelSettings;
  /** Cache breakpoints; only Claude reads them. */
  readonly cache?: CacheOption;
  /** Whether some thinking stands behind other messages than it was made behind (`meta.view.thinkingStale`). Default false. */
  readonly staleThinking?: boolean;
  /** How files are downloaded whose URLs the model does not take. Default: with the limits of `DownloadLimits`. */
  readonly download?: DownloadFunction | DownloadLimits | undefined;
  /** How long a download function may take. Default 30,000. */
  readonly downloadTimeoutMs?: number;
  /** The files that were fetched before in the same request. Default: none. */
  readonly fetched?: FetchedFiles | undefined;
  /** Reads files that are blobs. Default: such a file cannot be sent. */
  readonly readBlob?: ReadBlob | undefined;
  /** Whether the answer comes in parts. Default true. */
  readonly streaming?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** How long a stream may be silent, also before its first part; a whole answer may take five times as long. Default: for ever. */
  readonly idleTimeoutMs?: number;
  readonly maxAnswerBytes?: number;
  /** Called for every piece of a stream, in order. What it throws ends the call and is thrown on as it is. */
  readonly onDelta?: (delta: ModelDelta) => void;
  /** Called for each thing that is not done as asked, before the answer. What it throws ends the call. */
  readonly onWarning?: (warning: string) => void;
  readonly ports: RuntimePorts;
}

/**
 * Asks a model once. Every failure is a ModelError, with what had been said by then; an answer is JSON through and
 * through. What is passed in is not changed, and nothing of it is shared with the package.
 */
export async function callModel(call: ModelCall): Promise<ModelAnswer> {
  const guard = new Guard(call.signal, call.ports);
  const run: Run = { call, guard, bytes: 0, assembly: undefined, hasFailedReading: false, end: {} };
  try {
    const spec = specOf(call.model);
    const { provider, modelId } = modelIdentity(call.model);
    const assembly = new Assembly(spec, { provider, model: modelId });
    run.assembly = assembly;
    const { messages, settings, warnings } = planned(call, spec);
    for (const warning of warnings) warnOf(call, warning);
    const { download, downloadTimeoutMs: timeoutMs = 30_000, fetched = new Map(), readBlob, ports } = call;
    const options = { download, known: fetched, readBlob, signal: guard.signal, limit: { ports, timeoutMs } };
    const files = await guard.until(() => withFetchedFiles(call.model, messages, options));
    for (const warning of files.warnings) warnOf(call, warning);
    await answered(run, spec, assembly, files.messages, settings);
    return answerOf(assembly, run.end);
  } catch (error) {
    guard.abandon();
    if (error instanceof FromCaller) throw error.cause;
    throw modelErrorOf(error, run);
  } finally {
    guard.release();
  }
}

function planned({ model, messages, settings = {}, staleThinking = false }: ModelCall, spec: ModelSpec): ThinkingPlan {
  const plan = planThinking({ model, messages, settings, isStale: staleThinking });
  if (spec.takesReasoning || !isOn(settings.reasoning)) return plan;
  const warning =
    `reasoning: "${settings.reasoning}" is not passed on: the package of ${model.provider} is of specification ` +
    `${model.specificationVersion}, which has no place for it. Update the package, or set its own option in providerOptions.`;
  return { ...plan, warnings: [warning, ...plan.warnings] };
}

interface Run {
  readonly call: ModelCall;
  readonly guard: Guard;
  bytes: number;
  assembly: Assembly | undefined;
  /** The stream had begun, and reading from it failed. */
  hasFailedReading: boolean;
  /** What the provider says of the answer as a whole. */
  end: { usage?: Usage; finishReason?: ModelFinishReason; response?: NonNullable<ModelAnswer["response"]> };
}

/** Where the package has no place for a file, the call is made again with a note in its place. */
async function answered(
  run: Run,
  spec: ModelSpec,
  assembly: Assembly,
  messages: readonly Message[],
  settings: ModelSettings,
): Promise<void> {
  const { call, guard } = run;
  const { model, cache, streaming } = call;
  const shared = { ...callSettings(model, spec, settings, call.tools), abortSignal: guard.signal };
  const lists = [messages, ...withNotes(messages)];
  for (const [at, list] of lists.entries()) {
    const prompt = promptFor(model, spec, list, {
      ...(cache !== undefined && { cache }),
      stored: isStored(model, settings),
    });
    try {
      if (streaming === false) await generate(run, spec, assembly, { ...shared, prompt });
      else await stream(run, spec, assembly, { ...shared, prompt });
      return;
    } catch (error) {
      const next = lists[at + 1];
      if (next === undefined || !isUnsupported(error)) throw error;
      const types = filesLeftOut(list, next).join(", ");
      warnOf(call, `the package of ${model.provider} cannot take these files (${types}): notes stand in their places.`);
    }
  }
}

type Options = Parameters<ProviderModel["doStream"]>[0];

/** What the caller's own function threw. */
class FromCaller extends Error {}

async function generate(run: Run, spec: ModelSpec, assembly: Assembly, options: Options): Promise<void> {
  const { call, guard } = run;
  const { idleTimeoutMs } = call;
  const timeoutMs = idleTimeoutMs === undefined ? undefined : SILENCES_OF_A_WHOLE_ANSWER * idleTimeoutMs;
  const result = fieldsIn(await guard.until(() => call.model.doGenerate(options), timeoutMs, late));
  const content = result["content"];
  for (const value of Array.isArray(content) ? content : []) {
    const part = rawPart(value);
    if (part === undefined) continue;
    count(run, part);
    assembly.takeWhole(part);
  }
  warn(call, result["warnings"]);
  addStructured(assembly, result["structuredOutputText"]);
  run.end = {
    usage: spec.usage(result["usage"]),
    finishReason: spec.finishReason(result["finishReason"]),
    ...responseIn(result["response"]),
  };
}

async function stream(run: Run, spec: ModelSpec, assembly: Assembly, options: Options): Promise<void> {
  const { call, guard } = run;
  let begun: Promise<ModelStream> | undefined;
  const begin = (): Promise<ModelStream> => {
    begun = Promise.resolve().then(() => call.model.doStream(options));
    return begun;
  };
  let reader: ModelReader | undefined;
  try {
    reader = (await guard.until(begin, call.idleTimeoutMs)).stream.getReader();
    await read(run, spec, assembly, reader);
  } finally {
    // A stream that was opened is closed, also one that opens only after nobody waits for it any more.
    cancel(reader ?? begun?.then(({ stream }) => stream.getReader()));
  }
}

/** Reads up to the end that the model declares: a stream that does not close then is not waited for. */
async function read(run: Run, spec: ModelSpec, assembly: Assembly, reader: ModelReader): Promise<void> {
  const { call, guard } = run;
  for (;;) {
    const { done, value } = await guard
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
        tell(call, assembly.take(part));
    }
  }
}

function late(ms: number): ModelError {
  return new ModelError({
    code: "model_answer_timeout",
    message: `The model gave no answer within ${ms} ms, which is ${SILENCES_OF_A_WHOLE_ANSWER} times streamIdleTimeoutMs. Raise it, or set streaming: true.`,
    retryable: true,
  });
}

/** OpenAI tells the answer of the shape asked for apart; where it is nowhere else, it is the text. */
function addStructured(assembly: Assembly, text: unknown): void {
  if (plainText(text) !== "" && !assembly.hasText) assembly.takeWhole({ type: "text", text });
}

function warn(call: ModelCall, warnings: unknown): void {
  if (call.onWarning === undefined || !Array.isArray(warnings)) return;
  for (const warning of warnings.slice(0, MAX_WARNINGS))
    warnOf(call, `the model's package warns: ${warningText(warning)}`);
}

function warnOf({ onWarning }: ModelCall, warning: string): void {
  try {
    onWarning?.(warning);
  } catch (cause) {
    throw new FromCaller("onWarning threw", { cause });
  }
}

function tell({ onDelta }: ModelCall, delta: ModelDelta | undefined): void {
  if (delta === undefined) return;
  try {
    onDelta?.(delta);
  } catch (cause) {
    throw new FromCaller("onDelta threw", { cause });
  }
}

function count(run: Run, part: object): void {
  const limit = run.call.maxAnswerBytes ?? MAX_ANSWER_BYTES;
  run.bytes += weigh(part, limit);
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
  cancelled().catch(() => undefined); // it has failed, is closed already, or does not care; the call is over
}

function modelErrorOf(cause: unknown, { call, assembly, hasFailedReading, end }: Run): ModelError {
  const content = assembly?.partial() ?? "";
  const partial = content === "" && end.usage === undefined ? undefined : { content, usage: end.usage ?? {} };
  const own = ModelError.isInstance(cause);
  const failure = own ? cause.failure : classifyModelError(cause, call.ports.clock, hasFailedReading);
  return new ModelError({ ...failure, partial, cause: own ? cause.cause : cause });
}

/**
 * Waits for a model, but not for longer than anybody wants: an abort or a silence that lasts too long ends the wait at
 * once, whether the package looks at its signal or not. What it does later is neither awaited nor an unhandled rejection.
 */
export class Guard {
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

  /** For the package: it is aborted when the wait is over for any reason. */
  get signal(): AbortSignal {
    return this.#inner.signal;
  }

  /** `late` says what it is when it takes longer than that. */
  until<T>(begin: () => PromiseLike<T>, timeoutMs?: number, late: (ms: number) => ModelError = silent): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#stopped !== undefined) {
        reject(this.#stopped);
        return;
      }
      let done = (): void => {};
      const end = (): void => {
        done();
        this.#interrupt = undefined;
      };
      this.#interrupt = (error) => {
        end();
        reject(error);
      };
      if (timeoutMs !== undefined) done = this.#ports.after(timeoutMs, () => this.#stop(late(timeoutMs)));
      started(begin).then(
        (value) => {
          end();
          resolve(value);
        },
        (error: unknown) => {
          end();
          reject(error);
        },
      );
    });
  }

  /** Nothing is waited for any more. */
  release(): void {
    this.#outer?.removeEventListener("abort", this.#onAbort);
  }

  /** Tells the package that nobody listens any more. */
  abandon(): void {
    if (!this.#inner.signal.aborted) this.#inner.abort();
  }

  readonly #onAbort = (): void => this.#stop(aborted());

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

/** Packages without types may throw where they should reject, or give no promise at all. */
async function started<T>(begin: () => PromiseLike<T>): Promise<T> {
  return await begin();
}

function aborted(): ModelError {
  return new ModelError({ code: "model_aborted", message: "The model call was aborted by its signal." });
}

function silent(ms: number): ModelError {
  return new ModelError({
    code: "model_stream_idle",
    message: `The model sent nothing for ${ms} ms. Try again, or raise streamIdleTimeoutMs if it thinks that long.`,
    retryable: true,
  });
}
