import { callsBack } from "../../runtime/calls/find-call.ts";
import { threadNotFound } from "../../stores/errors.ts";
import { numberIn } from "../http/fields.ts";
import { json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";
import { callRow } from "./call-row.ts";

const MOST = 500;
/** Entries looked at: where there is no call among so many, somebody else has written the thread. */
const LOOKED_AT = 20_000;

/** GET /api/threads/{id}/calls: newest first; `searchedTo` says how far back it looked when it did not look at all. */
export async function listCalls({ studio, query, param }: Call): Promise<Response> {
  const id = param("id");
  const limit = Math.max(1, numberIn(query, "limit", MOST) ?? 50);
  const before = numberIn(query, "before");
  const thread = await studio.store.load(id, { last: 1 });
  if (thread === undefined) throw threadNotFound(id);
  const calls: ReturnType<typeof callRow>[] = [];
  const toSeq = Math.min(before ?? thread.rev, thread.rev) - 1;
  if (toSeq < 0) return json({ calls });
  const fromSeq = Math.max(0, toSeq - LOOKED_AT);
  for await (const found of callsBack(studio.store, id, { fromSeq, toSeq })) {
    studio.callSeqs.note(id, found);
    calls.push(callRow(found));
    if (calls.length >= limit) return json({ calls });
  }
  return json({ calls, ...(fromSeq > 0 && { searchedTo: fromSeq }) });
}
