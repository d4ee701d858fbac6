import fc from "fast-check";
import { numberedPorts } from "heddle/testing";
import { cmd } from "../../../src/agent/cmd.ts";
import type { Directive } from "../../../src/agent/directive.ts";
import type { AgentEvent, EventDraft } from "../../../src/agent/event.ts";
import { type ReactAgent, reactAgent } from "../../../src/agent/react/agent.ts";
import { restore } from "../../../src/agent/react/restore.ts";
import { type ReactSettings, reactSettings } from "../../../src/agent/react/settings.ts";
import { evolve } from "../../../src/agent/react/state.ts";
import type { Signal } from "../../../src/agent/signal.ts";
import type { ContextOperation } from "../../../src/lanes/context-operation.ts";
import { HeddleError } from "../../../src/thread/errors.ts";
import type { Thread } from "../../../src/thread/thread.ts";
import { CALCULATOR } from "./calculator.ts";
import { summaryFailed } from "./failed-summary.ts";

/** One thing that was done to the agent, and what came of it. */
export interface Move {
  readonly signal: Signal;
  readonly before: ReactAgent;
  readonly after: ReactAgent;
  readonly directives: readonly Directive[];
}

/** A whole game: everything that happened, until nothing was under way any more. */
export interface Game {
  readonly moves: readonly Move[];
  readonly agent: ReactAgent;
  readonly events: readonly (EventDraft & Pick<AgentEvent, "requestId">)[];
}

/** Ways in which a summary fails. */
const FAILURES = ["model_error", "model_context_too_long", "summary_not_smaller"] as const;

/** What each move is decided by: so many choices, each taken modulo what there is to choose from. */
export const choices = fc.array(fc.nat({ max: 10_000 }), { maxLength: 240, size: "max" });

type Task = Extract<Directive, { type: "llm_stream" | "tool_exec" | "summarize" }>;

const SETTINGS: Partial<ReactSettings> = {
  ...CALCULATOR,
  maxIterations: 3,
  summarizes: true,
  contextPolicy: { autoSummarize: true, summarizeThreshold: 8, keepLastTurns: 1 },
};

/** Plays one game. The same choices give the same game. */
export function play(given: readonly number[], settings: Partial<ReactSettings> = SETTINGS): Game {
  return new Table(given, reactSettings(settings)).play();
}

/** Goes on with a thread as a process does that has just started, and brings everything to its end. */
export function goOn(settings: ReactSettings, thread: Thread): Game {
  const { clock, ids } = numberedPorts();
  const ports = { clock, ids: (prefix: string) => ids(`${prefix}_later`) };
  return new Table([], settings, restore(settings, thread, ports)).resume();
}

class Table {
  readonly #choices: number[];
  readonly #settings: ReactSettings;
  readonly #moves: Move[] = [];
  readonly #events: (EventDraft & Pick<AgentEvent, "requestId">)[] = [];
  #agent: ReactAgent;
  #tasks: Task[] = [];
  #count = 0;

  constructor(given: readonly number[], settings: ReactSettings, agent?: ReactAgent) {
    this.#choices = [...given];
    this.#settings = settings;
    this.#agent = agent ?? reactAgent(settings, numberedPorts());
  }

  play(): Game {
    while (this.#choices.length > 0) this.#move();
    return this.#settled();
  }

  resume(): Game {
    this.#signal({ type: "resume" });
    return this.#settled();
  }

  #settled(): Game {
    for (let rounds = 0; this.#agent.state.run !== undefined; rounds++) {
      if (rounds > 200) throw new Error("The game does not end.");
      this.#settle();
    }
    return { moves: this.#moves, agent: this.#agent, events: this.#events };
  }

  #choose(bound: number): number {
    return (this.#choices.shift() ?? 0) % bound;
  }

  #move(): void {
    if (this.#agent.state.run === undefined && this.#choose(4) > 0) {
      this.#signal({ type: "ask", content: this.#words("ask") });
      return;
    }
    const kind = this.#choose(20);
    if (kind < 10) this.#work();
    else if (kind < 16) this.#interfere();
    else if (kind < 18) this.#operate();
    else if (kind < 19) this.#crash();
    else this.#othersWrite();
  }

  /** Something that is under way comes to its end, in any order. */
  #work(): void {
    const [task] = this.#tasks.splice(this.#choose(Math.max(1, this.#tasks.length)), 1);
    if (task === undefined) this.#outside();
    else if (task.type === "llm_stream") this.#signal(this.#modelSays(task.callId));
    else if (task.type === "tool_exec") this.#signal(this.#toolSays(task));
    else this.#signal(this.#summaryOf(task));
  }

  #modelSays(callId: string): Signal {
    const kind = this.#choose(12);
    const usage = { inputTokens: 3 };
    if (kind < 6) {
      const names = ["add", "look", "pay", "confirm", "nothing"];
      const toolCalls = Array.from({ length: 1 + this.#choose(3) }, (_, index) => ({
        id: `call_${index}`, // as servers do that count from 0 in each answer
        name: names[this.#choose(names.length)] ?? "add",
        arguments: {},
      }));
      const finishReason = kind === 0 ? "length" : "tool-calls";
      const content = this.#choose(2) === 0 ? "" : this.#words("thought");
      return { type: "llm_result", callId, answer: { content, toolCalls, usage, finishReason } };
    }
    if (kind < 8) {
      const failure = { code: kind === 6 ? "model_context_too_long" : "model_error", message: "No." };
      const partial = { content: this.#words("partial"), usage };
      return { type: "llm_error", callId, failure, ...(this.#choose(2) === 0 && { partial }) };
    }
    const finishReason = (["stop", "length", "interrupted", "content-filter"] as const)[this.#choose(4)] ?? "stop";
    const content = this.#choose(4) === 0 ? " " : this.#words("answer");
    const answer = { content, toolCalls: [], usage, finishReason };
    const output = this.#choose(4) === 0 ? { output: { ok: false, issues: ["no number"] } as const } : {};
    return { type: "llm_result", callId, answer, ...output };
  }

  #toolSays({ callId, call, approved }: Extract<Task, { type: "tool_exec" }>): Signal {
    const of = { callId, toolCallId: call.id };
    if (call.name === "pay" && !approved) return { type: "approval_needed", ...of };
    if (call.name === "confirm") return { type: "answer_needed", ...of };
    const outcome = { content: this.#words("result"), isError: this.#choose(3) === 0 };
    return { type: "tool_result", ...of, outcome };
  }

  #summaryOf({ lane, range }: Extract<Task, { type: "summarize" }>): Signal {
    if (this.#choose(3) === 0)
      return summaryFailed(range.toSeq, {
        lane,
        fromSeq: range.fromSeq,
        code: FAILURES[this.#choose(FAILURES.length)] ?? "",
      });
    const payload = { fromSeq: range.fromSeq, toSeq: range.toSeq, content: this.#words("summary") };
    return { type: "summary_result", lane, payload };
  }

  /** Somebody outside approves, denies or answers whatever waits. */
  #outside(): void {
    const calls = this.#agent.state.run?.calls ?? [];
    const open = calls.filter(({ status }) => status !== "done");
    const toolCallId = open[this.#choose(Math.max(1, open.length))]?.call.id ?? "call_0";
    const kind = this.#choose(3);
    if (kind === 0) this.#signal({ type: "approve", toolCallId, by: "anna" });
    else if (kind === 1) this.#signal({ type: "deny", toolCallId });
    else this.#signal({ type: "answer", toolCallId, outcome: { content: this.#words("word"), isError: false } });
  }

  #interfere(): void {
    const kind = this.#choose(8);
    if (kind < 2) this.#steer(kind === 0 ? "steer" : "follow_up");
    else if (kind === 2) this.#signal({ type: "cancel" });
    else if (kind === 3) this.#signal({ type: "fail", failure: { code: "total_timeout", message: "Too slow." } });
    else if (kind === 4) this.#signal({ type: "finish", terminationReason: "stopped" });
    else if (kind === 5) this.#signal({ type: "ask", content: ["", "too early"][this.#choose(2)] ?? "" });
    else if (kind === 6) this.#again();
    else this.#outside();
  }

  #steer(steer: "steer" | "follow_up"): void {
    const skip = steer === "steer" && this.#choose(2) === 0 ? { skip: true as const } : {};
    this.#signal({ type: "steer", id: `steer_${this.#count++}`, steer, content: this.#words("steer"), ...skip });
    if (skip.skip) this.#signal({ type: "skip", begun: this.#choose(2) === 0 ? [] : ["call_0"] });
  }

  /** What was said before is said once more: late, or twice. */
  #again(): void {
    const said = this.#moves.filter(({ signal }) => /^(llm|tool|summary_failed|approv|answer)/.test(signal.type));
    const move = said[this.#choose(Math.max(1, said.length))];
    if (move === undefined || this.#isUnderWay(move.signal)) return;
    this.#signal(move.signal);
  }

  #isUnderWay(signal: Signal): boolean {
    return this.#tasks.some(
      (task) =>
        (task.type === "llm_stream" && "callId" in signal && signal.callId === task.callId) ||
        (task.type === "tool_exec" && "toolCallId" in signal && signal.toolCallId === task.call.id) ||
        task.type === "summarize",
    );
  }

  #operate(): void {
    const { thread } = this.#agent;
    const opId = `op${this.#choose(6)}`;
    const lane = ["default", "other"][this.#choose(2)] ?? "default";
    const kind = this.#choose(3);
    const resultContext = { id: opId, entries: [{ role: "user", content: "What came before." }] };
    const baseSeq = this.#choose(thread.rev + 1) - 1;
    const operation: ContextOperation["operation"] =
      kind === 0
        ? { type: "switch", reason: "manual" }
        : kind === 1
          ? { type: "replace", reason: "manual", resultContext }
          : { type: "replace", reason: "compaction", resultContext, baseSeq };
    this.#operation({ opId, contextRef: lane, operation });
  }

  /** An operation may be refused, which changes nothing. */
  #operation(operation: ContextOperation): void {
    try {
      this.#signal({ type: "context_op", operation });
    } catch (error) {
      if (!HeddleError.isInstance(error) || !error.code.startsWith("context_op_")) throw error;
    }
  }

  /** The process dies: only the log and the deferred operations are left. */
  #crash(): void {
    const { deferred } = this.#agent.flight;
    this.#tasks = [];
    this.#agent = restore(this.#settings, this.#agent.thread, this.#agent.ports);
    for (const { signal } of deferred) this.#operation(signal.operation);
    const recover = this.#choose(4) === 0 ? "fail" : "resume";
    this.#signal({ type: "resume", recover });
  }

  /** Another process writes a note, or approves what waits. */
  #othersWrite(): void {
    const { state, thread, ports } = this.#agent;
    const waiting = state.run?.calls.find(({ status }) => status === "approval_requested");
    const { requestId, runId, callId } = state.run ?? {};
    const entry =
      waiting === undefined || requestId === undefined || runId === undefined || callId === undefined
        ? { payload: { text: "by the way" } }
        : {
            kind: "approval_resolved",
            payload: { toolCallId: waiting.call.id, approved: this.#choose(2) === 0 },
            refs: { requestId, runId, callId, toolCallId: waiting.call.id },
          };
    const grown = thread.append({ id: ports.ids("entry"), at: ports.clock(), ...entry });
    const next = grown.slice(thread.rev, grown.lastSeq).reduce(evolve, state);
    this.#agent = { ...this.#agent, thread: grown, state: next };
    this.#signal({ type: "notice" });
  }

  /** Everything that waits is brought to its end, as quickly as can be. */
  #settle(): void {
    const [task] = this.#tasks.splice(0, 1);
    if (task?.type === "llm_stream") {
      const answer = { content: "Done.", toolCalls: [], usage: {}, finishReason: "stop" } as const;
      this.#signal({ type: "llm_result", callId: task.callId, answer });
    } else if (task?.type === "tool_exec") this.#signal(this.#toolSays(task));
    else if (task !== undefined)
      this.#signal(summaryFailed(task.range.toSeq, { lane: task.lane, fromSeq: task.range.fromSeq }));
    else {
      const open = this.#agent.state.run?.calls.find(({ status }) => status !== "done");
      const toolCallId = open?.call.id ?? "";
      if (open?.status === "approval_requested") this.#signal({ type: "deny", toolCallId });
      else this.#signal({ type: "answer", toolCallId, outcome: { content: "yes", isError: false } });
    }
  }

  #signal(signal: Signal): void {
    const before = this.#agent;
    const { agent: after, directives } = cmd(before, signal);
    this.#agent = after;
    this.#moves.push({ signal, before, after, directives });
    for (const directive of directives) this.#perform(directive);
  }

  #perform(directive: Directive): void {
    switch (directive.type) {
      case "llm_stream":
      case "tool_exec":
      case "summarize":
        this.#tasks.push(directive);
        break;
      case "emit":
        this.#events.push({ ...directive.event, requestId: directive.requestId });
        break;
      case "stop":
        this.#tasks = [];
        break;
      default:
    }
  }

  #words(what: string): string {
    return `${what} ${this.#count++}`;
  }
}
