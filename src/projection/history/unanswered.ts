import type { ResultItem } from "./block.ts";
import type { Journal } from "./journal.ts";

/** A call that waits for its result. */
export interface Waiting {
  readonly block: number;
  readonly slot: number;
  readonly id: string;
  readonly name: string;
  readonly callId: string | undefined;
}

/** The calls without a result, by id, in the order they were made. */
export class Unanswered {
  readonly #byId = new Map<string, readonly Waiting[]>();
  readonly #journal: Journal;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  add(call: Waiting): void {
    this.#set(call.id, [...(this.#byId.get(call.id) ?? []), call]);
  }

  /** Takes out the call that a result answers: of the newest block that has one, its first. */
  take(result: ResultItem): Waiting | undefined {
    const candidates = this.#candidates(result).filter(
      ({ callId }) => callId === undefined || result.callId === undefined || callId === result.callId,
    );
    const block = candidates.reduce((newest, call) => Math.max(newest, call.block), -1);
    const call = candidates.find((candidate) => candidate.block === block);
    if (call !== undefined)
      this.#set(
        call.id,
        (this.#byId.get(call.id) ?? []).filter((other) => other !== call),
      );
    return call;
  }

  /** A result that names no id is known by the name of its tool. */
  #candidates({ toolCallId, name }: ResultItem): readonly Waiting[] {
    if (toolCallId !== undefined) return this.#byId.get(toolCallId) ?? [];
    const all = [...this.#byId.values()].flat().filter((call) => call.name === name);
    return all.sort((a, b) => a.block - b.block || a.slot - b.slot);
  }

  #set(id: string, calls: readonly Waiting[]): void {
    const before = this.#byId.get(id);
    if (calls.length === 0) this.#byId.delete(id);
    else this.#byId.set(id, calls);
    this.#journal.record(() => {
      if (before === undefined) this.#byId.delete(id);
      else this.#byId.set(id, before);
    });
  }
}
