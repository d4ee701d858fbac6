import type { NamedHead } from "../driver.ts";
import { checkHead, infoOf } from "../format/head.ts";
import { asJsonText, comparePlaces, type ListQuery, listQuery, lowerAscii, pageOf, placeOf } from "../list-query.ts";
import type { ListOptions, ThreadInfo, ThreadPage } from "../port.ts";
import type { StoreContext } from "./context.ts";
import { rowsOf } from "./read.ts";

const PAGE = 500;

export async function list(context: StoreContext, options: ListOptions): Promise<ThreadPage> {
  const query = listQuery(options);
  const found = (await context.driver.list?.(query)) ?? (await search(context, query));
  const infos = found.map(({ id, head }) => infoOf(id, checkHead(id, head, context.ports.sha256)));
  return pageOf(infos, query);
}

/** The fallback for drivers without `list`. Reads all heads, and all rows when there is a search text. */
export async function search(context: StoreContext, query: ListQuery): Promise<readonly NamedHead[]> {
  const found: NamedHead[] = [];
  for await (const listed of headsOf(context)) if (await isWanted(context, listed, query)) found.push(listed);
  const placeIn = ({ id, head }: NamedHead) => placeOf(infoOf(id, head), query.order);
  return found.sort((a, b) => comparePlaces(placeIn(a), placeIn(b), query.order)).slice(0, query.limit + 1);
}

async function isWanted(context: StoreContext, { id, head }: NamedHead, query: ListQuery): Promise<boolean> {
  const info = infoOf(id, head);
  if (!id.startsWith(query.prefix) || (query.status !== undefined && info.status !== query.status)) return false;
  const isBefore =
    query.after !== undefined && comparePlaces(placeOf(info, query.order), query.after, query.order) <= 0;
  return !isBefore && mentions(context, info, query.search);
}

async function* headsOf({ driver }: StoreContext): AsyncIterable<NamedHead> {
  let after: string | undefined;
  for (;;) {
    const page = await driver.heads(after, PAGE);
    yield* page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.id;
  }
}

async function mentions(context: StoreContext, { id, rev, metadata }: ThreadInfo, search: string): Promise<boolean> {
  if (search === "" || lowerAscii(id).includes(search)) return true;
  const needle = asJsonText(search);
  if (lowerAscii(JSON.stringify(metadata)).includes(needle)) return true;
  for await (const _ of rowsOf(context, id, { from: 0, to: rev - 1, search: needle, limit: 1 })) return true;
  return false;
}
