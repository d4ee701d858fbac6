import { threadNotFound } from "../../stores/errors.ts";
import type { ThreadData } from "../../thread/serialised.ts";
import { numberIn } from "../http/fields.ts";
import { type Answer, json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";

/** The most entries of one answer. A client that needs more joins several tails. */
const MOST = 5000;
const USUAL = 200;

/**
 * GET /api/threads/{id}/tail: the end of a thread at an entry, in the format of `Thread.fromJSON`. It includes the facts about
 * the entries before it that projection needs.
 */
export async function threadTail({ studio, query, param }: Call): Promise<Answer<ThreadData>> {
  const id = param("id");
  const last = Math.max(1, numberIn(query, "last", MOST) ?? USUAL);
  const thread = await studio.store.load(id, { last, upToSeq: numberIn(query, "atSeq") });
  if (thread === undefined) throw threadNotFound(id);
  return json(thread.toJSON());
}
