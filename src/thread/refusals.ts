import { ThreadError } from "./errors.ts";
import { describe } from "./json.ts";

export function outOfRange(seq: unknown, trouble: string): ThreadError {
  const facts = { code: "seq_out_of_range", path: "seq" };
  if (typeof seq === "number") return new ThreadError({ ...facts, seq, message: `Seq ${seq} ${trouble}.` });
  return new ThreadError({ ...facts, message: `The seq must be a whole number, not ${describe(seq)}.` });
}

export function reused(entryId: string, seq: number): ThreadError {
  return new ThreadError({
    code: "entry_id_reused",
    entryId,
    message: `The thread already has an entry ${entryId}${seq < 0 ? "" : ` at seq ${seq}`} with other content. Use another id for the new entry.`,
  });
}

export function notLoaded(seq: number, firstSeq: number): ThreadError {
  const what = seq < 0 ? "The beginning of the thread" : `Entry ${seq}`;
  const message = `${what} is not loaded: the loaded part begins at ${firstSeq}. Load more of the thread from its store.`;
  return new ThreadError({ code: "entry_not_loaded", seq, message });
}

/** Refuses a tail where the whole thread is needed, unless the caller accepts a part. */
export function checkLoaded({ firstSeq }: { readonly firstSeq: number }, partial: boolean | undefined): void {
  if (firstSeq === 0 || partial === true) return;
  const message = `Only the entries from seq ${firstSeq} on are loaded. Load all with \`await store.load(id)\`, or pass \`partial: true\` to use only these.`;
  throw new ThreadError({ code: "entry_not_loaded", seq: 0, message });
}

export function callNotFound(threadId: string, callId: string): ThreadError {
  const message = `No entry of thread ${threadId} was produced by call ${JSON.stringify(callId)}.`;
  return new ThreadError({ code: "call_not_found", message });
}
