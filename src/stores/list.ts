import type { StoreContext } from "./context.ts";
import type { ThreadHead } from "./driver.ts";
import { infoOf } from "./head.ts";
import { asJsonText, comparePlaces, type ListQuery, lowerAscii, pageOf, placeOf } from "./list-query.ts";
import type { ThreadInfo, ThreadPage } from "./port.ts";
import { rowsOf } from "./read.ts";

const PAGE = 500;

/** Derived from heads and rows alone: reads everything, so a driver with an index does better. */
export async function list(context: StoreContext, query: ListQuery): Promise<ThreadPage> {
  const found: ThreadInfo[] = [];
  for await (const [id, head] of headsOf(context)) {
    const info = infoOf(id, head);
    if (!id.startsWith(query.prefix) || (query.status !== undefined && info.status !== query.status)) continue;
    if (query.after !== undefined && comparePlaces(placeOf(info, query.order), query.after, query.order) <= 0) continue;
    if (await mentions(context, info, query.search)) found.push(info);
  }
  found.sort((a, b) => comparePlaces(placeOf(a, query.order), placeOf(b, query.order), query.order));
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
  if (search === "" || lowerAscii(id).includes(search)) return true;
  const needle = asJsonText(search);
  if (lowerAscii(JSON.stringify(metadata)).includes(needle)) return true;
  for await (const { payload } of rowsOf(context, id, { from: 0, to: rev - 1, limit: rev })) {
    if (lowerAscii(payload ?? "").includes(needle)) return true;
  }
  return false;
}
