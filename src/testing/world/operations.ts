import type { ContextOperation } from "../../agent/operation.ts";
import type { AgentServer } from "../../runtime/agent-server.ts";
import type { Random } from "../random.ts";
import { hasEntry } from "./acknowledged.ts";
import type { WorldLog } from "./log.ts";
import type { Asked } from "./outcome.ts";
import type { SimulatedProcess } from "./process.ts";
import type { SimulatedWorld } from "./world.ts";

type Given = Pick<ContextOperation, "opId" | "operation"> & Partial<ContextOperation>;

/** The user's changes of what the model sees, and what was promised of them. */
export class Operations {
  readonly #world: SimulatedWorld;
  readonly #random: Random;
  readonly #asked: Asked;
  readonly #given: Given[] = [];
  /** In the order in which they were asked for, each as often as it was. */
  readonly #begun: string[] = [];
  /** Promised for the end of the run, and which of those begun it was; the last one wins. */
  #deferred: { readonly opId: string; readonly at: number } | undefined;
  #made = 0;
  /** Where somebody still waits to hear of an operation. */
  readonly #settling = new Set<{ readonly process: SimulatedProcess }>();

  constructor(world: SimulatedWorld, random: Random, asked: Asked) {
    this.#world = world;
    this.#random = random;
    this.#asked = asked;
  }

  begin(process: SimulatedProcess, server: AgentServer): void {
    const [first, ...others] = this.#given;
    const again = first !== undefined && this.#random.oneIn(4) ? this.#random.pick([first, ...others]) : undefined;
    const given = again ?? this.#fresh();
    if (again === undefined) this.#given.push(given);
    const at = this.#begun.push(given.opId) - 1;
    this.#asked.begin(
      process,
      `context operation ${given.opId}`,
      () => server.modifyContext(given),
      REFUSALS,
      ({ status, settled }) => {
        this.#world.journal.note(`${given.opId} is ${status}`);
        if (status === "deferred") this.#wait(process, { opId: given.opId, at }, settled);
        else this.#isApplied(given.opId, status);
      },
    );
  }

  get isSettling(): boolean {
    return [...this.#settling].some(({ process }) => process.isAlive);
  }

  /**
   * At the end of all things: what was promised last has come, or was said to fail. One that was asked for later may have
   * taken its place, though the process died before it could say so.
   */
  check(log: WorldLog): void {
    const deferred = this.#deferred;
    if (deferred === undefined || this.#begun.slice(deferred.at).some((begun) => isIn(log, begun))) return;
    this.#world.journal.broken("an operation that was deferred is applied in the end", deferred.opId);
  }

  #wait(
    process: SimulatedProcess,
    deferred: { readonly opId: string; readonly at: number },
    settled: Promise<{ readonly status: string }>,
  ): void {
    const { opId } = deferred;
    this.#deferred = deferred;
    const waits = { process };
    this.#settling.add(waits);
    void settled.then(({ status }) => {
      this.#settling.delete(waits);
      if (!process.isAlive) return;
      this.#world.journal.note(`${opId} is ${status} in the end`);
      if (status === "applied") this.#isApplied(opId, status);
      else if (this.#deferred === deferred && status === "superseded") this.#deferred = undefined;
    });
  }

  #isApplied(opId: string, status: string): void {
    if (status === "duplicate") return; // it may be the one that waits
    this.#world.acknowledged.told(`operation ${opId}, ${status}`, (log) => isIn(log, opId));
  }

  #fresh(): Given {
    const random = this.#random;
    const { lastSeq } = this.#world.log.thread;
    const opId = `op${this.#made++}`;
    const resultContext = {
      id: `ctx_${opId}`,
      entries: [{ role: "user", content: "What was said before, in short." }],
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

function isIn(log: WorldLog, opId: string): boolean {
  return hasEntry(log, ({ kind, payload }) => kind === "ai_context_operation" && Reflect.get(payload, "opId") === opId);
}

/** A retried operation without a lane of its own is another one when another lane is active by then. */
const REFUSALS = ["context_op_splits_exchange", "context_op_invalid", "context_op_id_reused"];
