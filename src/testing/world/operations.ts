import type { ContextOperation } from "../../agent/operation.ts";
import type { AgentServer } from "../../runtime/agent-server.ts";
import type { Random } from "../random.ts";
import { hasEntry } from "./acknowledged.ts";
import type { WorldLog } from "./log.ts";
import type { Asked } from "./outcome.ts";
import type { SimulatedProcess } from "./process.ts";
import type { SimulatedWorld } from "./world.ts";

type Given = Pick<ContextOperation, "opId" | "operation"> & Partial<ContextOperation>;

/** The context operations of the simulated user, and their acknowledgments. */
export class Operations {
  readonly #world: SimulatedWorld;
  readonly #random: Random;
  readonly #asked: Asked;
  readonly #given: Given[] = [];
  /** The requested operations in order, with repetitions. */
  readonly #begun: string[] = [];
  /** The deferred operation and its index in `#begun`. The last one wins. */
  #deferred: { readonly opId: string; readonly at: number } | undefined;
  #made = 0;
  /** The processes with a pending answer for an operation. */
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
   * At the end of the simulation the last deferred operation must be applied or reported as failed. A later one may have
   * replaced it, even if the process died before it answered.
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
    if (status === "duplicate") return; // it may be the deferred one
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

/** Expected refusals. A retried operation that names no lane differs from the first one if the active lane has changed. */
const REFUSALS = ["context_op_splits_exchange", "context_op_invalid", "context_op_id_reused"];
