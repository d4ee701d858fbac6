import fc from "fast-check";
import { numberedPorts } from "heddle/testing";
import { expect, test } from "vitest";
import { cmd } from "../../src/agent/cmd.ts";
import type { Directive } from "../../src/agent/directive.ts";
import { type ReactAgent, reactAgent } from "../../src/agent/react/agent.ts";
import { type ReactSettings, reactSettings } from "../../src/agent/react/settings.ts";
import type { Signal, SteerKind } from "../../src/agent/signal.ts";
import { CALCULATOR } from "../agent/support/calculator.ts";
import { expectOften } from "../support/case-budget.ts";

type Task = Extract<Directive, { type: "llm_stream" | "tool_exec" | "summarize" }>;

const move = fc.oneof(
  fc.record({ type: fc.constant("work" as const), calls: fc.nat({ max: 2 }), size: fc.nat({ max: 9000 }) }),
  fc.record({
    type: fc.constant("words" as const),
    steer: fc.constantFrom<SteerKind>("steer", "inject", "follow_up"),
    size: fc.oneof(fc.nat({ max: 400 }), fc.nat({ max: 4000 })),
  }),
);
const settings = fc.record({
  steering: fc.constantFrom("all" as const, "one" as const),
  followUps: fc.constantFrom("all" as const, "one" as const),
  autoSummarize: fc.boolean(),
});

test("words that were accepted are shown to the model, and never keep a request from its end or an ask from its begin", () => {
  const seen = { cases: 0, shown: 0, refused: 0 };
  fc.assert(
    fc.property(settings, fc.array(move, { minLength: 10, maxLength: 80, size: "max" }), (options, moves) => {
      seen.cases++;
      const desk = new Desk(options);
      for (const one of moves) {
        if (one.type === "words") desk.words(one.steer, one.size);
        else if (desk.isAtRest) desk.ask(one.size);
        else desk.work(one.calls, one.size);
      }
      while (!desk.isAtRest) desk.work(0, 20);
      desk.ask(20);
      while (!desk.isAtRest) desk.work(0, 20);
      seen.shown += desk.shown;
      seen.refused += desk.refused;
    }),
    { numRuns: 300 },
  );
  expectOften(seen.shown, seen.cases, 2);
  expectOften(seen.refused, seen.cases, 1 / 2);
});

/** An agent with a small window. Each thing that is done to it is checked. */
class Desk {
  shown = 0;
  refused = 0;
  #agent: ReactAgent;
  #tasks: Task[] = [];
  #count = 0;
  /** The accepted words that were not delivered yet, by id. */
  /** The words that the next call has to show. It may come after a summary. */
  #delivered: string[] = [];
  readonly #waiting = new Map<string, string>();

  constructor({ autoSummarize, ...options }: { readonly autoSummarize: boolean } & Partial<ReactSettings>) {
    const policy = { maxInputTokens: 1200, reserveOutputTokens: 200, autoSummarize };
    const all = { ...CALCULATOR, ...options, summarizes: true, contextPolicy: policy };
    this.#agent = reactAgent(reactSettings(all), numberedPorts());
  }

  get isAtRest(): boolean {
    return this.#agent.state.run === undefined;
  }

  ask(size: number): void {
    const refusals = this.#signal({ type: "ask", content: this.#text("ask", size % 2000) });
    expect(refusals.filter(({ type }) => type === "emit_request_error")).toEqual([]);
  }

  words(steer: SteerKind, size: number): void {
    const content = this.#text(steer, size);
    const id = `steer_${this.#count}`;
    this.#waiting.set(id, content);
    const ends = this.#signal({ type: "steer", id, steer, content });
    if (ends.some(({ type }) => type === "settle")) this.refused++;
  }

  /** The oldest work comes to its end. */
  work(calls: number, size: number): void {
    const task = this.#tasks.shift();
    if (task?.type === "llm_stream") {
      const toolCalls = Array.from({ length: calls }, (_, n) => ({ id: `c${n}`, name: "add", arguments: {} }));
      const answer = { content: this.#text("answer", size % 500), toolCalls, usage: {}, finishReason: "stop" } as const;
      this.#signal({ type: "llm_result", callId: task.callId, answer });
    } else if (task?.type === "tool_exec") {
      const outcome = { content: this.#text("result", size), isError: false };
      this.#signal({ type: "tool_result", callId: task.callId, toolCallId: task.call.id, outcome });
    } else if (task?.type === "summarize") {
      const { fromSeq, toSeq } = task.range;
      this.#signal({ type: "summary_result", lane: task.lane, payload: { fromSeq, toSeq, content: "Before." } });
    }
  }

  #signal(signal: Signal): readonly Directive[] {
    const { agent, directives } = cmd(this.#agent, signal);
    this.#agent = agent;
    const delivered = directives.flatMap((directive) => {
      if (directive.type !== "settle") return [];
      const content = this.#waiting.get(directive.id);
      this.#waiting.delete(directive.id);
      return directive.end.status === "delivered" && content !== undefined ? [content] : [];
    });
    const calls = directives.filter((directive) => directive.type === "llm_stream");
    this.#delivered.push(...delivered);
    if (calls.length > 0) {
      for (const content of this.#delivered) expect(JSON.stringify(calls)).toContain(content);
      this.shown += this.#delivered.length;
      this.#delivered = [];
    }
    for (const directive of directives) {
      if (directive.type === "emit") expect(directive.event.kind).not.toBe("request_failed");
      if (directive.type === "llm_stream" || directive.type === "tool_exec" || directive.type === "summarize")
        this.#tasks.push(directive);
      if (directive.type === "stop") this.#tasks = [];
    }
    return directives;
  }

  #text(what: string, size: number): string {
    return `${what} ${this.#count++} ${"x".repeat(size)}.`;
  }
}
