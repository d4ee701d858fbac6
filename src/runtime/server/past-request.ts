import { isAsk } from "../../agent/react/restore.ts";
import { evolve, INITIAL } from "../../agent/react/state.ts";
import type { Entry } from "../../thread/entry.ts";
import { pastResult } from "../request/past-result.ts";
import { RequestError, requestSuspended } from "../request/request-error.ts";
import type { RequestResult } from "../request/result.ts";
import type { LiveThread } from "./live-thread.ts";

/** What a request came to: one that is at work is waited for, one that ended before is read from the log. */
export async function resultOfRequest(live: LiveThread, requestId: string): Promise<RequestResult> {
  const known = live.requests.get(requestId);
  if (known !== undefined) {
    if ((await known.settled()) === "waiting") throw waits(requestId);
    return known.result;
  }
  const entries = await entriesOf(live, requestId);
  const { run, last } = entries.reduce(evolve, INITIAL);
  if (run !== undefined) throw requestSuspended(requestId); // open, and not carried here
  if (last === undefined) throw notFound(requestId);
  return pastResult(live.options.definition, entries, last);
}

/** From its ask on; what is not loaded is read backwards, as far as the ask. */
async function entriesOf({ agent: { thread }, options: { store } }: LiveThread, requestId: string) {
  const loaded = thread.filterByRef("requestId", requestId);
  if (thread.firstSeq === 0 || loaded.some(isAsk)) return loaded;
  const older: Entry[] = [];
  for await (const entry of store.read(thread.id, { toSeq: thread.firstSeq - 1, reverse: true })) {
    if (entry.refs.requestId !== requestId) continue;
    older.push(entry);
    if (isAsk(entry)) break;
  }
  return [...older.reverse(), ...loaded];
}

function waits(requestId: string): RequestError {
  const message =
    "The request waits for a call to be approved or answered: waiting() lists them. Decide, then ask again.";
  return new RequestError({ code: "request_waiting", requestId, message });
}

function notFound(requestId: string): RequestError {
  const message = `The thread has no request ${requestId}. It was never taken here: ask, with this requestId if you like.`;
  return new RequestError({ code: "request_not_found", requestId, message });
}
