import type { ProviderModel } from "../../agent/definition/language-model.ts";
import type { LlmStream } from "../../agent/directive.ts";
import type { ModelAnswer, Usage } from "../../agent/model-call.ts";
import type { Failure } from "../../agent/signal.ts";
import type { ModelSettings } from "../model/settings.ts";
import { type Attributes, type Context, SPAN_KIND } from "./api.ts";
import {
  agentAttributes,
  answerAttributes,
  directiveAttributes,
  modelAttributes,
  settingsAttributes,
  usageAttributes,
} from "./attributes.ts";
import { inputMessages, outputMessages } from "./content.ts";
import { recordTokens } from "./instruments.ts";
import { Operation, type Telling } from "./operation.ts";
import type { ModelSpan, SentRequest, TelemetryScene } from "./telemetry.ts";

interface Asked {
  readonly model: ProviderModel;
  readonly attributes: Attributes;
  readonly parent: Context;
}

/** A span around one question to a model, with what it costs. */
export class Chat implements ModelSpan {
  readonly #telling: Telling;
  readonly #operation: Operation;
  readonly #measured: Attributes;

  constructor(telling: Telling, scene: TelemetryScene, { model, attributes, parent }: Asked) {
    this.#telling = telling;
    this.#measured = { "gen_ai.operation.name": "chat", ...modelAttributes(model) };
    this.#operation = new Operation(telling, scene, {
      name: `chat ${model.modelId}`,
      kind: SPAN_KIND.client,
      attributes: { ...this.#measured, ...agentAttributes(scene), ...attributes },
      parent,
    });
  }

  within<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#operation.within(work);
  }

  sending({ messages, settings }: SentRequest): void {
    this.#operation.say(settingsAttributes(settings));
    this.#operation.sayContent(() => ({ "gen_ai.input.messages": inputMessages(messages) }));
  }

  answered(answer: ModelAnswer): void {
    if (this.#operation.isEnded) return;
    this.#operation.say(answerAttributes(answer));
    this.#operation.sayContent(() => ({ "gen_ai.output.messages": outputMessages(answer) }));
    this.#end(answer.usage, { ...this.#measured, "gen_ai.response.model": answer.response?.modelId });
  }

  failed(failure: Failure, usage: Usage = {}): void {
    if (this.#operation.isEnded) return;
    this.#operation.say(usageAttributes(usage));
    this.#operation.fail(failure);
    this.#end(usage, { ...this.#measured, "error.type": failure.code });
  }

  #end(usage: Usage, attributes: Attributes): void {
    const { modelSeconds, tokens } = this.#telling.instruments();
    this.#operation.end(modelSeconds, attributes);
    recordTokens(tokens, usage, attributes);
  }
}

/** The span of a model call of a run. */
export function chatOf(telling: Telling, directive: LlmStream, scene: TelemetryScene): Chat {
  const { definition } = scene;
  const { basis, settings, requestId } = directive;
  return new Chat(telling, scene, {
    model: definition.model,
    parent: telling.parentOf(requestId, scene),
    attributes: {
      ...settingsAttributes(settings as ModelSettings), // made of the definition's fields
      ...(definition.streaming && { "gen_ai.request.stream": true }),
      ...directiveAttributes(directive),
      "heddle.lane": basis.lane,
      "heddle.estimated_tokens": basis.estimatedTokens,
      "heddle.view.start_seq": basis.view.startSeq,
      "heddle.view.summary_seq": basis.view.summarySeq,
    },
  });
}
