import type { ResultItem } from "./block.ts";
import type { Journal } from "./journal.ts";
import { type Awaited, Line, type Waiting } from "./line.ts";

/** The calls without a result. */
export class Unanswered {
  /** By what a result may name: the call id or the tool name, each with and without the callId. */
  readonly #lines = new Map<string, Line>();
  readonly #journal: Journal;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  add(call: Waiting): void {
    const awaited: Awaited = { call, isAnswered: false };
    for (const key of keysOf(call)) {
      let line = this.#lines.get(key);
      if (line === undefined) {
        line = new Line(this.#journal);
        this.#lines.set(key, line);
        this.#journal.record(() => this.#lines.delete(key));
      }
      line.add(awaited);
    }
  }

  /** Removes and returns the call that a result answers: the first match in the newest block that has one. */
  take(result: ResultItem): Waiting | undefined {
    const awaited = this.#find(result);
    if (awaited === undefined) return undefined;
    awaited.isAnswered = true;
    this.#journal.record(() => {
      awaited.isAnswered = false;
    });
    for (const key of keysOf(awaited.call)) this.#tidy(key);
    return awaited.call;
  }

  /** A result without a call id is matched by tool name. Its callId is compared only with calls that have one. */
  #find({ toolCallId, name, callId }: ResultItem): Awaited | undefined {
    const what = toolCallId === undefined ? (["name", name] as const) : (["id", toolCallId] as const);
    if (callId === undefined) return this.#first(keyOf(...what));
    const own = this.#first(keyOf(...what, callId));
    const any = this.#first(keyOf(...what, null));
    return own === undefined || (any !== undefined && any.call.block > own.call.block) ? any : own;
  }

  #first(key: string): Awaited | undefined {
    return this.#lines.get(key)?.first();
  }

  #tidy(key: string): void {
    const line = this.#lines.get(key);
    if (line === undefined || line.first() !== undefined) return;
    this.#lines.delete(key);
    this.#journal.record(() => this.#lines.set(key, line));
  }
}

function keysOf({ call: { id, name }, by }: Waiting): readonly string[] {
  const callId = by.callId ?? null;
  return [keyOf("id", id), keyOf("id", id, callId), keyOf("name", name), keyOf("name", name, callId)];
}

/** JSON, because ids and names may contain any separator. */
function keyOf(...fields: readonly (string | null | undefined)[]): string {
  return JSON.stringify(fields);
}
