import { noTelemetry, type Telemetry, type TelemetryScene } from "../../runtime/telemetry/telemetry.ts";

/** A line of the log. It has no text of users, models or tools. */
export interface LogLine {
  readonly level: "info" | "warn" | "error";
  readonly event: string;
  readonly [field: string]: string | number | boolean | undefined;
}

type Labels = Readonly<Record<string, string>>;

/** Counters by name and labels, in the text format of Prometheus. */
class Counters {
  readonly #values = new Map<string, number>();

  add(name: string, labels: Labels, amount = 1): void {
    const given = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
    const key = given.length === 0 ? name : `${name}{${given.join(",")}}`;
    this.#values.set(key, (this.#values.get(key) ?? 0) + amount);
  }

  lines(): readonly string[] {
    const names = new Set<string>();
    return [...this.#values].toSorted(byName).flatMap(([key, value]) => {
      const [name = ""] = key.split("{", 1);
      const type = names.has(name) ? [] : [`# TYPE ${name} counter`];
      names.add(name);
      return [...type, `${key} ${value}`];
    });
  }
}

function byName([a]: readonly [string, number], [b]: readonly [string, number]): number {
  return a < b ? -1 : 1;
}

function escaped(text: string): string {
  return text.replace(/["\\\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));
}

/** Counts and logs the work of a host. */
export interface Monitor {
  /** Also calls `inner`. */
  readonly telemetry: (inner?: Telemetry) => Telemetry;
  /** The counters, with these values of the moment. */
  readonly metrics: (gauges: Readonly<Record<string, number>>) => string;
}

export function monitorOf(log: (line: LogLine) => void, now: () => number = () => performance.now()): Monitor {
  const counters = new Counters();
  const timed = (name: string, labels: Labels, began: number): number => {
    const ms = now() - began;
    counters.add(`heddle_${name}_seconds_sum`, labels, ms / 1000);
    counters.add(`heddle_${name}_seconds_count`, labels);
    return Math.round(ms);
  };
  const agentOf = ({ definition }: TelemetryScene): Labels => ({ agent: definition.name });

  const telemetry = (inner: Telemetry = noTelemetry): Telemetry => ({
    ...inner,
    request(of, scene) {
      const span = inner.request(of, scene);
      const began = now();
      const { requestId } = of;
      const { threadId, definition } = scene;
      const ended = (result: string, code?: string): void => {
        counters.add("heddle_requests_total", { ...agentOf(scene), result });
        const ms = timed("request", agentOf(scene), began);
        const level = result === "failed" ? "error" : "info";
        log({ level, event: `request_${result}`, agent: definition.name, threadId, requestId, ms, code });
      };
      log({ level: "info", event: "request_started", agent: definition.name, threadId, requestId });
      return {
        event(event) {
          if (event.kind === "request_completed") ended("completed");
          if (event.kind === "request_cancelled") ended("cancelled");
          if (event.kind === "request_failed") ended("failed", event.data.failure.code);
          if (event.kind === "tool_interrupted") {
            const { kind, toolCallId, toolName } = event;
            counters.add("heddle_tool_calls_total", { ...agentOf(scene), result: "interrupted" });
            const names = { agent: definition.name, threadId, requestId, toolCallId, toolName };
            log({ level: "warn", event: kind, ...names });
          }
          span.event(event);
        },
        suspended(waits) {
          if (waits) log({ level: "info", event: "request_waiting", agent: definition.name, threadId, requestId });
          else ended("suspended");
          span.suspended(waits);
        },
      };
    },
    model(directive, scene) {
      const span = inner.model(directive, scene);
      const began = now();
      const ended = (
        result: string,
        usage: { readonly inputTokens?: number; readonly outputTokens?: number },
      ): void => {
        counters.add("heddle_model_calls_total", { ...agentOf(scene), result });
        timed("model_call", agentOf(scene), began);
        counters.add("heddle_tokens_total", { ...agentOf(scene), type: "input" }, usage.inputTokens ?? 0);
        counters.add("heddle_tokens_total", { ...agentOf(scene), type: "output" }, usage.outputTokens ?? 0);
      };
      return {
        within: (work) => span.within(work),
        sending: (sent) => span.sending(sent),
        received: () => span.received?.(),
        answered(answer, costUsd) {
          ended("answered", answer.usage);
          span.answered(answer, costUsd);
        },
        failed(failure, usage, costUsd) {
          ended("failed", usage ?? {});
          const { threadId, definition } = scene;
          log({ level: "warn", event: "model_failed", agent: definition.name, threadId, code: failure.code });
          span.failed(failure, usage, costUsd);
        },
      };
    },
    tool(directive, scene) {
      const span = inner.tool(directive, scene);
      const began = now();
      return {
        within: (work) => span.within(work),
        ended(result) {
          const { failure, isError } = result;
          const label = isError || failure !== undefined ? "failed" : "completed";
          counters.add("heddle_tool_calls_total", { ...agentOf(scene), result: label });
          timed("tool_call", agentOf(scene), began);
          span.ended(result);
        },
      };
    },
  });

  return {
    telemetry,
    metrics(gauges) {
      const lines = Object.entries(gauges).flatMap(([name, value]) => [`# TYPE ${name} gauge`, `${name} ${value}`]);
      return `${[...lines, ...counters.lines()].join("\n")}\n`;
    },
  };
}
