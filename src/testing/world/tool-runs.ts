import type { Journal } from "./journal.ts";
import { callsIn, serialOf } from "./laws.ts";
import type { WorldLog } from "./log.ts";
import { APPROVED, REPEATABLE } from "./tools.ts";

/** The external effects of tools. */
export class ToolRuns {
  readonly #journal: Journal;
  readonly #runs = new Map<number, number>();
  readonly #fresh: { readonly tool: string; readonly serial: number }[] = [];

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
    this.#fresh.push({ tool, serial });
    if (runs > 1 && !REPEATABLE.has(tool)) {
      this.#journal.broken(
        "a call of a tool that is not repeatable runs once at most",
        `${tool} ran ${runs} times for call ${serial}`,
      );
    }
  }

  /** Every run must belong to a call in the log, with an approval if its tool needs one. */
  check(log: WorldLog): void {
    for (const { tool, serial } of this.#fresh.splice(0)) {
      const made = callsIn(log.thread.toArray()).find(({ call }) => serialOf(call) === serial);
      if (made === undefined)
        this.#journal.broken("an answer is durable before its tools run", `${tool} ran for call ${serial}`);
      else if (
        (APPROVED.has(tool) || (tool === "sign" && serial % 2 === 1)) &&
        !isApproved(log, made.callId, made.call.id)
      ) {
        this.#journal.broken("what needs approval runs when it has it", `${tool} ran for call ${serial}`);
      }
    }
  }
}

function isApproved({ thread }: WorldLog, callId: string, toolCallId: string): boolean {
  return thread
    .filterByKind("approval_resolved")
    .some(
      ({ refs, payload }) =>
        refs.callId === callId && refs.toolCallId === toolCallId && Reflect.get(payload, "approved") === true,
    );
}
