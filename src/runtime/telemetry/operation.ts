import type { Usage } from "../../agent/model-call.ts";
import type { Failure } from "../../agent/signal.ts";
import { HeddleError } from "../../thread/errors.ts";
import { describe } from "../../thread/json.ts";
import type { LoadModule } from "../../tokens/exact.ts";
import type { RuntimePorts } from "../ports.ts";
import type { TelemetryScene } from "./telemetry.ts";

/** What all spans of one `openTelemetry()` share. */
export interface Telling {
  readonly api: TelemetryApi;
  readonly instruments: () => Instruments;
  /** What a span of this request stands in; without a request that is known, whatever is active. */
  readonly parentOf: (requestId: string | undefined, scene: TelemetryScene) => Context;
  readonly startSpan: (name: string, kind: number, attributes: Attributes, parent: Context) => Span;
  /** Whether prompts, texts, arguments and results may be told. */
  readonly tellsContent: (scene: TelemetryScene) => boolean;
}

export interface Begun {
  readonly name: string;
  readonly kind: number;
  readonly attributes: Attributes;
  readonly parent: Context;
}

/** A span from its begin to its end, which comes once. Its time on traces is the tracer's, its measured one the runtime's. */
export class Operation {
  readonly context: Context;
  readonly #telling: Telling;
  readonly #span: Span;
  readonly #tellsContent: boolean;
  readonly #clock: RuntimePorts["clock"];
  readonly #began: number;
  #ended = false;

  constructor(telling: Telling, scene: TelemetryScene, { name, kind, attributes, parent }: Begun) {
    this.#telling = telling;
    this.#clock = scene.ports.clock;
    this.#began = this.#clock();
    this.#tellsContent = telling.tellsContent(scene);
    this.#span = telling.startSpan(name, kind, known(attributes), parent);
    this.context = telling.api.trace.setSpan(parent, this.#span);
  }

  get isEnded(): boolean {
    return this.#ended;
  }

  within<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#telling.api.context.with(this.context, work);
  }

  say(attributes: Attributes): void {
    this.#span.setAttributes(known(attributes));
  }

  /** What only agents that allow it tell; it is not even made for others. */
  sayContent(attributes: () => Attributes): void {
    if (this.#tellsContent) this.#span.setAttributes(attributes());
  }

  note(event: string, attributes: Attributes): void {
    this.#span.addEvent(event, known(attributes));
  }

  /** The words of a failure may be a tool's own, and name what it was given: without leave only the code is told. */
  fail({ code, message }: Failure): void {
    this.#span.setAttributes({ "error.type": code });
    this.#span.setStatus({ code: STATUS_ERROR, ...(this.#tellsContent && { message }) });
  }

  end(seconds?: Histogram, attributes: Attributes = {}): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#span.end();
    seconds?.record(Math.max(0, this.#clock() - this.#began) / 1000, known(attributes));
  }
}

/** What is measured. Tools and agents have no metric in the conventions 1.41; these are the names of their successor. */
export interface Instruments {
  readonly modelSeconds: Histogram;
  readonly tokens: Histogram;
  readonly toolSeconds: Histogram;
  readonly agentSeconds: Histogram;
}

const OPERATION = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
/** A request may wait for somebody. */
const REQUEST = [0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];

export function instrumentsOf(meter: Meter): Instruments {
  const histogram = (name: string, unit: string, description: string, boundaries: readonly number[]): Histogram =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: [...boundaries] } });
  return {
    modelSeconds: histogram("gen_ai.client.operation.duration", "s", "GenAI operation duration.", OPERATION),
    tokens: histogram("gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.", TOKENS),
    toolSeconds: histogram("gen_ai.execute_tool.duration", "s", "Duration of tool calls.", OPERATION),
    agentSeconds: histogram("gen_ai.invoke_agent.duration", "s", "Duration of requests to agents.", REQUEST),
  };
}

/** Only what the provider reported. */
export function recordTokens(tokens: Histogram, { inputTokens, outputTokens }: Usage, attributes: Attributes): void {
  const said = known(attributes);
  if (inputTokens !== undefined) tokens.record(inputTokens, { ...said, "gen_ai.token.type": "input" });
  if (outputTokens !== undefined) tokens.record(outputTokens, { ...said, "gen_ai.token.type": "output" });
}

/**
 * Of `@opentelemetry/api` what is used here. The package is an optional peer, so the types of it are not ours to name; its
 * `Tracer` and `Meter` fit.
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

/** What spans and measurements say. Not readonly, because the package's own type is not. */
export type Attributes = { [name: string]: string | number | boolean | string[] | undefined };

/** What a span stands in: passed by hand, because the runtime begins work from a loop. */
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

/** What is not known is not said; some exporters would send an empty value. */
function known(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

/** The numbers of `SpanKind` and `SpanStatusCode`, which are a part of the API's promise. */
export const SPAN_KIND = { internal: 0, client: 2 } as const;
const STATUS_ERROR = 2;

const PACKAGE = "@opentelemetry/api";
const INSTALL = `npm install ${PACKAGE}@1`;

export async function loadApi(load: LoadModule = importModule): Promise<TelemetryApi> {
  const module = await loaded(load);
  if (isApi(module)) return module;
  const message = `${PACKAGE} gave ${describe(module)} without trace, metrics and context: another version. Run: ${INSTALL}`;
  throw new HeddleError({ code: "telemetry_missing", message });
}

/** The name is a literal inside a try: bundlers follow it, and only warn where the optional package is not installed. */
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
