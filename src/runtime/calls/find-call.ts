import type { CallRecord } from "../../agent/model-call.ts";
import { recordedCall } from "../../agent/model-call.ts";
import { threadNotFound } from "../../stores/errors.ts";
import type { ReadOptions, ThreadStore } from "../../stores/port.ts";
import type { Entry } from "../../thread/entry.ts";
import { type ErrorFacts, HeddleError } from "../../thread/errors.ts";

/** The entry of a model call, and its record. */
export interface FoundCall {
  readonly callId: string;
  readonly entry: Entry;
  readonly record: CallRecord;
}

/** The model call that an entry records, if any. */
export function callIn(entry: Entry): FoundCall | undefined {
  const { callId } = entry.refs;
  const call = recordedCall(entry);
  if (callId === undefined || typeof call?.fingerprint !== "string") return undefined;
  return { callId, entry, record: call as CallRecord }; // the runtime wrote it
}

/** The model calls of a thread, newest first. */
export async function* callsBack(
  store: ThreadStore,
  threadId: string,
  within: Pick<ReadOptions, "fromSeq" | "toSeq"> = {},
): AsyncGenerator<FoundCall, void> {
  // Every record has a fingerprint, so a store can leave out entries without this word.
  const reading = { reverse: true, kinds: ["ai_message", "error"], search: "fingerprint", ...within };
  for await (const entry of store.read(threadId, reading)) {
    const found = callIn(entry);
    if (found !== undefined) yield found;
  }
}

/** The entries of the settings that held for a call. */
export async function settingsOf(
  store: ThreadStore,
  threadId: string,
  { settingSeqs = [] }: Pick<CallRecord, "settingSeqs">,
): Promise<readonly Entry[]> {
  const found: Entry[] = [];
  for (const seq of settingSeqs) {
    for await (const entry of store.read(threadId, { fromSeq: seq, toSeq: seq })) found.push(entry);
  }
  return found;
}

/** A past call. With the seq of its entry there is no search. */
export async function findCall(
  store: ThreadStore,
  threadId: string,
  callId: string,
  atSeq?: number,
): Promise<FoundCall> {
  if (atSeq !== undefined) {
    for await (const entry of store.read(threadId, { fromSeq: atSeq, toSeq: atSeq })) {
      const found = callIn(entry);
      if (found?.callId === callId) return found;
    }
  }
  for await (const found of callsBack(store, threadId)) if (found.callId === callId) return found;
  if ((await store.load(threadId, { last: 1 })) === undefined) throw threadNotFound(threadId);
  const message = `No model call ${callId} is recorded in thread ${threadId}.`;
  throw new CallError({ code: "call_not_found", callId, message });
}

/**
 * A past model call that cannot be rebuilt.
 *
 * @example
 * const error = new CallError({ code: "call_not_found", callId: "call_1", message: "No model call call_1 is recorded." });
 * error.callId; // "call_1"
 */
export class CallError extends HeddleError {
  static override readonly className: string = "CallError";
  declare readonly callId?: string;

  constructor({ callId, ...facts }: ErrorFacts & { readonly callId?: string }) {
    super(facts);
    if (callId !== undefined) this.callId = callId;
  }
}
