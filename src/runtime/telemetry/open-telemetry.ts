import type { LoadModule } from "../../tokens/exact.ts";
import type { Telling } from "./operation.ts";
import { type Context, type Instruments, instrumentsOf, loadApi, type Meter, type Tracer } from "./operation.ts";
import { chatOf, executionOf, Invocation, summarisingOf } from "./spans.ts";
import type { Telemetry, TelemetryScene } from "./telemetry.ts";
import { guarded } from "./telemetry.ts";

/** Options of `openTelemetry()`. */
export interface OpenTelemetryOptions {
  /** Default: one named "heddle", of the provider that is registered. */
  readonly tracer?: Tracer | undefined;
  /** Default: one named "heddle", of the provider that is registered when the first request comes. */
  readonly meter?: Meter | undefined;
  /**
   * false keeps content out of everything. Otherwise agents decide: those with `redact: false` tell prompts, answers,
   * arguments and results. Default true.
   */
  readonly recordContent?: boolean | undefined;
}

const SCOPE = "heddle";

/**
 * Tells OpenTelemetry what agents do: a span for each request, and in it one for each model call, tool call and summary,
 * with durations and tokens as metrics, by the semantic conventions for GenAI. Needs the optional package
 * `@opentelemetry/api`; without it the error is `telemetry_missing`. Nothing that a tracer or meter throws reaches a run.
 *
 * @example
 * const agent = defineAgent({ name: "support", model: scriptedModel(["18 degrees."]) });
 * const telemetry = await openTelemetry();
 * const server = await AgentServer.start({ agent, store: memoryStore(), telemetry });
 * await server.stop();
 */
export async function openTelemetry(
  { tracer, meter, recordContent = true }: OpenTelemetryOptions = {},
  load?: LoadModule,
): Promise<Telemetry> {
  const api = await loadApi(load);
  const contexts = new Map<string, Context>();
  let instruments: Instruments | undefined;
  const telling: Telling = {
    api,
    // Not before it is needed: unlike a tracer, a meter taken before the SDK is registered stays dumb for good.
    instruments: () => {
      instruments ??= instrumentsOf(meter ?? api.metrics.getMeter(SCOPE));
      return instruments;
    },
    startSpan: (name, kind, attributes, parent) =>
      (tracer ?? api.trace.getTracer(SCOPE)).startSpan(name, { kind, attributes }, parent),
    parentOf: (requestId, scene) => contexts.get(keyOf(requestId, scene)) ?? api.context.active(),
    tellsContent: ({ definition }) => recordContent && !definition.redact,
  };
  return guarded({
    request: (asked, scene) => {
      const key = keyOf(asked.requestId, scene);
      const invocation = new Invocation(telling, asked, scene, () => contexts.delete(key));
      contexts.set(key, invocation.operation.context);
      return invocation;
    },
    model: (directive, scene) => chatOf(telling, directive, scene),
    tool: (directive, scene) => executionOf(telling, directive, scene),
    summary: (work, scene) => summarisingOf(telling, work, scene),
  });
}

function keyOf(requestId: string | undefined, { threadId }: TelemetryScene): string {
  return `${threadId} ${requestId ?? ""}`;
}
