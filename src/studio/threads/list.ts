import { pageOf } from "../../stores/list-query.ts";
import type { ListOptions, ThreadInfo } from "../../stores/port.ts";
import { numberIn, oneOf, timeIn } from "../http/fields.ts";
import { json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";
import type { Studio } from "../studio.ts";
import { rowOf } from "./row.ts";

const MOST = 200;
/** Heads looked at in one go where the store cannot filter by itself. */
const PAGE = 500;

/** GET /api/threads */
export async function listThreads({ studio, query }: Call): Promise<Response> {
  const order = oneOf(["updated", "created"], query.get("order") || "updated", "order");
  const limit = Math.max(1, numberIn(query, "limit", MOST) ?? 50);
  const cursor = query.get("cursor") || undefined;
  const since = timeIn(query, "since") ?? Number.NEGATIVE_INFINITY;
  const until = timeIn(query, "until") ?? Number.POSITIVE_INFINITY;
  const agent = query.get("agent") || undefined;
  const options = {
    order,
    cursor,
    status: query.get("status") || undefined,
    search: query.get("search") || undefined,
  } as const;
  const timeOf = ({ createdAt, updatedAt }: ThreadInfo): number => (order === "created" ? createdAt : updatedAt);
  const found = await filtered(studio, options, limit, {
    isWanted: (info) => timeOf(info) <= until && (agent === undefined || info.metadata["agent"] === agent),
    isPast: (info) => timeOf(info) < since,
  });
  return json({
    threads: await Promise.all(found.threads.map((info) => rowOf(studio, info))),
    ...(found.cursor !== undefined && { cursor: found.cursor }),
  });
}

interface Filter {
  readonly isWanted: (info: ThreadInfo) => boolean;
  /** Nothing behind this one is wanted: lists are sorted by time, newest first. */
  readonly isPast: (info: ThreadInfo) => boolean;
}

async function filtered(
  { store }: Studio,
  options: ListOptions & { readonly order: "updated" | "created" },
  limit: number,
  { isWanted, isPast }: Filter,
): Promise<{ readonly threads: readonly ThreadInfo[]; readonly cursor?: string | undefined }> {
  const threads: ThreadInfo[] = [];
  for (let { cursor } = options, size = limit + 1; ; size = PAGE) {
    const page = await store.list({ ...options, cursor, limit: size });
    for (const info of page.threads) {
      if (isPast(info)) return { threads };
      if (!isWanted(info)) continue;
      const last = threads.at(-1);
      if (last !== undefined && threads.length === limit) return { threads, cursor: cursorBehind(last, options) };
      threads.push(info);
    }
    cursor = page.cursor;
    if (cursor === undefined) return { threads };
  }
}

/** As the store itself writes them, so that it can read it. */
function cursorBehind(info: ThreadInfo, { order }: { readonly order: "updated" | "created" }): string | undefined {
  return pageOf([info, info], { prefix: "", order, status: undefined, search: "", limit: 1, after: undefined }).cursor;
}
