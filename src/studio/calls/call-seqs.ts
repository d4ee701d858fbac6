import { type FoundCall, findCall } from "../../runtime/calls/find-call.ts";
import type { ThreadStore } from "../../stores/port.ts";

const KEPT = 50_000;

/** Caches the sequence numbers of calls that were read, so that an old call is found without a search from the end. */
export class CallSeqs {
  readonly #store: ThreadStore;
  readonly #seqs = new Map<string, number>();

  constructor(store: ThreadStore) {
    this.#store = store;
  }

  note(threadId: string, { callId, entry }: FoundCall): void {
    if (this.#seqs.size >= KEPT) this.#seqs.clear();
    this.#seqs.set(`${threadId}/${callId}`, entry.seq);
  }

  async find(threadId: string, callId: string, atSeq?: number): Promise<FoundCall> {
    const found = await findCall(this.#store, threadId, callId, atSeq ?? this.#seqs.get(`${threadId}/${callId}`));
    this.note(threadId, found);
    return found;
  }
}
