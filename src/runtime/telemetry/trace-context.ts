/** The ids of a span, as OpenTelemetry has them. */
export interface SpanIds {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The ids in a header `traceparent` of W3C Trace Context; undefined where it is not valid. */
export function readTraceparent(value: unknown): SpanIds | undefined {
  const [, traceId, spanId, flags] = (typeof value === "string" && TRACEPARENT.exec(value)) || [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
}

/** The `traceparent` of a span; undefined where no SDK is registered, because such a span has no ids. */
export function traceparentOf(ids: SpanIds | undefined): string | undefined {
  if (ids === undefined) return undefined;
  const { traceId, spanId, traceFlags } = ids;
  const text = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
  return readTraceparent(text) && text;
}
