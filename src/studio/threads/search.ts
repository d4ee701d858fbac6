import { asJsonText, lowerAscii, pageOf } from "../../stores/list-query.ts";
import type { ListOptions, ThreadInfo, ThreadStore } from "../../stores/port.ts";
import type { Budget } from "../http/budget.ts";
import { badField } from "../http/error.ts";

/** Threads read in one step. */
const PAGE = 500;
/** Entries read in one step. */
const STEP = 20_000;

export interface Order {
  readonly order: "updated" | "created";
  readonly status: string | undefined;
}

export interface Filter {
  readonly isWanted: (info: ThreadInfo) => boolean;
  /** Whether to stop at this thread: lists are sorted by time, newest first, so no later one matches. */
  readonly isPast: (info: ThreadInfo) => boolean;
}

interface Found {
  readonly threads: readonly ThreadInfo[];
  readonly cursor?: string | undefined;
  /** The thread at which the time limit was reached. */
  readonly stoppedAt?: ThreadInfo;
}

/** Where a search continues: after a thread of the list, and in the next thread before an entry. */
interface Place {
  readonly after?: string | undefined;
  readonly before?: number | undefined;
}

/**
 * The threads that contain a text in the id, the metadata or the payload of an entry, newest first. The search may have to
 * read whole threads, so it has a time limit. The cursor continues it.
 */
export async function searchThreads(
  store: ThreadStore,
  search: string,
  options: Order & { readonly cursor: string | undefined; readonly limit: number },
  { isWanted, isPast }: Filter,
  budget: Budget,
): Promise<Found> {
  const { order, status, limit } = options;
  const threads: ThreadInfo[] = [];
  let { after, before }: Place = placeIn(options.cursor);
  for (;;) {
    const page: Awaited<ReturnType<ThreadStore["list"]>> = await store.list({
      order,
      status,
      cursor: after,
      limit: PAGE,
    });
    for (const info of page.threads) {
      if (isPast(info)) return { threads };
      if (isWanted(info)) {
        if (threads.length === limit) return { threads, cursor: cursorAt({ after }) };
        const looked: boolean | number =
          isInHead(info, search) || (await isInEntries(store, info, search, before, budget));
        if (typeof looked === "number") {
          return { threads, cursor: cursorAt({ after, before: looked }), stoppedAt: info };
        }
        if (looked) threads.push(info);
      }
      before = undefined;
      after = cursorBehind(info, options);
      if (await budget.isSpent()) return { threads, cursor: cursorAt({ after }), stoppedAt: info };
    }
    if (page.cursor === undefined) return { threads };
  }
}

function isInHead({ id, metadata }: ThreadInfo, search: string): boolean {
  const small = lowerAscii(search);
  return lowerAscii(id).includes(small) || lowerAscii(JSON.stringify(metadata)).includes(asJsonText(small));
}

/** Whether the text occurs. If the time is up, the seq before which the entries are not searched yet. */
async function isInEntries(
  store: ThreadStore,
  { id, rev }: ThreadInfo,
  search: string,
  before: number | undefined,
  budget: Budget,
): Promise<boolean | number> {
  for (let toSeq = Math.min(rev, before ?? rev) - 1; toSeq >= 0; toSeq -= STEP) {
    const fromSeq = Math.max(0, toSeq - STEP + 1);
    for await (const _ of store.read(id, { fromSeq, toSeq, search, reverse: true, limit: 1 })) return true;
    if (fromSeq > 0 && (await budget.isSpent())) return fromSeq;
  }
  return false;
}

/** A cursor in the format of the store. */
export function cursorBehind(info: ThreadInfo, { order }: Pick<ListOptions, "order">): string | undefined {
  const query = { prefix: "", order: order ?? "updated", status: undefined, search: "", limit: 1, after: undefined };
  return pageOf([info, info], query).cursor;
}

const OURS = "search:";

function cursorAt(place: Place): string {
  return `${OURS}${JSON.stringify(place)}`;
}

function placeIn(cursor: string | undefined): Place {
  if (cursor === undefined) return {};
  try {
    if (!cursor.startsWith(OURS)) throw new SyntaxError();
    const { after, before }: { readonly after?: unknown; readonly before?: unknown } = JSON.parse(
      cursor.slice(OURS.length),
    );
    if (after !== undefined && typeof after !== "string") throw new SyntaxError();
    if (before !== undefined && !Number.isSafeInteger(before)) throw new SyntaxError();
    return { after, before: before as number | undefined }; // checked just above
  } catch {
    throw badField("cursor", "the cursor of a page of the same search");
  }
}
