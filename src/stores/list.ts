import { checkSeq, invalidOption, type StoreContext } from "./context.ts";
import type { ThreadHead } from "./driver.ts";
import { infoOf } from "./head.ts";
import type { ListOptions, ListOrder, ThreadInfo, ThreadPage } from "./port.ts";
import { rowsOf } from "./read.ts";

const PAGE = 500;

/** What to list, with every default filled in. */
export interface ListQuery {
  readonly prefix: string;
  readonly order: ListOrder;
  readonly status: string | undefined;
  readonly search: string;
  readonly limit: number;
  /** The last thread of the page before. */
  readonly after: Place | undefined;
}

/** Where a thread stands in an order: by `value`, among equals by id. */
export interface Place {
  readonly value: number;
  readonly id: string;
}

export function listQuery(options: ListOptions): ListQuery {
  const { prefix = "", order = "updated", status, search = "", limit = 50, cursor } = options;
  for (const [name, value] of Object.entries({ prefix, search, status: status ?? "" })) {
    if (typeof value !== "string") throw invalidOption(name, "text");
  }
  if (!["updated", "created", "id"].includes(order)) throw invalidOption("order", '"updated", "created" or "id"');
  checkSeq("limit", limit);
  if (limit < 1 || limit > 1000) throw invalidOption("limit", "from 1 to 1,000");
  return {
    prefix,
    order,
    status,
    search: search.toLowerCase(),
    limit,
    after: cursor === undefined ? undefined : readCursor(cursor, order),
  };
}

/** The page that `found`, at least one more than the limit when there are more, comes to. */
export function pageOf(found: readonly ThreadInfo[], { limit, order }: ListQuery): ThreadPage {
  const threads = found.slice(0, limit);
  const last = threads.at(-1);
  if (last === undefined || found.length <= limit) return { threads };
  return { threads, cursor: JSON.stringify([order, placeOf(last, order).value, last.id]) };
}

/** Derived from heads and rows alone: reads everything, so a driver with an index does better. */
export async function list(context: StoreContext, query: ListQuery): Promise<ThreadPage> {
  const found: ThreadInfo[] = [];
  for await (const [id, head] of headsOf(context)) {
    const info = infoOf(id, head);
    if (!id.startsWith(query.prefix) || (query.status !== undefined && info.status !== query.status)) continue;
    if (query.after !== undefined && compare(placeOf(info, query.order), query.after, query.order) <= 0) continue;
    if (await mentions(context, info, query.search)) found.push(info);
  }
  found.sort((a, b) => compare(placeOf(a, query.order), placeOf(b, query.order), query.order));
  return pageOf(found, query);
}

async function* headsOf({ driver }: StoreContext): AsyncIterable<readonly [string, ThreadHead]> {
  let after: string | undefined;
  for (;;) {
    const page = await driver.heads(after, PAGE);
    for (const { id, head } of page) yield [id, head];
    if (page.length < PAGE) return;
    after = page.at(-1)?.id;
  }
}

async function mentions(context: StoreContext, { id, rev, metadata }: ThreadInfo, search: string): Promise<boolean> {
  if (search === "" || id.toLowerCase().includes(search)) return true;
  const needle = asJsonText(search);
  if (JSON.stringify(metadata).toLowerCase().includes(needle)) return true;
  for await (const { payload } of rowsOf(context, id, { from: 0, to: rev - 1, limit: rev })) {
    if (payload?.toLowerCase().includes(needle)) return true;
  }
  return false;
}

/** How a text appears inside JSON text, so that a search for `say "hi"` finds it there. */
export function asJsonText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function placeOf({ id, updatedAt, createdAt }: ThreadInfo, order: ListOrder): Place {
  return { id, value: order === "updated" ? updatedAt : order === "created" ? createdAt : 0 };
}

function compare(a: Place, b: Place, order: ListOrder): number {
  const byId = a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
  return order === "id" ? byId : b.value - a.value || byId;
}

function readCursor(cursor: string, order: ListOrder): Place {
  try {
    const [sameOrder, value, id]: readonly unknown[] = JSON.parse(cursor);
    if (sameOrder === order && typeof value === "number" && typeof id === "string") return { value, id };
  } catch {} // falls through to the same error as any other foreign cursor
  throw invalidOption("cursor", "the cursor of a page listed in the same order");
}
