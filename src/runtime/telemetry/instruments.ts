import type { Usage } from "../../agent/model-call.ts";
import { type Attributes, type Histogram, known, type Meter } from "./api.ts";

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
