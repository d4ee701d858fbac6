import { CallError } from "../runtime/calls/call-error.ts";
import type { CallDetail, CallRow } from "./answers.ts";
import type { Place } from "./place.ts";
import { count } from "./text.ts";

export function pathOf(threadId: string, ...more: readonly string[]): string {
  return ["/api/threads", ...[threadId, ...more].map(encodeURIComponent)].join("/");
}

/** Finds a model call by its id, `last`, or `last~2` for two calls before the last. Default: `last`. */
export async function callNamed(place: Place, threadId: string, given = "last"): Promise<CallRow | { callId: string }> {
  const back = /^last(?:~(\d{1,3}))?$/.exec(given);
  if (back === null) return { callId: given };
  const index = Number(back[1] ?? 0);
  const limit = Math.min(500, index + 1);
  const { calls } = await place.get<{ calls: readonly CallRow[] }>(pathOf(threadId, "calls"), { limit });
  const found = calls[index];
  if (found !== undefined) return found;
  const there =
    calls.length === 0 ? "No model was called in this thread" : `This thread has ${count(calls.length, "call")}`;
  throw new CallError({ code: "call_not_found", message: `${there}, so there is no ${given}.` });
}

export async function callDetail(place: Place, threadId: string, given: string | undefined): Promise<CallDetail> {
  const call = await callNamed(place, threadId, given);
  const seq = "seq" in call ? call.seq : undefined;
  return place.get<CallDetail>(pathOf(threadId, "calls", call.callId), { seq });
}
