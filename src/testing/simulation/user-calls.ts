import { isAsk } from "../../agent/react/restore.ts";
import type { ContextOperation } from "../../lanes/context-operation.ts";
import type { AgentServer } from "../../runtime/server/agent-server.ts";
import type { Command } from "../../stores/command.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { Random } from "../random.ts";
import { isOfStore } from "./followed-requests.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import { hasEntry, type SimulationLog } from "./simulation-log.ts";
import { type SimulationState, THREAD_ID } from "./simulation-state.ts";

/** With one of these codes the server no longer holds the thread: it was stopped, or another process holds the thread. */
const NOT_HOLDER_CODES: ReadonlySet<string> = new Set(["server_stopped", "thread_held"]);

/** The pending calls of the simulated user, with their expected refusals. */
export class PendingCalls {
  readonly #simulation: SimulationState;
  readonly #open = new Map<Promise<void>, { readonly process: SimulatedProcess; readonly what: string }>();

  constructor(simulation: SimulationState) {
    this.#simulation = simulation;
  }

  /** Describes the pending calls in running processes. */
  get waiting(): readonly string[] {
    return [...this.#open.values()].filter(({ process }) => process.isAlive).map(({ what }) => what);
  }

  /** Starts a call and waits for its end. If it is refused, the code must be one of the expected codes. */
  begin<Result>(
    process: SimulatedProcess,
    what: string,
    call: () => Promise<Result>,
    refusals: readonly string[],
    done: (result: Result) => void = () => undefined,
  ): void {
    const { journal } = this.#simulation;
    journal.note(`${process.name}: ${what}`);
    const followed = Promise.resolve()
      .then(call)
      .then(
        (result) => {
          if (process.isAlive) done(result);
        },
        (error: unknown) => {
          if (!process.isAlive) return; // a killed process gets no answer
          const code = HeddleError.isInstance(error) ? error.code : undefined;
          journal.note(`${process.name}: ${what} was refused: ${code ?? String(error)}`);
          const isExpected =
            code !== undefined && (NOT_HOLDER_CODES.has(code) || isOfStore(code) || refusals.includes(code));
          if (!isExpected)
            journal.reportViolation(
              "what is refused is refused for an expected reason",
              `${what}: ${String(error)}`,
              error,
            );
          if (code !== undefined && NOT_HOLDER_CODES.has(code) && this.#simulation.current === process)
            this.#simulation.current = undefined;
        },
      )
      .finally(() => this.#open.delete(followed));
    this.#open.set(followed, { process, what });
  }
}

type OperationRequest = Pick<ContextOperation, "opId" | "operation"> & Partial<ContextOperation>;

/** The context operations of the simulated user, and their acknowledgments. */
export class UserOperations {
  readonly #simulation: SimulationState;
  readonly #random: Random;
  readonly #pendingCalls: PendingCalls;
  readonly #given: OperationRequest[] = [];
  #made = 0;
  /** Processes that have not answered an operation yet. */
  readonly #settling = new Set<{ readonly process: SimulatedProcess }>();

  constructor(simulation: SimulationState, random: Random, pendingCalls: PendingCalls) {
    this.#simulation = simulation;
    this.#random = random;
    this.#pendingCalls = pendingCalls;
  }

  begin(process: SimulatedProcess, server: AgentServer): void {
    const [first, ...others] = this.#given;
    const again = first !== undefined && this.#random.oneIn(4) ? this.#random.pick([first, ...others]) : undefined;
    const given = again ?? this.#fresh();
    if (again === undefined) this.#given.push(given);
    this.#pendingCalls.begin(
      process,
      `context operation ${given.opId}`,
      () => server.modifyContext(given),
      REFUSALS,
      ({ status, settled }) => {
        this.#simulation.journal.note(`${given.opId} is ${status}`);
        if (status === "deferred") this.#wait(process, given.opId, settled);
        else this.#isApplied(given.opId, status);
      },
    );
  }

  get isSettling(): boolean {
    return [...this.#settling].some(({ process }) => process.isAlive);
  }

  #wait(process: SimulatedProcess, opId: string, settled: Promise<{ readonly status: string }>): void {
    this.#simulation.commands.add(opId);
    const waits = { process };
    this.#settling.add(waits);
    void settled.then(({ status }) => {
      this.#settling.delete(waits);
      if (!process.isAlive) return;
      this.#simulation.journal.note(`${opId} is ${status} in the end`);
      if (status === "applied") this.#isApplied(opId, status);
    });
  }

  #isApplied(opId: string, status: string): void {
    if (status === "duplicate") return; // the first one with this id is counted already, or still deferred
    this.#simulation.acknowledged.add(`operation ${opId}, ${status}`, (log) => isIn(log, opId));
  }

  #fresh(): OperationRequest {
    const random = this.#random;
    const { lastSeq } = this.#simulation.log.thread;
    const opId = `op${this.#made++}`;
    const resultContext = {
      id: `ctx_${opId}`,
      entries: [{ role: "user", content: "The conversation before, in short." }],
    };
    switch (random.below(4)) {
      case 0:
        return { opId, operation: { type: "replace", reason: "manual", resultContext } };
      case 1:
        return {
          opId,
          operation: {
            type: "replace",
            reason: "compaction",
            resultContext,
            baseSeq: Math.max(0, lastSeq - random.below(6)),
          },
        };
      case 2:
        return { opId, contextRef: random.pick(["default", "side"]), operation: { type: "switch", reason: "manual" } };
      default:
        return {
          opId,
          operation: { type: "replace", reason: "restore", resultContext: { id: `ctx_${opId}`, entries: [] } },
        };
    }
  }
}

/** Checks at the end that each command that was accepted has one outcome, and that the log agrees with it. */
export async function checkCommands({ commands, store, log, journal }: SimulationState): Promise<void> {
  const rows = await store.pending(THREAD_ID);
  const pending = new Set(rows.map(({ id }) => id));
  // A message for a thread at rest waits for the next ask.
  const isForNextAsk = ({ body }: Command): boolean => body["steer"] === "inject" && body["requestId"] === undefined;
  const atRest = new Set(rows.filter(isForNextAsk).map(({ id }) => id));
  for (const id of commands) {
    const status = pending.has(id) ? "pending" : (await store.outcome(THREAD_ID, id)).status;
    const entries = log.thread.toArray().filter((entry) => {
      const { refs, payload } = entry;
      return refs.signalId === id || Reflect.get(payload, "opId") === id || (refs.requestId === id && isAsk(entry));
    });
    const expected = status === "delivered" || status === "applied" ? 1 : 0;
    if ((status !== "pending" || atRest.has(id)) && entries.length === expected) continue;
    const what = `${id} is ${status} and has ${entries.length} entries`;
    journal.reportViolation("a command that was accepted has one outcome", what);
  }
}

function isIn(log: SimulationLog, opId: string): boolean {
  return hasEntry(log, ({ kind, payload }) => kind === "ai_context_operation" && Reflect.get(payload, "opId") === opId);
}

/** Expected refusals. A retry that names no lane differs from its first attempt if the active lane has changed. */
const REFUSALS = ["context_op_splits_exchange", "context_op_invalid", "context_op_id_reused"];
