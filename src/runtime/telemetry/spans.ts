import type { ProviderModel } from "../../agent/definition/language-model.ts";
import type { LlmStream, ToolExec } from "../../agent/directive.ts";
import type { AgentEvent } from "../../agent/event.ts";
import type { ModelAnswer, Usage } from "../../agent/model-call.ts";
import type { Failure } from "../../agent/signal.ts";
import { HeddleError, ignoreRejection } from "../../thread/errors.ts";
import type { LoadModule } from "../../tokens/exact.ts";
import { ModelError } from "../model/failure.ts";
import type { ModelSettings } from "../model/specification.ts";
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
import {
  type Attributes,
  type Context,
  contextOf,
  type Instruments,
  instrumentsOf,
  loadApi,
  MeasuredSpan,
  type OpenTelemetryOptions,
  record,
  recordTokens,
  SPAN_KIND,
  type SpanSource,
  secondsFrom,
} from "./measured-span.ts";
import {
  type AskSpan,
  type AskWork,
  guardTelemetry,
  type ModelSpan,
  type RequestSpan,
  type RequestWork,
  type SentRequest,
  type SummarySpan,
  type SummaryWork,
  type Telemetry,
  type TelemetryScene,
  type ToolSpan,
} from "./telemetry.ts";
import { traceparentOf } from "./trace-context.ts";

const SCOPE = "heddle";

/** Telemetry whose spans and metrics follow the semantic conventions for GenAI. */
export async function spanTelemetry(
  { tracer, meter, recordContent = true }: OpenTelemetryOptions,
  load: LoadModule | undefined,
): Promise<Telemetry> {
  const api = await loadApi(load);
  const requests = new Map<string, InvocationSpan>();
  let instruments: Instruments | undefined;
  const source: SpanSource = {
    api,
    // Created at first use: a meter taken before an SDK is registered never records anything. A tracer does.
    instruments: () => {
      instruments ??= instrumentsOf(meter ?? api.metrics.getMeter(SCOPE));
      return instruments;
    },
    startSpan: (name, kind, attributes, parent) => {
      const span = (tracer ?? api.trace.getTracer(SCOPE)).startSpan(name, { kind, attributes }, parent);
      ignoreRejection(span);
      return span;
    },
    parentOf: (requestId, scene) => requests.get(keyOf(requestId, scene))?.span.context ?? api.context.active(),
    spend: (requestId, scene, costUsd) => requests.get(keyOf(requestId, scene))?.spend(costUsd),
    recordsContent: ({ definition }) => recordContent && !definition.redact,
  };
  return guardTelemetry({
    traceparent: () => traceparentOf(api.trace.getSpanContext(api.context.active())),
    ask: (work, scene) => new AskedSpan(startInvocation(source, work, scene)),
    request: (request, scene) => {
      const key = keyOf(request.requestId, scene);
      const invocation = new InvocationSpan(source, request, scene, () => requests.delete(key));
      requests.set(key, invocation);
      return invocation;
    },
    model: (directive, scene) => startChatSpan(source, directive, scene),
    tool: (directive, scene) => startToolSpan(source, directive, scene),
    summary: (work, scene) => startSummarySpan(source, work, scene),
  });
}

function keyOf(requestId: string | undefined, { threadId }: TelemetryScene): string {
  return `${threadId} ${requestId ?? ""}`;
}

/** Starts the span of a request, in the trace that it was asked in. */
function startInvocation(source: SpanSource, { requestId, traceparent }: AskWork, scene: TelemetryScene): MeasuredSpan {
  const { name } = scene.definition;
  const [model] = scene.transient(requestId).models;
  return new MeasuredSpan(source, scene, {
    name: `invoke_agent ${name}`,
    kind: SPAN_KIND.internal,
    parent: contextOf(source.api, traceparent),
    attributes: {
      "gen_ai.operation.name": "invoke_agent",
      ...(model && modelAttributes(model)),
      ...agentAttributes(scene),
      "heddle.request.id": requestId,
    },
  });
}

/** The span of a request whose ask is not committed yet. */
class AskedSpan implements AskSpan {
  readonly span: MeasuredSpan;

  constructor(span: MeasuredSpan) {
    this.span = span;
  }

  get traceparent(): string | undefined {
    return this.span.traceparent;
  }
}

/** The span of a request. All other spans of the request are its children. */
class InvocationSpan implements RequestSpan {
  readonly span: MeasuredSpan;
  readonly #source: SpanSource;
  readonly #scene: TelemetryScene;
  readonly #agent: string;
  readonly #forget: () => void;
  #costUsd: number | undefined;

  /** `forget` is called when the span ends. */
  constructor(source: SpanSource, request: RequestWork, scene: TelemetryScene, forget: () => void) {
    const { asked, runId, input } = request;
    this.#source = source;
    this.#scene = scene;
    this.#agent = scene.definition.name;
    this.#forget = forget;
    const isOwn = asked instanceof AskedSpan && !asked.span.isEnded; // a suspended request is opened again
    this.span = isOwn ? asked.span : startInvocation(source, request, scene);
    this.span.set({ "heddle.run.id": runId });
    this.span.setContent(() => {
      const content = input?.();
      return content === undefined ? {} : { "gen_ai.input.messages": inputMessages([{ role: "user", content }]) };
    });
  }

  /** Adds the cost of a call. */
  spend(costUsd: number): void {
    this.#costUsd = (this.#costUsd ?? 0) + costUsd;
  }

  event(event: AgentEvent): void {
    if (event.kind === "tool_interrupted") this.#interrupted(event);
    const spanEvent = spanEventOf(event);
    if (spanEvent !== undefined) this.span.addEvent(...spanEvent);
    if (event.kind === "request_cancelled") this.#end("cancelled", usageAttributes(event.data.usage ?? {}));
    if (event.kind === "request_failed") {
      const { usage = {}, failure } = event.data;
      this.#end("failed", usageAttributes(usage), failure);
    }
    if (event.kind !== "request_completed") return;
    const { usage, terminationReason, text: content, finishReason } = event.data;
    this.span.setContent(() => ({
      "gen_ai.output.messages": outputMessages({ content, ...(finishReason && { finishReason }) }),
    }));
    this.#end("completed", { ...usageAttributes(usage), "heddle.termination_reason": terminationReason });
  }

  suspended(): void {
    this.#end("suspended");
  }

  /** The process that began the call has not ended its span. */
  #interrupted({ toolCallId: id, toolName: name, ...of }: Extract<AgentEvent, { kind: "tool_interrupted" }>): void {
    const message = "The call was interrupted, and its outcome is unknown.";
    const ended = { content: "", isError: true, failure: { code: "interrupted", message }, attempts: 0, durationMs: 0 };
    startToolSpan(this.#source, { ...of, call: { id, name } }, this.#scene).ended(ended);
  }

  #end(
    status: "completed" | "failed" | "cancelled" | "suspended",
    attributes: Attributes = {},
    failure?: Failure,
  ): void {
    if (this.span.isEnded) return;
    this.#forget(); // before anything that may throw, so that the context does not stay in memory
    this.span.set({ ...attributes, "gen_ai.usage.cost": this.#costUsd, "heddle.request.status": status });
    if (failure !== undefined) this.span.fail(failure);
    const measured = { "gen_ai.agent.name": this.#agent, "error.type": failure?.code };
    this.span.end(status === "suspended" ? undefined : this.#source.instruments().agentSeconds, measured);
  }
}

interface ChatStart {
  readonly requestId: string | undefined;
  readonly model: Pick<ProviderModel, "provider" | "modelId">;
  readonly attributes: Attributes;
  readonly parent: Context;
}

/** The span of one model call, with its tokens, its cost and the times of its chunks as metrics. */
class ChatSpan implements ModelSpan {
  readonly #source: SpanSource;
  readonly #span: MeasuredSpan;
  readonly #measured: Attributes;
  readonly #scene: TelemetryScene;
  readonly #requestId: string | undefined;
  /** When the call was sent, or the last chunk came. */
  #since: number | undefined;
  #hasChunk = false;

  constructor(source: SpanSource, scene: TelemetryScene, { requestId, model, attributes, parent }: ChatStart) {
    this.#source = source;
    this.#measured = { "gen_ai.operation.name": "chat", ...modelAttributes(model) };
    this.#scene = scene;
    this.#requestId = requestId;
    this.#span = new MeasuredSpan(source, scene, {
      name: `chat ${model.modelId}`,
      kind: SPAN_KIND.client,
      attributes: { ...this.#measured, ...agentAttributes(scene), ...attributes },
      parent,
    });
  }

  within<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#span.within(work);
  }

  sending({ messages, settings }: SentRequest): void {
    this.#since = this.#span.now();
    this.#span.set(settingsAttributes(settings));
    this.#span.setContent(() => ({ "gen_ai.input.messages": inputMessages(messages) }));
  }

  received(): void {
    if (this.#since === undefined || this.#span.isEnded) return;
    const now = this.#span.now();
    const seconds = secondsFrom(this.#since, now);
    const { firstChunkSeconds, chunkSeconds } = this.#source.instruments();
    const isFirst = !this.#hasChunk;
    this.#since = now;
    this.#hasChunk = true;
    if (isFirst) this.#span.set({ "gen_ai.response.time_to_first_chunk": seconds });
    record(isFirst ? firstChunkSeconds : chunkSeconds, seconds, this.#measured);
  }

  answered(answer: ModelAnswer, costUsd?: number): void {
    if (this.#span.isEnded) return;
    this.#span.set(answerAttributes(answer));
    this.#span.setContent(() => ({ "gen_ai.output.messages": outputMessages(answer) }));
    const measured = { ...this.#measured, "gen_ai.response.model": answer.response?.modelId };
    this.#end({ usage: answer.usage, costUsd }, measured);
  }

  failed(failure: Failure, usage: Usage = {}, costUsd?: number): void {
    if (this.#span.isEnded) return;
    this.#span.set(usageAttributes(usage));
    this.#span.fail(failure);
    this.#end({ usage, costUsd }, { ...this.#measured, "error.type": failure.code });
  }

  #end(
    { usage, costUsd }: { readonly usage: Usage; readonly costUsd: number | undefined },
    attributes: Attributes,
  ): void {
    if (costUsd !== undefined) this.#source.spend(this.#requestId, this.#scene, costUsd);
    this.#span.set({ "gen_ai.usage.cost": costUsd });
    const { modelSeconds, tokens, cost } = this.#source.instruments();
    this.#span.end(modelSeconds, attributes);
    recordTokens(tokens, usage, attributes);
    if (costUsd !== undefined) record(cost, costUsd, attributes);
  }
}

/** Starts the span of a model call of a request. */
function startChatSpan(source: SpanSource, directive: LlmStream, scene: TelemetryScene): ChatSpan {
  const { definition } = scene;
  const { basis, settings, requestId, modelIndex = 0 } = directive;
  const [provider = "", ...modelId] = (basis.model ?? "").split(":");
  return new ChatSpan(source, scene, {
    requestId,
    model: scene.transient(requestId).models[modelIndex] ?? { provider, modelId: modelId.join(":") },
    parent: source.parentOf(requestId, scene),
    attributes: {
      ...settingsAttributes(settings as ModelSettings), // made from the fields of the definition
      ...(definition.streaming && { "gen_ai.request.stream": true }),
      ...directiveAttributes(directive),
      "heddle.lane": basis.lane,
      "heddle.estimated_tokens": basis.estimatedTokens,
      "heddle.view.start_seq": basis.view.startSeq,
      "heddle.view.summary_seq": basis.view.summarySeq,
    },
  });
}

/** A tool call. Its arguments are only in the directive. */
type NamedCall = Pick<ToolExec, "requestId" | "runId" | "iteration"> & {
  readonly callId?: string;
  readonly call: Pick<ToolExec["call"], "id" | "name"> & Partial<ToolExec["call"]>;
};

/** Starts the span of one tool call. */
function startToolSpan(source: SpanSource, directive: NamedCall, scene: TelemetryScene): ToolSpan {
  const { call, requestId } = directive;
  // A model can make up any number of unknown names, so they share one.
  const name = Object.hasOwn(scene.tools(), call.name) ? call.name : "_OTHER";
  const measured = { "gen_ai.tool.name": name, "gen_ai.tool.type": "function" };
  const { "gen_ai.agent.name": agent, ...conversation } = agentAttributes(scene);
  const span = new MeasuredSpan(source, scene, {
    name: `execute_tool ${name}`,
    kind: SPAN_KIND.internal,
    parent: source.parentOf(requestId, scene),
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      ...measured,
      "gen_ai.tool.call.id": call.id,
      "gen_ai.agent.name": agent,
      ...conversation,
      ...directiveAttributes(directive),
    },
  });
  const { arguments: args } = call;
  if (args !== undefined) span.setContent(() => ({ "gen_ai.tool.call.arguments": JSON.stringify(args) }));
  return {
    within: (work) => span.within(work),
    ended: ({ failure, isError, content, attempts }) => {
      if (span.isEnded) return;
      span.set({ "heddle.attempts": attempts });
      if (failure !== undefined) span.fail(failure);
      if (!isError) span.setContent(() => ({ "gen_ai.tool.call.result": resultContent(content) }));
      const { toolSeconds } = source.instruments();
      span.end(toolSeconds, { ...measured, "gen_ai.agent.name": agent, "error.type": failure?.code });
    },
  };
}

/** Starts the span of a summary. If a model writes the summary, the span has a child for that call. */
function startSummarySpan(source: SpanSource, work: SummaryWork, scene: TelemetryScene): SummarySpan {
  const { range, requestId, model: named } = work;
  const { definition } = scene;
  const attributes = {
    "heddle.request.id": requestId,
    "heddle.summary.from_seq": range.fromSeq,
    "heddle.summary.to_seq": range.toSeq,
  };
  const span = new MeasuredSpan(source, scene, {
    name: "heddle.summarize",
    kind: SPAN_KIND.internal,
    parent: source.parentOf(requestId, scene),
    attributes: { ...agentAttributes(scene), ...attributes },
  });
  const model = named === undefined ? scene.transient(requestId).models[0] : definition.models?.[named];
  const isAsked = definition.summarizer === undefined && model !== undefined;
  const chat = isAsked
    ? new ChatSpan(source, scene, { requestId, model, attributes, parent: span.context })
    : undefined;
  return {
    within: (run) => (chat ?? span).within(run),
    answered: (answer, costUsd) => chat?.answered(answer, costUsd),
    ended: () => span.end(),
    failed: (error, costUsd) => {
      if (span.isEnded) return;
      const failure = failureOf(error);
      chat?.failed(failure, ModelError.isInstance(error) ? error.partial?.usage : undefined, costUsd); // does nothing if the model has answered
      span.fail(failure);
      span.end();
    },
  };
}

function failureOf(error: unknown): { readonly code: string; readonly message: string } {
  if (HeddleError.isInstance(error)) return { code: error.code, message: error.message };
  return { code: "_OTHER", message: "The summarizer threw an error." };
}

/** Events of a request that have no span of their own become events of its span, without content. */
function spanEventOf(event: AgentEvent): readonly [name: string, attributes: Attributes] | undefined {
  const tool = { "gen_ai.tool.name": event.toolName, "gen_ai.tool.call.id": event.toolCallId };
  switch (event.kind) {
    case "llm_retried": {
      const { failure, attempt, waitMs } = event.data;
      const attributes = { "heddle.call.id": event.callId, "error.type": failure.code, "heddle.attempt": attempt };
      return ["heddle.llm_retried", { ...attributes, "heddle.wait_ms": waitMs }];
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
