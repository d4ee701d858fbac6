import type { AnyAgent } from "../../agent/definition/config.ts";
import type { ProviderModel } from "../../agent/definition/language-model.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { LlmStream, ToolExec } from "../../agent/directive.ts";
import type { AgentEvent } from "../../agent/event.ts";
import type { ModelAnswer, Usage } from "../../agent/model-call.ts";
import type { Failure } from "../../agent/signal.ts";
import type { SummaryRange } from "../../projection/summary/summary-range.ts";
import { ignoreRejection } from "../../thread/errors.ts";
import type { Content, Message } from "../../thread/message.ts";
import type { ModelSettings } from "../model/specification.ts";
import type { RuntimePorts } from "../ports.ts";
import type { ToolRunResult } from "../tools/outcome.ts";
import { readTraceparent } from "./trace-context.ts";

/** The thread and the agent that a span belongs to. */
export interface TelemetryScene {
  readonly definition: AnyAgent;
  readonly threadId: string;
  readonly ports: RuntimePorts;
  readonly tools: () => Tools;
  readonly transient: (requestId: string | undefined) => { readonly models: readonly ProviderModel[] };
}

/** An ask that is about to be committed. */
export interface AskWork {
  readonly requestId: string;
  /** The trace of the caller, if there is one. */
  readonly traceparent?: string | undefined;
}

/** The span of a request whose ask is not committed yet. If the ask is refused, `request` is never called with it. */
export interface AskSpan {
  /** Stored with the ask, so that every process that runs the request has the same trace. */
  readonly traceparent?: string | undefined;
}

/** A request that begins or is resumed here. */
export interface RequestWork {
  readonly requestId: string;
  readonly runId: string;
  /** The answer of `ask`. Undefined when the request is resumed. */
  readonly asked?: AskSpan | undefined;
  /** The trace that is stored with the ask. */
  readonly traceparent?: string | undefined;
  /** The content of the ask, if it is loaded. */
  readonly input?: () => Content | undefined;
}

/** The span of a request, from its ask to its end. */
export interface RequestSpan {
  /** Called with every event, in order. The terminal event is the last. */
  event(event: AgentEvent): void;
  /**
   * The request has ended in this process only. It is resumed where its thread is started next. `waits`: it waits for a person, an
   * answer or a time, and nothing runs before that.
   */
  suspended(waits?: boolean): void;
}

/** A span that encloses work. */
interface WorkSpan {
  /** Starts the work at once, and once only, with this span as the active one, so that spans of the work are its children. */
  within<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** The request to a model as it is sent, after `transformRequest`. */
export interface SentRequest {
  readonly messages: readonly Message[];
  readonly settings: ModelSettings;
}

/** The span of a model call. It ends with the first call of `answered` or `failed`. `costUsd` is by `limits.costUsd` of the agent. */
export interface ModelSpan extends WorkSpan {
  sending(sent: SentRequest): void;
  /** Called with each piece of a streamed answer. */
  received?(): void;
  answered(answer: ModelAnswer, costUsd?: number): void;
  /** `usage` has the tokens used before the failure. */
  failed(failure: Failure, usage?: Usage, costUsd?: number): void;
}

/** The span of one tool call, with its retries. */
export interface ToolSpan extends WorkSpan {
  ended(result: ToolRunResult): void;
}

/** The span of one summary. */
export interface SummarySpan extends WorkSpan {
  /** Called with the answer of the model that was asked for the summary. The summary may still be refused. */
  answered(answer: ModelAnswer, costUsd?: number): void;
  ended(): void;
  failed(error: unknown, costUsd?: number): void;
}

/** The summary that a span belongs to. */
export interface SummaryWork {
  readonly range: SummaryRange;
  /** Undefined when the summary was asked for outside a request. */
  readonly requestId?: string | undefined;
  /** The model that the policy names. */
  readonly model?: string | undefined;
}

/**
 * Creates spans for the work of the runtime. `request` is called before the other functions are called for that request.
 * Errors that an implementation throws are ignored.
 */
export interface Telemetry {
  /** The trace that is active where an ask is made, as a header `traceparent`. Default: none. */
  traceparent?(): string | undefined;
  /** Called before an ask is committed. Default: the trace of the caller is stored with the ask. */
  ask?(of: AskWork, scene: TelemetryScene): AskSpan | undefined;
  request(of: RequestWork, scene: TelemetryScene): RequestSpan;
  model(directive: LlmStream, scene: TelemetryScene): ModelSpan;
  tool(directive: ToolExec, scene: TelemetryScene): ToolSpan;
  summary(of: SummaryWork, scene: TelemetryScene): SummarySpan;
}

const nothing = (): void => undefined;
const within: WorkSpan["within"] = (work) => work();

/** Telemetry that records nothing. */
export const noTelemetry: Telemetry = {
  request: () => ({ event: nothing, suspended: nothing }),
  model: () => ({ within, sending: nothing, answered: nothing, failed: nothing }),
  tool: () => ({ within, ended: nothing }),
  summary: () => ({ within, answered: nothing, ended: nothing, failed: nothing }),
};

/** The same telemetry, but errors that it throws are ignored. */
export function guardTelemetry(telemetry: Telemetry): Telemetry {
  return {
    traceparent: () => {
      const traceparent = startSpan(
        () => telemetry.traceparent?.(),
        () => undefined,
      );
      return readTraceparent(traceparent) && traceparent;
    },
    ask: (of, scene) =>
      startSpan(
        () => {
          const asked = telemetry.ask?.(of, scene);
          return asked?.traceparent === undefined || readTraceparent(asked.traceparent) ? asked : undefined;
        },
        () => undefined,
      ),
    request: (of, scene) => {
      const span = startSpan(
        () => telemetry.request(of, scene),
        () => noTelemetry.request(of, scene),
      );
      return {
        event: (event) => ignoreErrors(() => span.event(event)),
        suspended: (waits) => ignoreErrors(() => span.suspended(waits)),
      };
    },
    model: (directive, scene) => {
      const span = startSpan(
        () => telemetry.model(directive, scene),
        () => noTelemetry.model(directive, scene),
      );
      return {
        within: (work) => runInside((run) => span.within(run), work),
        sending: (sent) => ignoreErrors(() => span.sending(sent)),
        received: () => ignoreErrors(() => span.received?.()),
        answered: (answer, costUsd) => ignoreErrors(() => span.answered(answer, costUsd)),
        failed: (failure, usage, costUsd) => ignoreErrors(() => span.failed(failure, usage, costUsd)),
      };
    },
    tool: (directive, scene) => {
      const span = startSpan(
        () => telemetry.tool(directive, scene),
        () => noTelemetry.tool(directive, scene),
      );
      return {
        within: (work) => runInside((run) => span.within(run), work),
        ended: (result) => ignoreErrors(() => span.ended(result)),
      };
    },
    summary: (of, scene) => {
      const span = startSpan(
        () => telemetry.summary(of, scene),
        () => noTelemetry.summary(of, scene),
      );
      return {
        within: (work) => runInside((run) => span.within(run), work),
        answered: (answer, costUsd) => ignoreErrors(() => span.answered(answer, costUsd)),
        ended: () => ignoreErrors(() => span.ended()),
        failed: (error, costUsd) => ignoreErrors(() => span.failed(error, costUsd)),
      };
    },
  };
}

function ignoreErrors(record: () => unknown): void {
  try {
    ignoreRejection(record());
  } catch {
    // A failing tracer must not fail the request.
  }
}

function startSpan<Span>(start: () => Span, fallback: () => Span): Span {
  try {
    const span = start();
    ignoreRejection(span);
    return span;
  } catch {
    return fallback();
  }
}

/** Runs the work once and returns its result, even if the span throws, or calls the work twice or not at all. */
function runInside<Result>(within: WorkSpan["within"], work: () => Promise<Result>): Promise<Result> {
  let running: Promise<Result> | undefined;
  const run = (): Promise<Result> => {
    running ??= runAsync(work);
    return running;
  };
  ignoreErrors(() => within(run));
  return run();
}

/** Turns an error thrown before the first await into a rejection. */
async function runAsync<Result>(work: () => Promise<Result>): Promise<Result> {
  return work();
}
