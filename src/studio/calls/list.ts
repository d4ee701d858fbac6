import { callsBack } from "../../runtime/calls/find-call.ts";
import { threadNotFound } from "../../stores/errors.ts";
import type { CallPage, CallRow } from "../contract/call.ts";
import { Budget } from "../http/budget.ts";
import { numberIn } from "../http/fields.ts";
import { type Answer, json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";
import { callRow } from "./call-row.ts";

const MOST = 500;
/** Entries read in one step. */
const STEP = 20_000;

/** GET /api/threads/{id}/calls: newest first. `searchedTo` is set if the search stopped early, and says where. */
export async function listCalls({ studio, query, param }: Call): Promise<Answer<CallPage>> {
  const id = param("id");
  const limit = Math.max(1, numberIn(query, "limit", MOST) ?? 50);
  const before = numberIn(query, "before");
  const thread = await studio.store.load(id, { last: 1 });
  if (thread === undefined) throw threadNotFound(id);
  const calls: CallRow[] = [];
  const budget = new Budget(studio.ports.clock);
  for (let toSeq = Math.min(before ?? thread.rev, thread.rev) - 1; toSeq >= 0; toSeq -= STEP) {
    const fromSeq = Math.max(0, toSeq - STEP + 1);
    for await (const found of callsBack(studio.store, id, { fromSeq, toSeq })) {
      studio.callSeqs.note(id, found);
      calls.push(callRow(found));
      if (calls.length >= limit) return json<CallPage>({ calls });
    }
    if (fromSeq > 0 && (await budget.isSpent())) return json<CallPage>({ calls, searchedTo: fromSeq });
  }
  return json<CallPage>({ calls });
}
