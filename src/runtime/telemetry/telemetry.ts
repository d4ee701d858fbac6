import type { AnyAgent } from "../../agent/definition/config.ts";
import type { ProviderModel } from "../../agent/definition/language-model.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { LlmStream, ToolExec } from "../../agent/directive.ts";
import type { AgentEvent } from "../../agent/event.ts";
import type { ModelAnswer, Usage } from "../../agent/model-call.ts";
import type { Failure } from "../../agent/signal.ts";
import type { SummaryRange } from "../../projection/summary/summary-range.ts";
import { ignoreRejection } from "../../thread/errors.ts";
import type { Message } from "../../thread/message.ts";
import type { ModelSettings } from "../model/specification.ts";
import type { RuntimePorts } from "../ports.ts";
import type { ToolRunResult } from "../tools/outcome.ts";

/** The thread and the agent that a span belongs to. */
export interface TelemetryScene {
  readonly definition: AnyAgent;
  readonly threadId: string;
  readonly ports: RuntimePorts;
  readonly tools: () => Tools;
  readonly lent: (requestId: string | undefined) => { readonly models: readonly ProviderModel[] };
}

/** The span of a request, from its ask to its end. */
export interface RequestSpan {
  /** Called with every event, in order. The terminal event is the last. */
  event(event: AgentEvent): void;
  /** The request has ended in this process only. It is resumed where its thread is started next. */
  suspended(): void;
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

/** The span of a model call. It ends with the first call of `answered` or `failed`. */
export interface ModelSpan extends WorkSpan {
  sending(sent: SentRequest): void;
  answered(answer: ModelAnswer): void;
  /** `usage` has the tokens used before the failure. */
  failed(failure: Failure, usage?: Usage): void;
}

/** The span of one tool call, with its retries. */
export interface ToolSpan extends WorkSpan {
  ended(result: ToolRunResult): void;
}

/** The span of one summary. */
export interface SummarySpan extends WorkSpan {
  /** Called with the answer of the model that was asked for the summary. The summary may still be refused. */
  answered(answer: ModelAnswer): void;
  ended(): void;
  failed(error: unknown): void;
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
  request(of: { readonly requestId: string; readonly runId: string }, scene: TelemetryScene): RequestSpan;
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
    request: (of, scene) => {
      const span = startSpan(
        () => telemetry.request(of, scene),
        () => noTelemetry.request(of, scene),
      );
      return {
        event: (event) => ignoreErrors(() => span.event(event)),
        suspended: () => ignoreErrors(() => span.suspended()),
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
        answered: (answer) => ignoreErrors(() => span.answered(answer)),
        failed: (failure, usage) => ignoreErrors(() => span.failed(failure, usage)),
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
        answered: (answer) => ignoreErrors(() => span.answered(answer)),
        ended: () => ignoreErrors(() => span.ended()),
        failed: (error) => ignoreErrors(() => span.failed(error)),
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
