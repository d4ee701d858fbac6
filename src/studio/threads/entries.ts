import { threadNotFound } from "../../stores/errors.ts";
import type { Entry } from "../../thread/entry.ts";
import type { EntryWindow } from "../contract/thread.ts";
import { Budget } from "../http/budget.ts";
import { numberIn } from "../http/fields.ts";
import { type Answer, json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";
import { type EntryFilter, filteredEntries, type Looking } from "./filtered.ts";

const MOST = 1000;
const USUAL = 200;

/** GET /api/threads/{id}/entries: a window of entries. With kinds or a lane, a search with a time limit. */
export async function readEntries({ studio, query, param }: Call): Promise<Answer<EntryWindow>> {
  const id = param("id");
  const thread = await studio.store.load(id, { last: 1 });
  if (thread === undefined) throw threadNotFound(id);
  const { rev } = thread;
  const filter = filterOf(query);
  if (filter !== undefined) {
    const looking = lookingOf(query, rev);
    return json(await filteredEntries(studio.store, id, filter, looking, new Budget(studio.ports.clock)));
  }
  const window = windowOf(query, rev);
  const entries: Entry[] = [];
  if (window.fromSeq <= window.toSeq) {
    for await (const entry of studio.store.read(id, window)) entries.push(entry);
  }
  return json<EntryWindow>({ entries, rev });
}

function filterOf(query: URLSearchParams): EntryFilter | undefined {
  const kinds = (query.get("kinds") ?? "").split(",").filter((word) => word !== "");
  const lane = query.get("lane") || undefined;
  return kinds.length === 0 && lane === undefined ? undefined : { kinds, lane };
}

/** Searches forward if `from` is set, else back from `to` or the end. */
function lookingOf(query: URLSearchParams, rev: number): Looking {
  const limit = Math.max(1, numberIn(query, "limit", MOST) ?? USUAL);
  const from = numberIn(query, "from");
  if (from !== undefined) return { rev, start: from, isForward: true, limit };
  return { rev, start: Math.min(numberIn(query, "to") ?? rev - 1, rev - 1), isForward: false, limit };
}

/** Both ends are included. An empty window has `fromSeq` above `toSeq`. */
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
