import type { Attributes } from "@opentelemetry/api";
import {
  AggregationTemporality,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import type { OpenTelemetryOptions } from "../../../../src/runtime/telemetry/measured-span.ts";
import { openTelemetry } from "../../../../src/runtime/telemetry/open-telemetry.ts";
import type { Telemetry } from "../../../../src/runtime/telemetry/telemetry.ts";

interface Measured {
  readonly name: string;
  readonly attributes: Attributes;
  readonly count: number;
  readonly sum: number | undefined;
}

/** The SDK of OpenTelemetry, keeping in memory what it is told. */
export interface Recorder {
  readonly telemetry: Telemetry;
  /** Spans that have ended, in the order of their ends. */
  spans(): readonly ReadableSpan[];
  span(name: string): ReadableSpan;
  measured(): Promise<readonly Measured[]>;
}

export async function recorder(options: OpenTelemetryOptions = {}): Promise<Recorder> {
  const spans = new InMemorySpanExporter();
  const tracing = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
  const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 2 ** 31 - 1 });
  const metering = new MeterProvider({ readers: [reader] });
  const own = { tracer: tracing.getTracer("test"), meter: metering.getMeter("test") };
  return {
    telemetry: await openTelemetry({ ...own, ...options }),
    spans: () => spans.getFinishedSpans(),
    span: (name) => {
      const found = spans.getFinishedSpans().filter((span) => span.name === name);
      if (found.length !== 1) throw new Error(`${found.length} spans are named ${name}`);
      return found[0] as ReadableSpan; // there is one
    },
    measured: async () => {
      await reader.forceFlush();
      const all =
        metrics
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
      return all.flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }) => {
          const { count, sum } = value as Histogram; // all our instruments are
          return { name: descriptor.name, attributes, count, sum };
        }),
      );
    },
  };
}
