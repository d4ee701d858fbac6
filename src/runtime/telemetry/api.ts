import { HeddleError } from "../../thread/errors.ts";
import { describe } from "../../thread/json.ts";
import type { LoadModule } from "../../tokens/exact.ts";

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
export function known(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

/** The numbers of `SpanKind` and `SpanStatusCode`, which are a part of the API's promise. */
export const SPAN_KIND = { internal: 0, client: 2 } as const;
export const STATUS_ERROR = 2;

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
