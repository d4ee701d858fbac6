import { threadNotFound } from "../../stores/errors.ts";
import type { ThreadData } from "../../thread/serialised.ts";
import { numberIn } from "../http/fields.ts";
import { type Answer, json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";

/** What one answer may carry; who needs more puts tails together. */
const MOST = 5000;
const USUAL = 200;

/**
 * GET /api/threads/{id}/tail: the end of a thread as it was at a moment, as `Thread.fromJSON` takes it, with what has to be
 * known of all that lies before: enough to project it where it arrives.
 */
export async function threadTail({ studio, query, param }: Call): Promise<Answer<ThreadData>> {
  const id = param("id");
  const last = Math.max(1, numberIn(query, "last", MOST) ?? USUAL);
  const thread = await studio.store.load(id, { last, upToSeq: numberIn(query, "atSeq") });
  if (thread === undefined) throw threadNotFound(id);
  return json(thread.toJSON());
}
