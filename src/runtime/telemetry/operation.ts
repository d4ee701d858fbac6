import type { Failure } from "../../agent/signal.ts";
import type { RuntimePorts } from "../ports.ts";
import {
  type Attributes,
  type Context,
  type Histogram,
  known,
  type Span,
  STATUS_ERROR,
  type TelemetryApi,
} from "./api.ts";
import type { Instruments } from "./instruments.ts";
import type { TelemetryScene } from "./telemetry.ts";

/** What all spans of one `openTelemetry()` share. */
export interface Telling {
  readonly api: TelemetryApi;
  readonly instruments: () => Instruments;
  /** What a span of this request stands in; without a request that is known, whatever is active. */
  readonly parentOf: (requestId: string | undefined, scene: TelemetryScene) => Context;
  readonly startSpan: (name: string, kind: number, attributes: Attributes, parent: Context) => Span;
  /** Whether prompts, texts, arguments and results may be told. */
  readonly tellsContent: (scene: TelemetryScene) => boolean;
}

export interface Begun {
  readonly name: string;
  readonly kind: number;
  readonly attributes: Attributes;
  readonly parent: Context;
}

/** A span from its begin to its end, which comes once. Its time on traces is the tracer's, its measured one the runtime's. */
export class Operation {
  readonly context: Context;
  readonly #telling: Telling;
  readonly #span: Span;
  readonly #tellsContent: boolean;
  readonly #clock: RuntimePorts["clock"];
  readonly #began: number;
  #ended = false;

  constructor(telling: Telling, scene: TelemetryScene, { name, kind, attributes, parent }: Begun) {
    this.#telling = telling;
    this.#clock = scene.ports.clock;
    this.#began = this.#clock();
    this.#tellsContent = telling.tellsContent(scene);
    this.#span = telling.startSpan(name, kind, known(attributes), parent);
    this.context = telling.api.trace.setSpan(parent, this.#span);
  }

  get isEnded(): boolean {
    return this.#ended;
  }

  within<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#telling.api.context.with(this.context, work);
  }

  say(attributes: Attributes): void {
    this.#span.setAttributes(known(attributes));
  }

  /** What only agents that allow it tell; it is not even made for others. */
  sayContent(attributes: () => Attributes): void {
    if (this.#tellsContent) this.#span.setAttributes(attributes());
  }

  note(event: string, attributes: Attributes): void {
    this.#span.addEvent(event, known(attributes));
  }

  /** The words of a failure may be a tool's own, and name what it was given: without leave only the code is told. */
  fail({ code, message }: Failure): void {
    this.#span.setAttributes({ "error.type": code });
    this.#span.setStatus({ code: STATUS_ERROR, ...(this.#tellsContent && { message }) });
  }

  end(seconds?: Histogram, attributes: Attributes = {}): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#span.end();
    seconds?.record(Math.max(0, this.#clock() - this.#began) / 1000, known(attributes));
  }
}
