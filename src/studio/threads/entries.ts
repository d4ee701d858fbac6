import { threadNotFound } from "../../stores/errors.ts";
import type { Entry } from "../../thread/entry.ts";
import { numberIn } from "../http/fields.ts";
import { json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";

const MOST = 1000;
const USUAL = 200;

/** GET /api/threads/{id}/entries: a window, however long the thread is. */
export async function readEntries({ studio, query, param }: Call): Promise<Response> {
  const id = param("id");
  const thread = await studio.store.load(id, { last: 1 });
  if (thread === undefined) throw threadNotFound(id);
  const window = windowOf(query, thread.rev);
  const entries: Entry[] = [];
  if (window.fromSeq <= window.toSeq) {
    for await (const entry of studio.store.read(id, window)) entries.push(entry);
  }
  return json({ entries, rev: thread.rev });
}

/** Both ends are included; an empty window begins behind its end. */
function windowOf(query: URLSearchParams, rev: number): { readonly fromSeq: number; readonly toSeq: number } {
  const limit = Math.max(1, numberIn(query, "limit", MOST) ?? USUAL);
  const around = numberIn(query, "around");
  const from = numberIn(query, "from");
  const to = numberIn(query, "to");
  if (around !== undefined) {
    const first = Math.max(0, Math.min(around - Math.floor(limit / 2), rev - limit));
    return { fromSeq: first, toSeq: Math.min(first + limit, rev) - 1 };
  }
  if (from !== undefined)
    return { fromSeq: from, toSeq: Math.min(to ?? rev - 1, rev - 1, from + (to === undefined ? limit : MOST) - 1) };
  const last = Math.min(to ?? rev - 1, rev - 1);
  const count = Math.max(1, numberIn(query, "last", MOST) ?? limit);
  return { fromSeq: Math.max(0, last - count + 1), toSeq: last };
}
