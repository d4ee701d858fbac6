import { checkSeq, invalidOption } from "./options.ts";
import type { ListOptions, ListOrder, ThreadInfo, ThreadPage } from "./port.ts";

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
    search: lowerAscii(search),
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

/** The case folding that every database has: of the letters A to Z. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** How a text appears inside JSON text, so that a search for `say "hi"` finds it there. */
export function asJsonText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** `search` is small and as it stands in JSON text. */
export function mentions({ payload }: { readonly payload: string | null }, search: string): boolean {
  return lowerAscii(payload ?? "").includes(search);
}

export function placeOf({ id, updatedAt, createdAt }: ThreadInfo, order: ListOrder): Place {
  return { id, value: order === "updated" ? updatedAt : order === "created" ? createdAt : 0 };
}

export function comparePlaces(a: Place, b: Place, order: ListOrder): number {
  return order === "id" ? compareText(a.id, b.id) : b.value - a.value || compareText(a.id, b.id);
}

/** By code point, as databases sort: JavaScript's own order puts an emoji before "～". */
function compareText(a: string, b: string): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return rankOf(x) - rankOf(y);
  }
  return a.length - b.length;
}

/** Surrogates stand for what comes after everything else. */
function rankOf(codeUnit: number): number {
  return codeUnit >= 0xd800 && codeUnit <= 0xdfff ? codeUnit + 0x10000 : codeUnit;
}

function readCursor(cursor: string, order: ListOrder): Place {
  try {
    const [sameOrder, value, id]: readonly unknown[] = JSON.parse(cursor);
    if (sameOrder === order && typeof value === "number" && typeof id === "string") return { value, id };
  } catch {} // falls through to the same error as any other foreign cursor
  throw invalidOption("cursor", "the cursor of a page listed in the same order");
}
