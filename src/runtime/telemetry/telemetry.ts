import type { AnyAgent } from "../../agent/definition/config.ts";
import type { Tools } from "../../agent/definition/tool.ts";
import type { LlmStream, ToolExec } from "../../agent/directive.ts";
import type { AgentEvent } from "../../agent/event.ts";
import type { ModelAnswer, Usage } from "../../agent/model-call.ts";
import type { Failure } from "../../agent/signal.ts";
import type { SummaryRange } from "../../projection/summary/summary-range.ts";
import type { Message } from "../../thread/message.ts";
import type { ModelSettings } from "../model/settings.ts";
import type { RuntimePorts } from "../ports.ts";
import type { ToolRunResult } from "../tools/outcome.ts";

/** Where something happens: what telemetry may look at. */
export interface TelemetryScene {
  readonly definition: AnyAgent;
  readonly threadId: string;
  readonly ports: RuntimePorts;
  readonly tools: () => Tools;
}

/** A whole request. */
export interface RequestSpan {
  /** Told of every event, in order. The terminal one is the last. */
  event(event: AgentEvent): void;
  /** The request goes on where its thread is started again; here nothing more happens to it. */
  suspended(): void;
}

/** What a span is around. */
interface Around {
  /** Begins the work at once, exactly once, as a part of the span: what it traces itself belongs below. */
  within<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** What goes to a model, after everybody who may change it. */
export interface SentRequest {
  readonly messages: readonly Message[];
  readonly settings: ModelSettings;
}

/** A model call, its retries included. The first of `answered` and `failed` is the last word. */
export interface ModelSpan extends Around {
  sending(sent: SentRequest): void;
  answered(answer: ModelAnswer): void;
  /** `usage` is what was used until then. */
  failed(failure: Failure, usage?: Usage): void;
}

/** One call of a tool, its retries included. */
export interface ToolSpan extends Around {
  ended(result: ToolRunResult): void;
}

/** The writing of a summary. */
export interface SummarySpan extends Around {
  /** A model was asked for it, and said this; whether it is taken is another question. */
  answered(answer: ModelAnswer): void;
  ended(): void;
  failed(error: unknown): void;
}

/** A summary that is to be written. */
export interface SummaryWork {
  readonly range: SummaryRange;
  /** Absent when somebody asked for it outside of a request. */
  readonly requestId?: string | undefined;
  /** The model that the policy names. */
  readonly model?: string | undefined;
}

/**
 * Is told what the runtime does. Model calls, tools and summaries of a request are told between its `request` and its end.
 * What an implementation throws is swallowed.
 */
export interface Telemetry {
  request(of: { readonly requestId: string; readonly runId: string }, scene: TelemetryScene): RequestSpan;
  model(directive: LlmStream, scene: TelemetryScene): ModelSpan;
  tool(directive: ToolExec, scene: TelemetryScene): ToolSpan;
  summary(of: SummaryWork, scene: TelemetryScene): SummarySpan;
}

const nothing = (): void => undefined;
const within: Around["within"] = (work) => work();

/** Tells nobody. */
export const silent: Telemetry = {
  request: () => ({ event: nothing, suspended: nothing }),
  model: () => ({ within, sending: nothing, answered: nothing, failed: nothing }),
  tool: () => ({ within, ended: nothing }),
  summary: () => ({ within, answered: nothing, ended: nothing, failed: nothing }),
};

type Within = ToolSpan["within"];

/** The same telemetry, which can no longer hurt: what it throws changes nothing for the run. */
export function guarded(telemetry: Telemetry): Telemetry {
  return {
    request: (of, scene) => {
      const span = begun(
        () => telemetry.request(of, scene),
        () => silent.request(of, scene),
      );
      return {
        event: (event) => quietly(() => span.event(event)),
        suspended: () => quietly(() => span.suspended()),
      };
    },
    model: (directive, scene) => {
      const span = begun(
        () => telemetry.model(directive, scene),
        () => silent.model(directive, scene),
      );
      return {
        within: (work) => once((run) => span.within(run), work),
        sending: (sent) => quietly(() => span.sending(sent)),
        answered: (answer) => quietly(() => span.answered(answer)),
        failed: (failure, usage) => quietly(() => span.failed(failure, usage)),
      };
    },
    tool: (directive, scene) => {
      const span = begun(
        () => telemetry.tool(directive, scene),
        () => silent.tool(directive, scene),
      );
      return {
        within: (work) => once((run) => span.within(run), work),
        ended: (result) => quietly(() => span.ended(result)),
      };
    },
    summary: (of, scene) => {
      const span = begun(
        () => telemetry.summary(of, scene),
        () => silent.summary(of, scene),
      );
      return {
        within: (work) => once((run) => span.within(run), work),
        answered: (answer) => quietly(() => span.answered(answer)),
        ended: () => quietly(() => span.ended()),
        failed: (error) => quietly(() => span.failed(error)),
      };
    },
  };
}

function quietly(tell: () => void): void {
  try {
    tell();
  } catch {
    // whoever listens has lost a word, and the run goes on
  }
}

function begun<Span>(begin: () => Span, otherwise: () => Span): Span {
  try {
    return begin();
  } catch {
    return otherwise();
  }
}

/** The work is done once, and its own outcome is what comes back, whatever becomes of the span around it. */
function once<Result>(within: Within, work: () => Promise<Result>): Promise<Result> {
  let running: Promise<Result> | undefined;
  const run = (): Promise<Result> => {
    running ??= started(work);
    return running;
  };
  quietly(() => void Promise.resolve(within(run)).catch(() => undefined));
  return run();
}

/** A throw before the first await is a rejection too. */
async function started<Result>(work: () => Promise<Result>): Promise<Result> {
  return work();
}
