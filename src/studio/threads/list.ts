import type { ThreadInfo } from "../../stores/port.ts";
import type { ThreadPage } from "../contract/thread.ts";
import { Budget } from "../http/budget.ts";
import { numberIn, oneOf, timeIn } from "../http/fields.ts";
import { type Answer, json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";
import type { Studio } from "../studio.ts";
import { rowOf } from "./row.ts";
import { cursorBehind, type Filter, type Order, searchThreads } from "./search.ts";

const MOST = 200;
/** Threads read in one step if the store cannot apply the filter itself. */
const PAGE = 500;

/** GET /api/threads */
export async function listThreads({ studio, query }: Call): Promise<Answer<ThreadPage>> {
  const order = oneOf(["updated", "created"], query.get("order") || "updated", "order");
  const limit = Math.max(1, numberIn(query, "limit", MOST) ?? 50);
  const since = timeIn(query, "since") ?? Number.NEGATIVE_INFINITY;
  const until = timeIn(query, "until") ?? Number.POSITIVE_INFINITY;
  const agent = query.get("agent") || undefined;
  const search = query.get("search") || "";
  const options = { order, cursor: query.get("cursor") || undefined, status: query.get("status") || undefined, limit };
  const timeOf = ({ createdAt, updatedAt }: ThreadInfo): number => (order === "created" ? createdAt : updatedAt);
  const filter: Filter = {
    isWanted: (info) => timeOf(info) <= until && (agent === undefined || info.metadata["agent"] === agent),
    isPast: (info) => timeOf(info) < since,
  };
  const { threads, cursor, stoppedAt } =
    search === ""
      ? { ...(await filtered(studio, options, filter)), stoppedAt: undefined }
      : await searchThreads(studio.store, search, options, filter, new Budget(studio.ports.clock));
  return json<ThreadPage>({
    threads: await Promise.all(threads.map((info) => rowOf(studio, info))),
    ...(cursor !== undefined && { cursor }),
    ...(stoppedAt !== undefined && { searchedTo: timeOf(stoppedAt) }),
  });
}

async function filtered(
  { store }: Studio,
  { order, status, limit, ...place }: Order & { readonly cursor: string | undefined; readonly limit: number },
  { isWanted, isPast }: Filter,
): Promise<{ readonly threads: readonly ThreadInfo[]; readonly cursor?: string | undefined }> {
  const threads: ThreadInfo[] = [];
  for (let { cursor } = place, size = limit + 1; ; size = PAGE) {
    const page = await store.list({ order, status, cursor, limit: size });
    for (const info of page.threads) {
      if (isPast(info)) return { threads };
      if (!isWanted(info)) continue;
      const last = threads.at(-1);
      if (last !== undefined && threads.length === limit) return { threads, cursor: cursorBehind(last, { order }) };
      threads.push(info);
    }
    cursor = page.cursor;
    if (cursor === undefined) return { threads };
  }
}
