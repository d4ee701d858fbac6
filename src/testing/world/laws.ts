import type { ReactAgent } from "../../agent/react/agent.ts";
import { endIn } from "../../agent/react/end.ts";
import { restore } from "../../agent/react/restore.ts";
import type { ReactState } from "../../agent/react/state.ts";
import { ProjectionError } from "../../projection/error.ts";
import { createProjector } from "../../projection/projector.ts";
import { validateMessages } from "../../providers/validate.ts";
import { FIRST } from "../../runtime/session/load.ts";
import type { Entry } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import type { ToolCall } from "../../thread/message.ts";
import { equal } from "../check.ts";
import type { Journal } from "./journal.ts";
import type { WorldLog } from "./log.ts";
import type { SimulatedProcess } from "./process.ts";

const PROVIDERS = ["openai-chat", "openai-responses", "anthropic", "gemini"] as const;
const EVERYTHING = { maxInputTokens: 10_000_000, summarization: "none" } as const;

/** The laws that a log must keep after every step. */
export class Laws {
  readonly #journal: Journal;
  readonly #log: WorldLog;
  readonly #projector = createProjector({ keep: 2 });
  /** How often a restored agent was compared with a live one. */
  compared = 0;

  constructor(journal: Journal, log: WorldLog) {
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
    for (const policy of [
      EVERYTHING,
      { maxInputTokens: 2_000, reserveOutputTokens: 500, overflow: "shrink" } as const,
    ]) {
      try {
        const { messages, meta, provenance } = this.#projector.project({ thread, policy });
        if (provenance.length === 0) continue;
        for (const provider of PROVIDERS) {
          const broken = validateMessages(messages, provider).find(
            ({ rule }) => meta.open || rule !== "trailing_assistant",
          );
          if (broken !== undefined)
            this.#journal.broken("the log is legal for every provider", `${provider}: ${broken.message}`);
        }
      } catch (error) {
        const isTooMuch = ProjectionError.isInstance(error) && error.code === "budget_overflow";
        if (!isTooMuch || policy === EVERYTHING)
          this.#journal.broken("the log is legal for every provider", String(error), error);
      }
    }
  }

  /** A request ends once, and with it every call has its result. */
  #closed({ payload, refs, seq }: Entry): void {
    const { requestId } = refs;
    if (requestId === undefined || endIn(payload as JsonObject) === undefined) return; // payloads are JSON
    const entries = this.#log.thread.filterByRef("requestId", requestId);
    const ends = entries.filter((entry) => endIn(entry.payload as JsonObject) !== undefined); // payloads are JSON
    if (ends[0]?.seq !== seq)
      this.#journal.broken("a request ends once in the log", `${requestId} ended twice, at ${seq} again`);
    for (const { call, callId } of callsIn(entries)) {
      const results = entries.filter((entry) => isResult(entry, callId, call.id));
      if (results.length === 1) continue;
      const what = `${requestId}: call ${call.id} of ${callId} has ${results.length} results`;
      this.#journal.broken("every call of a closed request has exactly one result", what);
    }
  }

  /** When a process has read the whole log, its state must equal the state folded from the log. */
  #restored({ agent, isAlive, ports }: SimulatedProcess): void {
    const { thread, state } = this.#log;
    if (agent === undefined || !isAlive || agent.thread.rev !== thread.rev) return;
    this.compared += 1;
    try {
      equal(agent.thread.last()?.id, thread.last()?.id, "the last entry");
      equal(agent.state, knownTo(agent, state), "the live state");
      equal(restore(agent.settings, thread, ports).state, state, "the restored state");
    } catch (error) {
      this.#journal.broken("what is restored equals what is live", error instanceof Error ? error.message : "", error);
    }
  }
}

/** An agent restored from a tail knows only the loaded operations, because its list is a cache. */
function knownTo({ thread, state: { appliedContextOps } }: ReactAgent, state: ReactState): ReactState {
  if (thread.rev <= FIRST) return state;
  const known = state.appliedContextOps;
  return { ...state, appliedContextOps: known.slice(known.length - Math.min(known.length, appliedContextOps.length)) };
}

export interface MadeCall {
  readonly call: ToolCall;
  readonly callId: string;
}

/** The tool calls of the answers in these entries. */
export function callsIn(entries: readonly Entry[]): readonly MadeCall[] {
  return entries.flatMap(({ payload, refs: { callId } }) => {
    const { toolCalls } = payload as { readonly toolCalls?: readonly ToolCall[] }; // written by the agent
    return toolCalls === undefined || callId === undefined ? [] : toolCalls.map((call) => ({ call, callId }));
  });
}

export function serialOf({ arguments: given }: ToolCall): number | undefined {
  const serial = isPlainObject(given) ? given["serial"] : undefined;
  return typeof serial === "number" ? serial : undefined;
}

function isResult({ payload, refs }: Entry, callId: string, toolCallId: string): boolean {
  return refs.callId === callId && refs.toolCallId === toolCallId && Reflect.get(payload, "role") === "tool";
}
