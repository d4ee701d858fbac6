import { checkSeq, invalidOption } from "./options.ts";
import type { ListOptions, ListOrder, ThreadInfo, ThreadPage } from "./port.ts";

/** The checked options of `list`, with all defaults. */
export interface ListQuery {
  readonly prefix: string;
  readonly order: ListOrder;
  readonly status: string | undefined;
  readonly search: string;
  readonly limit: number;
  /** The last thread of the previous page. */
  readonly after: Place | undefined;
}

/** The position of a thread in an order: by `value`, then by id. */
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

/** The page made of the threads found. One thread more than the limit means that there is another page. */
export function pageOf(found: readonly ThreadInfo[], { limit, order }: ListQuery): ThreadPage {
  const threads = found.slice(0, limit);
  const last = threads.at(-1);
  if (last === undefined || found.length <= limit) return { threads };
  return { threads, cursor: JSON.stringify([order, placeOf(last, order).value, last.id]) };
}

/** Folds only A to Z, because every database can do that. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Escapes a text as JSON does, so that a search for `say "hi"` finds it in JSON text. */
export function asJsonText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** `search` must be in lower case and escaped as in JSON text. */
export function mentions({ payload }: { readonly payload: string | null }, search: string): boolean {
  return lowerAscii(payload ?? "").includes(search);
}

export function placeOf({ id, updatedAt, createdAt }: ThreadInfo, order: ListOrder): Place {
  return { id, value: order === "updated" ? updatedAt : order === "created" ? createdAt : 0 };
}

export function comparePlaces(a: Place, b: Place, order: ListOrder): number {
  return order === "id" ? compareText(a.id, b.id) : b.value - a.value || compareText(a.id, b.id);
}

/** Sorts by code point, as databases do. JavaScript sorts by UTF-16 units, which puts an emoji before "～". */
function compareText(a: string, b: string): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return rankOf(x) - rankOf(y);
  }
  return a.length - b.length;
}

/** Surrogates encode code points above U+FFFF, so they sort last. */
function rankOf(codeUnit: number): number {
  return codeUnit >= 0xd800 && codeUnit <= 0xdfff ? codeUnit + 0x10000 : codeUnit;
}

function readCursor(cursor: string, order: ListOrder): Place {
  try {
    const [sameOrder, value, id]: readonly unknown[] = JSON.parse(cursor);
    if (sameOrder === order && typeof value === "number" && typeof id === "string") return { value, id };
  } catch {} // not JSON: the same error as for a foreign cursor
  throw invalidOption("cursor", "the cursor of a page listed in the same order");
}
