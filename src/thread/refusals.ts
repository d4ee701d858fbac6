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
    message: `The thread already has an entry ${entryId}${seq < 0 ? "" : ` at seq ${seq}`} with other content. Give the new one an id of its own.`,
  });
}

export function notLoaded(seq: number, firstSeq: number): ThreadError {
  const what = seq < 0 ? "Its beginning" : `Entry ${seq}`;
  const message = `${what} is not loaded: this thread begins at ${firstSeq}. Load more of it from its store.`;
  return new ThreadError({ code: "entry_not_loaded", seq, message });
}

/** For lists that are made of a whole thread: a part of one must not pass for all of it. */
export function checkLoaded({ firstSeq }: { readonly firstSeq: number }, partial: boolean | undefined): void {
  if (firstSeq === 0 || partial === true) return;
  const message = `Only the entries from seq ${firstSeq} on are loaded. Load all with \`await store.load(id)\`, or pass \`partial: true\` to have these alone.`;
  throw new ThreadError({ code: "entry_not_loaded", seq: 0, message });
}

export function callNotFound(threadId: string, callId: string): ThreadError {
  const message = `No entry of thread ${threadId} was produced by call ${JSON.stringify(callId)}.`;
  return new ThreadError({ code: "call_not_found", message });
}
