import type { Entry } from "../../thread/entry.ts";
import { checkName } from "../../thread/names.ts";
import type { RowRange, StoredRow } from "../driver.ts";
import { CorruptionError } from "../errors.ts";
import { readRow } from "../format/row.ts";
import { asJsonText, lowerAscii, mentions } from "../list-query.ts";
import { checkOptions, checkSeq, invalidOption } from "../options.ts";
import type { ReadOptions } from "../port.ts";
import type { StoreContext } from "./context.ts";

const PAGE = 500;

/** A synchronous driver would otherwise block the event loop while a long thread is read. */
const PAGES_PER_TURN = 8;

export async function* read(context: StoreContext, threadId: string, options: ReadOptions): AsyncIterable<Entry> {
  checkName("threadId", threadId);
  checkOptions(options, ["fromSeq", "toSeq", "kinds", "search", "reverse", "limit"]);
  const {
    fromSeq = 0,
    toSeq = Number.MAX_SAFE_INTEGER,
    kinds,
    search = "",
    reverse = false,
    limit = Number.MAX_SAFE_INTEGER,
  } = options;
  checkSeq("fromSeq", fromSeq);
  checkSeq("toSeq", toSeq);
  checkSeq("limit", limit);
  if (kinds !== undefined && !Array.isArray(kinds)) throw invalidOption("kinds", "an array of kinds");
  if (typeof search !== "string") throw invalidOption("search", "text");
  const needle = search === "" ? undefined : asJsonText(lowerAscii(search));
  const range: RowRange = { from: fromSeq, to: toSeq, kinds, search: needle, reverse, limit };
  for await (const row of rowsOf(context, threadId, range)) {
    yield readRow(threadId, row, context.ports.sha256);
  }
}

/** Reads the rows of a range in pages. Without a filter, checks that there is no gap and that each row links to the previous one. */
export async function* rowsOf(context: StoreContext, threadId: string, range: RowRange): AsyncIterable<StoredRow> {
  const { kinds, search, reverse = false } = range;
  const isWhole = kinds === undefined && search === undefined;
  let { from, to, limit } = range;
  let previous: StoredRow | undefined;
  for (let pages = 1; limit > 0 && from <= to; pages++) {
    context.checkOpen();
    const size = Math.min(PAGE, limit);
    const page = await context.driver.rows(threadId, { from, to, kinds, search, reverse, limit: size });
    const wanted = search === undefined ? page : page.filter((row) => mentions(row, search));
    for (const row of wanted) {
      if (isWhole && previous !== undefined) checkLink(threadId, previous, row, reverse);
      previous = row;
      yield row;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < size) return;
    limit -= wanted.length;
    if (reverse) to = last.seq - 1;
    else from = last.seq + 1;
    if (pages % PAGES_PER_TURN === 0) await endOfTurn();
  }
}

function checkLink(threadId: string, previous: StoredRow, row: StoredRow, reverse: boolean): void {
  const [earlier, later] = reverse ? [row, previous] : [previous, row];
  if (later.seq === earlier.seq + 1 && later.prev === earlier.hash) return;
  throw new CorruptionError({ threadId, seq: earlier.seq + 1, trouble: "it does not follow from the entry before" });
}

function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
