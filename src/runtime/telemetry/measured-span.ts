import type { Usage } from "../../agent/model-call.ts";
import type { Failure } from "../../agent/signal.ts";
import { HeddleError, ignoreRejection } from "../../thread/errors.ts";
import { describe } from "../../thread/json.ts";
import type { LoadModule } from "../../tokens/exact.ts";
import type { RuntimePorts } from "../ports.ts";
import type { TelemetryScene } from "./telemetry.ts";

/** Everything that the spans of one `openTelemetry()` share. */
export interface SpanSource {
  readonly api: TelemetryApi;
  readonly instruments: () => Instruments;
  /** The parent of a span of this request. Without a known request it is the active context. */
  readonly parentOf: (requestId: string | undefined, scene: TelemetryScene) => Context;
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
    ignoreRejection(seconds?.record(Math.max(0, this.#clock() - this.#began) / 1000, withoutUndefined(attributes)));
  }
}

/** The metrics. The conventions 1.41 have none for tools and agents, so their names are from the next version. */
export interface Instruments {
  readonly modelSeconds: Histogram;
  readonly tokens: Histogram;
  readonly toolSeconds: Histogram;
  readonly agentSeconds: Histogram;
}

const OPERATION = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
/** Longer than the others, because a request may wait for an approval. */
const REQUEST = [0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

export function instrumentsOf(meter: Meter): Instruments {
  const histogram = (name: string, unit: string, description: string, boundaries: readonly number[]): Histogram => {
    const advice = { explicitBucketBoundaries: [...boundaries] };
    const created = meter.createHistogram(name, { unit, description, advice });
    ignoreRejection(created);
    return created;
  };
  return {
    modelSeconds: histogram("gen_ai.client.operation.duration", "s", "GenAI operation duration.", OPERATION),
    tokens: histogram("gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.", TOKENS),
    toolSeconds: histogram("gen_ai.execute_tool.duration", "s", "Duration of tool calls.", OPERATION),
    agentSeconds: histogram("gen_ai.invoke_agent.duration", "s", "Duration of requests to agents.", REQUEST),
  };
}

/** Records only the numbers that the provider reported. */
export function recordTokens(tokens: Histogram, { inputTokens, outputTokens }: Usage, attributes: Attributes): void {
  const defined = withoutUndefined(attributes);
  const record = (amount: number, type: string): void => {
    ignoreRejection(tokens.record(amount, { ...defined, "gen_ai.token.type": type }));
  };
  if (inputTokens !== undefined) record(inputTokens, "input");
  if (outputTokens !== undefined) record(outputTokens, "output");
}

/**
 * The part of `@opentelemetry/api` that is used here. The package is an optional peer dependency, so its types cannot be
 * imported. Its `Tracer` and `Meter` can be assigned to these.
 */
export interface TelemetryApi {
  readonly trace: {
    getTracer(name: string): Tracer;
    setSpan(context: Context, span: Span): Context;
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
  setAttributes(attributes: Attributes): unknown;
  addEvent(name: string, attributes: Attributes): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

/** A tracer of OpenTelemetry. */
export interface Tracer {
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
