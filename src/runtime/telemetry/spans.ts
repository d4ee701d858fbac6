import type { ProviderModel } from "../../agent/definition/language-model.ts";
import type { LlmStream, ToolExec } from "../../agent/directive.ts";
import type { AgentEvent } from "../../agent/event.ts";
import type { ModelAnswer, Usage } from "../../agent/model-call.ts";
import type { Failure } from "../../agent/signal.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { ModelSettings } from "../model/settings.ts";
import {
  agentAttributes,
  answerAttributes,
  directiveAttributes,
  inputMessages,
  modelAttributes,
  outputMessages,
  resultContent,
  settingsAttributes,
  usageAttributes,
} from "./attributes.ts";
import { type Attributes, type Context, Operation, recordTokens, SPAN_KIND, type Telling } from "./operation.ts";
import type {
  ModelSpan,
  RequestSpan,
  SentRequest,
  SummarySpan,
  SummaryWork,
  TelemetryScene,
  ToolSpan,
} from "./telemetry.ts";

interface Asked {
  readonly requestId: string;
  readonly runId: string;
}

/** The span of a whole request: all else that is told of the request stands in its context. */
export class Invocation implements RequestSpan {
  readonly operation: Operation;
  readonly #telling: Telling;
  readonly #agent: string;
  readonly #forget: () => void;

  /** `forget` is called when the request has ended here. */
  constructor(telling: Telling, asked: Asked, scene: TelemetryScene, forget: () => void) {
    const { name, model } = scene.definition;
    this.#telling = telling;
    this.#agent = name;
    this.#forget = forget;
    this.operation = new Operation(telling, scene, {
      name: `invoke_agent ${name}`,
      kind: SPAN_KIND.internal,
      parent: telling.api.context.active(),
      attributes: {
        "gen_ai.operation.name": "invoke_agent",
        ...modelAttributes(model),
        ...agentAttributes(scene),
        ...directiveAttributes(asked),
      },
    });
  }

  event(event: AgentEvent): void {
    const noted = noteOf(event);
    if (noted !== undefined) this.operation.note(...noted);
    if (event.kind === "request_cancelled") this.#end("cancelled");
    if (event.kind === "request_failed") this.#end("failed", {}, event.data.failure);
    if (event.kind !== "request_completed") return;
    const { usage, terminationReason } = event.data;
    this.#end("completed", { ...usageAttributes(usage), "heddle.termination_reason": terminationReason });
  }

  suspended(): void {
    this.#end("suspended");
  }

  #end(status: "completed" | "failed" | "cancelled" | "suspended", said: Attributes = {}, failure?: Failure): void {
    if (this.operation.isEnded) return;
    this.#forget(); // first of all: a span that throws must not stay in memory
    this.operation.say({ ...said, "heddle.request.status": status });
    if (failure !== undefined) this.operation.fail(failure);
    const measured = { "gen_ai.agent.name": this.#agent, "error.type": failure?.code };
    this.operation.end(status === "suspended" ? undefined : this.#telling.instruments().agentSeconds, measured);
  }
}

interface AskedModel {
  readonly model: ProviderModel;
  readonly attributes: Attributes;
  readonly parent: Context;
}

/** A span around one question to a model, with what it costs. */
export class Chat implements ModelSpan {
  readonly #telling: Telling;
  readonly #operation: Operation;
  readonly #measured: Attributes;

  constructor(telling: Telling, scene: TelemetryScene, { model, attributes, parent }: AskedModel) {
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

/** The span of one call of a tool. */
export function executionOf(telling: Telling, directive: ToolExec, scene: TelemetryScene): ToolSpan {
  const { call, requestId } = directive;
  // A name that no tool has was made up by the model: it may say anything, and there is no end of them.
  const name = Object.hasOwn(scene.tools(), call.name) ? call.name : "_OTHER";
  const measured = { "gen_ai.tool.name": name, "gen_ai.tool.type": "function" };
  const { "gen_ai.agent.name": agent, ...conversation } = agentAttributes(scene);
  const operation = new Operation(telling, scene, {
    name: `execute_tool ${name}`,
    kind: SPAN_KIND.internal,
    parent: telling.parentOf(requestId, scene),
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      ...measured,
      "gen_ai.tool.call.id": call.id,
      "gen_ai.agent.name": agent,
      ...conversation,
      ...directiveAttributes(directive),
    },
  });
  operation.sayContent(() => ({ "gen_ai.tool.call.arguments": JSON.stringify(call.arguments) }));
  return {
    within: (work) => operation.within(work),
    ended: ({ failure, isError, content, attempts }) => {
      if (operation.isEnded) return;
      operation.say({ "heddle.attempts": attempts });
      if (failure !== undefined) operation.fail(failure);
      if (!isError) operation.sayContent(() => ({ "gen_ai.tool.call.result": resultContent(content) }));
      const { toolSeconds } = telling.instruments();
      operation.end(toolSeconds, { ...measured, "gen_ai.agent.name": agent, "error.type": failure?.code });
    },
  };
}

/** The span of a summary: around the work of a summarizer, and in it, when a model is asked, one like any other call's. */
export function summarisingOf(telling: Telling, work: SummaryWork, scene: TelemetryScene): SummarySpan {
  const { range, requestId, model: named } = work;
  const { definition } = scene;
  const attributes = {
    "heddle.request.id": requestId,
    "heddle.summary.from_seq": range.fromSeq,
    "heddle.summary.to_seq": range.toSeq,
  };
  const operation = new Operation(telling, scene, {
    name: "heddle.summarize",
    kind: SPAN_KIND.internal,
    parent: telling.parentOf(requestId, scene),
    attributes: { ...agentAttributes(scene), ...attributes },
  });
  const model = named === undefined ? definition.model : definition.models?.[named];
  const isAsked = definition.summarizer === undefined && model !== undefined;
  const chat = isAsked ? new Chat(telling, scene, { model, attributes, parent: operation.context }) : undefined;
  return {
    within: (run) => (chat ?? operation).within(run),
    answered: (answer) => chat?.answered(answer),
    ended: () => operation.end(),
    failed: (error) => {
      if (operation.isEnded) return;
      const failure = failureOf(error);
      chat?.failed(failure); // when it has answered, this changes nothing
      operation.fail(failure);
      operation.end();
    },
  };
}

function failureOf(error: unknown): { readonly code: string; readonly message: string } {
  if (HeddleError.isInstance(error)) return { code: error.code, message: error.message };
  return { code: "_OTHER", message: "The summarizer threw an error." };
}

/** What a reader of a trace would miss of a request's events, without a word of what was said; the rest has its own spans. */
function noteOf(event: AgentEvent): readonly [name: string, attributes: Attributes] | undefined {
  const tool = { "gen_ai.tool.name": event.toolName, "gen_ai.tool.call.id": event.toolCallId };
  switch (event.kind) {
    case "llm_retried": {
      const { failure, attempt } = event.data;
      const said = { "heddle.call.id": event.callId, "error.type": failure.code, "heddle.attempt": attempt };
      return ["heddle.llm_retried", said];
    }
    case "approval_requested":
    case "answer_requested":
      return [`heddle.${event.kind}`, tool];
    case "approval_resolved":
      return ["heddle.approval_resolved", { ...tool, "heddle.approved": event.data.approved }];
    case "input_injected":
      return ["heddle.input_injected", { "heddle.steer": event.data.steer }];
    case "output_repaired":
      return ["heddle.output_repaired", { "heddle.attempt": event.data.attempt }];
    default:
      return undefined;
  }
}
