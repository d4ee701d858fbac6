import { callsBack, type FoundCall } from "../../runtime/calls/find-call.ts";
import type { CallDetail, ShownCall } from "../contract/call.ts";
import { numberIn } from "../http/fields.ts";
import { type Answer, json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";
import type { Studio } from "../studio.ts";
import { callRow } from "./call-row.ts";
import { firstChange, stablePrefix } from "./causes.ts";
import { shownCall } from "./shown-call.ts";

/** How many calls to search for the previous call of the same lane. Few calls of other lanes lie in between. */
const LOOKED_AT = 50;

/** GET /api/threads/{id}/calls/{callId}: what the call sent, whether it is proven, and what changed since the call before. */
export async function callDetail({ studio, query, param }: Call): Promise<Answer<CallDetail>> {
  const id = param("id");
  const found = await studio.callSeqs.find(id, param("callId"), numberIn(query, "seq"));
  const shown = await shownCall(studio, id, found);
  const before = await callBefore(studio, id, found);
  const previous = before && comparedWith(await shownCall(studio, id, before), shown);
  return json<CallDetail>({ call: callRow(found), ...shown, ...(previous && { previous }) });
}

/** The previous call on the same lane, or else the previous call on any lane. */
async function callBefore(studio: Studio, id: string, { entry, record }: FoundCall): Promise<FoundCall | undefined> {
  if (entry.seq === 0) return undefined;
  let last: FoundCall | undefined;
  let looked = 0;
  for await (const found of callsBack(studio.store, id, { toSeq: entry.seq - 1 })) {
    last ??= found;
    if (found.record.lane === record.lane) return found;
    if (++looked >= LOOKED_AT) break;
  }
  return last;
}

function comparedWith(before: ShownCall, shown: ShownCall): NonNullable<CallDetail["previous"]> {
  const { callId } = before;
  if (before.messages.length === 0 || shown.messages.length === 0) return { callId, stablePrefix: 0 };
  const change = firstChange(before, shown);
  return { callId, stablePrefix: stablePrefix(before, shown), ...(change && { firstChange: change }) };
}
