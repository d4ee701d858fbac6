import { checkName } from "../../thread/options.ts";
import type { ListPosition, ListQuery } from "../driver.ts";
import { checkOptions, checkSeq, invalidOption } from "../options.ts";
import type { ListOptions, ListOrder, ThreadInfo, ThreadPage, ThreadStore } from "../port.ts";
import { asJsonText, lowerAscii } from "../row-filter.ts";
import { checkHead, threadInfo } from "../row-format.ts";
import type { NamedHead, ThreadField } from "../stored-records.ts";
import { checkField, checkFields, hasFields } from "../thread-fields.ts";
import { PAGE_SIZE, rowsOf, type StoreContext } from "./context.ts";

/** `list`: pages of threads, in an order, with filters and a text search. */
export function listMethods(context: StoreContext): Pick<ThreadStore, "list"> {
  return {
    async list(options = {}) {
      const copy = checkOptions(options, [
        "prefix",
        "order",
        "reverse",
        "status",
        "owner",
        "metadata",
        "forkOf",
        "parent",
        "updatedSince",
        "updatedBefore",
        "createdSince",
        "createdBefore",
        "search",
        "limit",
        "cursor",
        "signal",
      ]);
      context.checkOpen();
      const query = checkQuery(copy);
      // Half of a character is in no stored text, but in JavaScript in each whole one.
      if (!(query.prefix.isWellFormed() && query.search.isWellFormed())) return { threads: [] };
      const call = context.withSignal(copy.signal);
      const found = await threadsFor(call, query);
      const infos = found.map(({ id, head }) => threadInfo(id, checkHead(id, head, context.ports.sha256)));
      return pageOf(infos, query);
    },
  };
}

async function threadsFor(context: StoreContext, query: ListQuery): Promise<readonly NamedHead[]> {
  return (await context.driver.list?.(query)) ?? searchHeads(context, query);
}

/** The ids that `list({ forkOf })` has on all of its pages. */
export async function namedForks(context: StoreContext, forkOf: string): Promise<readonly string[]> {
  const query = checkQuery({ forkOf, order: "id", limit: 1000 });
  const found: string[] = [];
  for (;;) {
    const id = found.at(-1);
    const page = await threadsFor(context, { ...query, after: id === undefined ? undefined : { id, value: 0 } });
    found.push(...page.slice(0, query.limit).map((thread) => thread.id));
    if (page.length <= query.limit) return found;
  }
}

function checkQuery(options: ListOptions): ListQuery {
  const { prefix = "", order = "updated", reverse = false, status, search = "", limit = 50, cursor } = options;
  const { owner, updatedSince, updatedBefore, createdSince, createdBefore } = options;
  for (const [name, value] of Object.entries({ prefix, search, status: status ?? "" })) {
    if (typeof value !== "string") throw invalidOption(name, "text");
  }
  if (!["updated", "created", "id"].includes(order)) throw invalidOption("order", '"updated", "created" or "id"');
  if (typeof reverse !== "boolean") throw invalidOption("reverse", "true or false");
  for (const [name, value] of Object.entries({ owner, forkOf: options.forkOf, parent: options.parent ?? undefined }))
    if (value !== undefined) checkName(name, value);
  const times = { updatedSince, updatedBefore, createdSince, createdBefore };
  for (const [name, time] of Object.entries(times))
    if (time !== undefined && !isPosition(time)) throw invalidOption(name, "whole milliseconds since 1970");
  checkSeq("limit", limit);
  if (limit < 1 || limit > 1000) throw invalidOption("limit", "from 1 to 1,000");
  return {
    prefix,
    order,
    reverse,
    status,
    owner,
    fields: fieldsWanted(options),
    ...times,
    search: lowerAscii(search),
    limit,
    after: cursor === undefined ? undefined : readCursor(cursor, sortName({ order, reverse })),
  };
}

const NO_PARENT: ThreadField = { name: "parent", value: null };

function fieldsWanted({ metadata, forkOf, parent }: ListOptions): readonly ThreadField[] {
  return [
    ...checkFields(metadata),
    ...(forkOf === undefined ? [] : [checkField("forkOf", "parentThreadId", forkOf)]),
    ...(parent === undefined ? [] : [parent === null ? NO_PARENT : checkField("parent", "parent", parent)]),
  ];
}

function readCursor(cursor: string, sort: string): ListPosition {
  try {
    const [sameSort, value, id, ...rest]: readonly unknown[] = JSON.parse(cursor);
    checkName("id", id);
    if (sameSort === sort && isPosition(value) && rest.length === 0) return { value, id };
  } catch {} // not JSON, or no name of a thread: the same error as for a foreign cursor
  throw invalidOption("cursor", "the cursor of a page listed in the same order");
}

function isPosition(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** The page made of the threads found. One thread more than the limit means that there is another page. */
function pageOf(found: readonly ThreadInfo[], { limit, ...sort }: ListQuery): ThreadPage {
  const threads = found.slice(0, limit);
  const last = threads.at(-1);
  return last === undefined || found.length <= limit ? { threads } : { threads, cursor: cursorAfter(last, sort) };
}

/** The cursor of a page that ends with this thread. */
export function cursorAfter(info: ThreadInfo, sort: ListSort): string {
  return JSON.stringify([sortName(sort), positionOf(info, sort.order).value, info.id]);
}

type ListSort = Pick<ListQuery, "order" | "reverse">;

/** A cursor names its sort, so that it is refused in another one. */
function sortName({ order, reverse }: ListSort): string {
  return reverse ? `${order} reverse` : order;
}

/** The fallback for drivers without `list`. Reads all heads, and all rows when there is a search text. */
export async function searchHeads(context: StoreContext, query: ListQuery): Promise<readonly NamedHead[]> {
  const found: NamedHead[] = [];
  for await (const named of allHeads(context)) if (await isMatch(context, named, query)) found.push(named);
  const position = ({ id, head }: NamedHead) => positionOf(threadInfo(id, head), query.order);
  return found.sort((a, b) => comparePositions(position(a), position(b), query)).slice(0, query.limit + 1);
}

async function* allHeads({ driver }: StoreContext): AsyncIterable<NamedHead> {
  let after: string | undefined;
  for (;;) {
    const page = await driver.heads(after, PAGE_SIZE);
    yield* page;
    if (page.length < PAGE_SIZE) return;
    after = page.at(-1)?.id;
  }
}

async function isMatch(context: StoreContext, { id, head }: NamedHead, query: ListQuery): Promise<boolean> {
  const info = threadInfo(id, head);
  if (!id.startsWith(query.prefix) || (query.status !== undefined && info.status !== query.status)) return false;
  if (query.owner !== undefined && info.owner !== query.owner) return false;
  if (!isAtTime(info, query) || !hasFields(info.metadata, query.fields)) return false;
  const isOnEarlierPage =
    query.after !== undefined && comparePositions(positionOf(info, query.order), query.after, query) <= 0;
  return !isOnEarlierPage && containsText(context, info, query.search);
}

function isAtTime({ updatedAt, createdAt }: ThreadInfo, query: ListQuery): boolean {
  const { updatedSince = updatedAt, updatedBefore = updatedAt + 1 } = query;
  const { createdSince = createdAt, createdBefore = createdAt + 1 } = query;
  const isUpdated = updatedSince <= updatedAt && updatedAt < updatedBefore;
  return isUpdated && createdSince <= createdAt && createdAt < createdBefore;
}

async function containsText(
  context: StoreContext,
  { id, rev, metadata }: ThreadInfo,
  search: string,
): Promise<boolean> {
  if (search === "" || lowerAscii(id).includes(search)) return true;
  const jsonText = asJsonText(search);
  if (lowerAscii(JSON.stringify(metadata)).includes(jsonText)) return true;
  for await (const _ of rowsOf(context, id, { from: 0, to: rev - 1, search: jsonText, limit: 1 })) return true;
  return false;
}

function positionOf({ id, updatedAt, createdAt }: ThreadInfo, order: ListOrder): ListPosition {
  return { id, value: order === "updated" ? updatedAt : order === "created" ? createdAt : 0 };
}

function comparePositions(a: ListPosition, b: ListPosition, { order, reverse }: ListSort): number {
  if (reverse) return comparePositions(b, a, { order, reverse: false });
  return order === "id" ? compareText(a.id, b.id) : b.value - a.value || compareText(a.id, b.id);
}

/** Sorts by code point, as databases do. JavaScript sorts by UTF-16 units, which puts an emoji before "～". */
function compareText(a: string, b: string): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return sortKey(x) - sortKey(y);
  }
  return a.length - b.length;
}

/** Surrogates encode code points above U+FFFF, so they sort last. */
function sortKey(codeUnit: number): number {
  return codeUnit >= 0xd800 && codeUnit <= 0xdfff ? codeUnit + 0x10000 : codeUnit;
}
