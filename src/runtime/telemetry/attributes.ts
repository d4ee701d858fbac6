import type { ProviderModel } from "../../agent/definition/language-model.ts";
import type { ModelAnswer, Usage } from "../../agent/model-call.ts";
import type { ModelSettings } from "../model/settings.ts";
import type { Attributes } from "./api.ts";
import { finishReasonOf } from "./finish-reason.ts";
import { providerNameOf } from "./provider-name.ts";
import type { TelemetryScene } from "./telemetry.ts";

// The names are those of the GenAI semantic conventions 1.41, the last that were released; what they lack begins with
// "heddle.".

/** What every span of an agent says. */
export function agentAttributes({ definition, threadId }: TelemetryScene): Attributes {
  return { "gen_ai.agent.name": definition.name, "gen_ai.conversation.id": threadId };
}

/** What everything a directive leads to says. */
export function directiveAttributes(directive: {
  readonly requestId: string;
  readonly runId: string;
  readonly callId?: string;
  readonly iteration?: number;
}): Attributes {
  return {
    "heddle.request.id": directive.requestId,
    "heddle.run.id": directive.runId,
    "heddle.call.id": directive.callId,
    "heddle.iteration": directive.iteration,
  };
}

/** Which model is asked; spans and measurements say it alike. */
export function modelAttributes(model: ProviderModel): Attributes {
  return { "gen_ai.provider.name": providerNameOf(model), "gen_ai.request.model": model.modelId };
}

export function settingsAttributes(settings: ModelSettings): Attributes {
  const { maxOutputTokens, temperature, seed, stopSequences, responseFormat } = settings;
  return {
    "gen_ai.request.max_tokens": maxOutputTokens,
    "gen_ai.request.temperature": temperature,
    "gen_ai.request.seed": seed,
    "gen_ai.request.stop_sequences": stopSequences && [...stopSequences],
    "gen_ai.output.type": responseFormat?.type,
  };
}

export function answerAttributes({ finishReason, response, usage }: ModelAnswer): Attributes {
  return {
    "gen_ai.response.finish_reasons": [finishReasonOf(finishReason)],
    "gen_ai.response.id": response?.id,
    "gen_ai.response.model": response?.modelId,
    ...usageAttributes(usage),
  };
}

export function usageAttributes(usage: Usage): Attributes {
  return {
    "gen_ai.usage.input_tokens": usage.inputTokens,
    "gen_ai.usage.output_tokens": usage.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage.cacheReadTokens,
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens,
    "gen_ai.usage.reasoning.output_tokens": usage.reasoningTokens,
  };
}
