import type { ReactAgent } from "../../agent/react/agent.ts";
import { restore } from "../../agent/react/restore.ts";
import { type ReactState, readRequestEnd } from "../../agent/react/state.ts";
import { lanesBefore } from "../../lanes/active-lane.ts";
import { ProjectionError } from "../../projection/error.ts";
import { createProjector } from "../../projection/projector.ts";
import { validateMessages } from "../../providers/validate.ts";
import { FIRST } from "../../runtime/session/load.ts";
import type { Entry } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { ToolCall } from "../../thread/message.ts";
import { equal } from "../contract/case-fixture.ts";
import { APPROVED_TOOLS, REPEATABLE_TOOLS } from "./generated-agent.ts";
import type { Journal } from "./journal.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { SimulationLog } from "./simulation-log.ts";

const PROVIDERS = ["openai-chat", "openai-responses", "anthropic", "gemini"] as const;
const EVERYTHING = { maxInputTokens: 10_000_000, summarization: "none" } as const;
const SMALL_WINDOW = { maxInputTokens: 2_000, reserveOutputTokens: 500, overflow: "shrink" } as const;

/** Checks the laws (properties that must always hold) of a log after every step. */
export class Laws {
  readonly #journal: Journal;
  readonly #log: SimulationLog;
  /** One projector for each policy, because a projector checks a policy again that differs from the last one. */
  readonly #projectors = [EVERYTHING, SMALL_WINDOW].map((policy) => ({
    policy,
    projector: createProjector({ keep: 2, policy }),
  }));
  /** How often a restored agent was compared with a live one. */
  compared = 0;

  constructor(journal: Journal, log: SimulationLog) {
    this.#journal = journal;
    this.#log = log;
  }

  check(fresh: readonly Entry[], processes: readonly SimulatedProcess[]): void {
    if (fresh.length > 0) {
      this.#legal();
      for (const entry of fresh) this.#closed(entry);
    }
    for (const process of processes) this.#restored(process);
  }

  #legal(): void {
    const { thread } = this.#log;
    for (const { policy, projector } of this.#projectors) {
      try {
        const { messages, meta, provenance } = projector.project({ thread });
        if (provenance.length === 0) continue;
        for (const provider of PROVIDERS) {
          const broken = validateMessages(messages, provider).find(
            ({ rule }) => meta.open || rule !== "trailing_assistant",
          );
          if (broken !== undefined)
            this.#journal.reportViolation("the log is legal for every provider", `${provider}: ${broken.message}`);
        }
      } catch (error) {
        const isTooMuch = ProjectionError.isInstance(error) && error.code === "budget_overflow";
        if (!isTooMuch || policy === EVERYTHING)
          this.#journal.reportViolation("the log is legal for every provider", String(error), error);
      }
    }
  }

  /** Checks that a request ends only once, and that each of its calls then has a result. */
  #closed({ payload, refs, seq }: Entry): void {
    const { requestId } = refs;
    if (requestId === undefined || readRequestEnd(payload as JsonObject) === undefined) return; // every entry payload is a JSON object
    const entries = this.#log.thread.filterByRef("requestId", requestId);
    const ends = entries.filter((entry) => readRequestEnd(entry.payload as JsonObject) !== undefined); // every entry payload is a JSON object
    if (ends[0]?.seq !== seq)
      this.#journal.reportViolation("a request ends once in the log", `${requestId} ended twice, at ${seq} again`);
    for (const { call, callId } of callsIn(entries)) {
      const results = entries.filter((entry) => isResult(entry, callId, call.id));
      if (results.length === 1) continue;
      const what = `${requestId}: call ${call.id} of ${callId} has ${results.length} results`;
      this.#journal.reportViolation("every call of a closed request has exactly one result", what);
    }
  }

  /** Checks that a process that has read the whole log has the same state as the log. */
  #restored({ agent, isAlive, ports }: SimulatedProcess): void {
    const { thread, state } = this.#log;
    if (agent === undefined || !isAlive || agent.thread.rev !== thread.rev) return;
    this.compared += 1;
    try {
      equal(agent.thread.last()?.id, thread.last()?.id, "the last entry");
      equal(agent.state, knownTo(agent, state), "the live state");
      equal(restore(agent.settings, thread, ports).state, state, "the restored state");
    } catch (error) {
      this.#journal.reportViolation(
        "what is restored equals what is live",
        error instanceof Error ? error.message : "",
        error,
      );
    }
  }
}

/** Reduces a state to the operations and lanes that a partly loaded agent knows. Its list of operations is a cache. */
function knownTo({ thread, state: { appliedContextOps } }: ReactAgent, state: ReactState): ReactState {
  if (thread.rev <= FIRST) return state;
  const known = state.appliedContextOps;
  return {
    ...state,
    lanes: lanesBefore(thread, thread.rev),
    appliedContextOps: known.slice(known.length - Math.min(known.length, appliedContextOps.length)),
  };
}

interface MadeCall {
  readonly call: ToolCall;
  readonly callId: string;
}

/** Lists the tool calls in these entries. */
function callsIn(entries: readonly Entry[]): readonly MadeCall[] {
  return entries.flatMap(({ payload, refs: { callId } }) => {
    const { toolCalls } = payload as { readonly toolCalls?: readonly ToolCall[] }; // the agent wrote this payload
    return toolCalls === undefined || callId === undefined ? [] : toolCalls.map((call) => ({ call, callId }));
  });
}

function serialOf({ arguments: given }: ToolCall): number | undefined {
  const serial = isPlainObject(given) ? given["serial"] : undefined;
  return typeof serial === "number" ? serial : undefined;
}

function isResult({ payload, refs }: Entry, callId: string, toolCallId: string): boolean {
  return refs.callId === callId && refs.toolCallId === toolCallId && Reflect.get(payload, "role") === "tool";
}

/** Records the tool runs of a simulation and checks them against the log. */
export class ToolRuns {
  readonly #journal: Journal;
  readonly #runs = new Map<number, number>();
  readonly #unchecked: { readonly tool: string; readonly serial: number }[] = [];

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  get count(): number {
    return this.#runs.size;
  }

  ran(tool: string, serial: number): void {
    const runs = (this.#runs.get(serial) ?? 0) + 1;
    this.#runs.set(serial, runs);
    this.#journal.note(`${tool} ran for call ${serial}`);
    this.#unchecked.push({ tool, serial });
    if (runs > 1 && !REPEATABLE_TOOLS.has(tool)) {
      this.#journal.reportViolation(
        "a call of a tool that is not repeatable runs once at most",
        `${tool} ran ${runs} times for call ${serial}`,
      );
    }
  }

  /** Checks that every run belongs to a call in the log, with an approval if its tool needs one. */
  check(log: SimulationLog): void {
    for (const { tool, serial } of this.#unchecked.splice(0)) {
      const made = callsIn(log.thread.toArray()).find(({ call }) => serialOf(call) === serial);
      if (made === undefined)
        this.#journal.reportViolation("an answer is durable before its tools run", `${tool} ran for call ${serial}`);
      else if (
        (APPROVED_TOOLS.has(tool) || (tool === "sign" && serial % 2 === 1)) &&
        !isApproved(log, made.callId, made.call.id)
      ) {
        this.#journal.reportViolation("what needs approval runs when it has it", `${tool} ran for call ${serial}`);
      }
    }
  }
}

function isApproved({ thread }: SimulationLog, callId: string, toolCallId: string): boolean {
  return thread
    .filterByKind("approval_resolved")
    .some(
      ({ refs, payload }) =>
        refs.callId === callId && refs.toolCallId === toolCallId && Reflect.get(payload, "approved") === true,
    );
}
