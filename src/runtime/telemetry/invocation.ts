import type { AgentEvent } from "../../agent/event.ts";
import type { Failure } from "../../agent/signal.ts";
import { type Attributes, SPAN_KIND } from "./api.ts";
import { agentAttributes, directiveAttributes, modelAttributes, usageAttributes } from "./attributes.ts";
import { noteOf } from "./note.ts";
import { Operation, type Telling } from "./operation.ts";
import type { RequestSpan, TelemetryScene } from "./telemetry.ts";

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
