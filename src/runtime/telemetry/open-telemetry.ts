import type { LoadModule } from "../../tokens/exact.ts";
import type { OpenTelemetryOptions } from "./measured-span.ts";
import type { Telemetry } from "./telemetry.ts";

/**
 * Telemetry for OpenTelemetry, by the semantic conventions for GenAI. A request has a span, with child spans for its model
 * calls, tool calls and summaries; durations, tokens and costs are metrics. Needs the optional package `@opentelemetry/api`, else
 * it throws `telemetry_missing`. Errors of a tracer or meter are ignored.
 *
 * @example
 * const agent = defineAgent({ name: "support", model: scriptedModel(["18 degrees."]) });
 * const telemetry = await openTelemetry();
 * const server = await AgentServer.start({ agent, store: memoryStore(), telemetry });
 * await server.stop();
 */
export async function openTelemetry(options: OpenTelemetryOptions = {}, load?: LoadModule): Promise<Telemetry> {
  const { spanTelemetry } = await import("./spans.ts"); // few programs need it
  return spanTelemetry(options, load);
}
