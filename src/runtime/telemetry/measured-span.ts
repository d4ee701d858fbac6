import type { Usage } from "../../agent/model-call.ts";
import type { Failure } from "../../agent/signal.ts";
import { HeddleError, ignoreRejection } from "../../thread/errors.ts";
import { describe } from "../../thread/json.ts";
import type { LoadModule } from "../../tokens/exact.ts";
import type { RuntimePorts } from "../ports.ts";
import type { TelemetryScene } from "./telemetry.ts";
import { readTraceparent, type SpanIds, traceparentOf } from "./trace-context.ts";

/** Options of `openTelemetry()`. */
export interface OpenTelemetryOptions {
  /** Creates the spans. Default: the tracer "heddle" of the registered provider. */
  readonly tracer?: Tracer | undefined;
  /** Creates the metrics. Default: the meter "heddle" of the provider that is registered at the first request. */
  readonly meter?: Meter | undefined;
  /**
   * False: no span has prompts, answers, arguments or results. True: the spans of agents with `redact: false` have them.
   * Default true.
   */
  readonly recordContent?: boolean | undefined;
}

/** Everything that the spans of one `openTelemetry()` share. */
export interface SpanSource {
  readonly api: TelemetryApi;
  readonly instruments: () => Instruments;
  /** The parent of a span of this request. Without a known request it is the active context. */
  readonly parentOf: (requestId: string | undefined, scene: TelemetryScene) => Context;
  /** Adds the cost of a model call to its request. */
  readonly spend: (requestId: string | undefined, scene: TelemetryScene, costUsd: number) => void;
  readonly startSpan: (name: string, kind: number, attributes: Attributes, parent: Context) => Span;
  /** Whether spans may have prompts, texts, arguments and results. */
  readonly recordsContent: (scene: TelemetryScene) => boolean;
}

export interface SpanStart {
  readonly name: string;
  readonly kind: number;
  readonly attributes: Attributes;
  readonly parent: Context;
}

/** A span that also measures its duration, by the clock of the runtime. The tracer has its own clock. Ends at most once. */
export class MeasuredSpan {
  readonly context: Context;
  readonly #source: SpanSource;
  readonly #span: Span;
  readonly #recordsContent: boolean;
  readonly #clock: RuntimePorts["clock"];
  readonly #began: number;
  #ended = false;

  constructor(source: SpanSource, scene: TelemetryScene, { name, kind, attributes, parent }: SpanStart) {
    this.#source = source;
    this.#clock = scene.ports.clock;
    this.#began = this.#clock();
    this.#recordsContent = source.recordsContent(scene);
    this.#span = source.startSpan(name, kind, withoutUndefined(attributes), parent);
    this.context = source.api.trace.setSpan(parent, this.#span);
  }

  get isEnded(): boolean {
    return this.#ended;
  }

  get traceparent(): string | undefined {
    return traceparentOf(this.#span.spanContext());
  }

  /** The time of the runtime, in milliseconds. */
  now(): number {
    return this.#clock();
  }

  within<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#source.api.context.with(this.context, work);
  }

  set(attributes: Attributes): void {
    ignoreRejection(this.#span.setAttributes(withoutUndefined(attributes)));
  }

  /** Attributes with content. They are not even computed when the agent does not record content. */
  setContent(attributes: () => Attributes): void {
    if (this.#recordsContent) ignoreRejection(this.#span.setAttributes(attributes()));
  }

  addEvent(event: string, attributes: Attributes): void {
    ignoreRejection(this.#span.addEvent(event, withoutUndefined(attributes)));
  }

  /** The message of a failure may be from a tool and quote its input. Without `recordsContent` only the code is recorded. */
  fail({ code, message }: Failure): void {
    ignoreRejection(this.#span.setAttributes({ "error.type": code }));
    ignoreRejection(this.#span.setStatus({ code: STATUS_ERROR, ...(this.#recordsContent && { message }) }));
  }

  end(seconds?: Histogram, attributes: Attributes = {}): void {
    if (this.#ended) return;
    this.#ended = true;
    ignoreRejection(this.#span.end());
    if (seconds !== undefined) record(seconds, secondsFrom(this.#began, this.#clock()), attributes);
  }
}

/** The seconds between two times in milliseconds. A clock may be set back. */
export function secondsFrom(since: number, now: number): number {
  return Math.max(0, now - since) / 1000;
}

/** The metrics. The conventions 1.41 have none for tools and agents, so their names are from the next version. */
export interface Instruments {
  readonly modelSeconds: Histogram;
  readonly firstChunkSeconds: Histogram;
  readonly chunkSeconds: Histogram;
  readonly tokens: Histogram;
  readonly cost: Histogram;
  readonly toolSeconds: Histogram;
  readonly agentSeconds: Histogram;
}

const OPERATION = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
const US_DOLLARS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
/** Longer than the others, because a request may wait for an approval. */
const REQUEST = [0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

const CHUNK = "gen_ai.client.operation.time_";

export function instrumentsOf(meter: Meter): Instruments {
  const histogram = (name: string, unit: string, description: string, boundaries: readonly number[]): Histogram => {
    const advice = { explicitBucketBoundaries: [...boundaries] };
    const created = meter.createHistogram(name, { unit, description, advice });
    ignoreRejection(created);
    return created;
  };
  return {
    modelSeconds: histogram("gen_ai.client.operation.duration", "s", "GenAI operation duration.", OPERATION),
    firstChunkSeconds: histogram(`${CHUNK}to_first_chunk`, "s", "Time to receive the first chunk.", OPERATION),
    chunkSeconds: histogram(`${CHUNK}per_output_chunk`, "s", "Time from one chunk to the next.", OPERATION),
    cost: histogram("gen_ai.usage.cost", "{USD}", "Cost of model calls, by the prices of the agent.", US_DOLLARS),
    tokens: histogram("gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.", TOKENS),
    toolSeconds: histogram("gen_ai.execute_tool.duration", "s", "Duration of tool calls.", OPERATION),
    agentSeconds: histogram("gen_ai.invoke_agent.duration", "s", "Duration of requests to agents.", REQUEST),
  };
}

/** Records only the numbers that the provider reported. */
export function recordTokens(
  tokens: Histogram,
  { inputTokens, outputTokens, estimated }: Usage,
  attributes: Attributes,
): void {
  if (estimated) return;
  if (inputTokens !== undefined) record(tokens, inputTokens, { ...attributes, "gen_ai.token.type": "input" });
  if (outputTokens !== undefined) record(tokens, outputTokens, { ...attributes, "gen_ai.token.type": "output" });
}

/**
 * The part of `@opentelemetry/api` that is used here. The package is an optional peer dependency, so its types cannot be
 * imported. Its `Tracer` and `Meter` can be assigned to these.
 */
export interface TelemetryApi {
  readonly trace: {
    getTracer(name: string): Tracer;
    setSpan(context: Context, span: Span): Context;
    setSpanContext(context: Context, ids: SpanIds & { isRemote: boolean }): Context;
    getSpanContext(context: Context): SpanIds | undefined;
  };
  readonly metrics: { getMeter(name: string): Meter };
  readonly context: {
    active(): Context;
    with<Result>(context: Context, work: () => Result): Result;
  };
}

/** Attributes of spans and metrics. Not readonly, because the type of the package is not. */
export type Attributes = { [name: string]: string | number | boolean | string[] | undefined };

/** The parent of a span. It is passed as an argument, because the runtime starts work from a loop, not from the caller. */
export interface Context {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): Context;
  deleteValue(key: symbol): Context;
}

export interface Span {
  spanContext(): SpanIds;
  setAttributes(attributes: Attributes): unknown;
  addEvent(name: string, attributes: Attributes): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

/** A tracer of OpenTelemetry. */
interface Tracer {
  startSpan(name: string, options: { kind: number; attributes: Attributes }, context: Context): Span;
}

/** A meter of OpenTelemetry. */
export interface Meter {
  createHistogram(
    name: string,
    options: { description: string; unit: string; advice: { explicitBucketBoundaries: number[] } },
  ): Histogram;
}

export interface Histogram {
  record(value: number, attributes: Attributes): void;
}

/** The active context, or in it a span of another process or another time. */
export function contextOf({ trace, context }: TelemetryApi, traceparent: string | undefined): Context {
  const ids = readTraceparent(traceparent);
  return ids === undefined ? context.active() : trace.setSpanContext(context.active(), { ...ids, isRemote: true });
}

/** Records a value. Errors of the meter are ignored. */
export function record(histogram: Histogram, value: number, attributes: Attributes): void {
  ignoreRejection(histogram.record(value, withoutUndefined(attributes)));
}

/** Leaves out undefined values, because some exporters send them as empty values. */
function withoutUndefined(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

/** The numbers of `SpanKind` and `SpanStatusCode`. The API of OpenTelemetry promises not to change them. */
export const SPAN_KIND = { internal: 0, client: 2 } as const;
const STATUS_ERROR = 2;

const PACKAGE = "@opentelemetry/api";
const INSTALL = `npm install ${PACKAGE}@1`;

export async function loadApi(load: LoadModule = importModule): Promise<TelemetryApi> {
  const module = await loaded(load);
  if (isApi(module)) return module;
  const message = `${PACKAGE} has another version: it exports ${describe(module)} without trace, metrics and context. Run: ${INSTALL}`;
  throw new HeddleError({ code: "telemetry_missing", message });
}

/** A literal name inside a `try`: bundlers include the package, and only warn if this optional package is not installed. */
const importModule: LoadModule = async () => {
  try {
    return await import("@opentelemetry/api");
  } catch (cause) {
    return Promise.reject(cause);
  }
};

async function loaded(load: LoadModule): Promise<unknown> {
  try {
    return await load(PACKAGE);
  } catch (cause) {
    const message = `Telemetry needs the package ${PACKAGE}, which could not be loaded. Run: ${INSTALL}`;
    throw new HeddleError({ code: "telemetry_missing", message, cause });
  }
}

function isApi(module: unknown): module is TelemetryApi {
  return (
    typeof module === "object" && module !== null && "trace" in module && "metrics" in module && "context" in module
  );
}
