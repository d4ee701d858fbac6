import type { Entry } from "../../thread/entry.ts";
import type { RowRange } from "../driver.ts";
import { type BlobTexts, readRow } from "../row-format.ts";
import type { StoredRow } from "../stored-records.ts";
import { blobTexts } from "./blob-texts.ts";
import { pagesOf, type StoreContext } from "./context.ts";

/** Some rows, and the texts of their blobs. */
interface ReadablePage {
  readonly rows: readonly StoredRow[];
  readonly blobs: BlobTexts;
}

/** The rows of a range in pages, with what is needed to read their entries. */
export async function* readablePagesOf(
  context: StoreContext,
  threadId: string,
  range: RowRange,
): AsyncIterable<ReadablePage> {
  for await (const rows of pagesOf(context, threadId, range)) yield { rows, blobs: await blobTexts(context, rows) };
}

/** The checked entries of a range, one by one. */
export async function* entriesOf(context: StoreContext, threadId: string, range: RowRange): AsyncIterable<Entry> {
  for await (const { rows, blobs } of readablePagesOf(context, threadId, range))
    for (const row of rows) yield readRow(threadId, row, context.ports.sha256, blobs);
}

/** The checked entry of one row. */
export async function entryOf(context: StoreContext, threadId: string, row: StoredRow): Promise<Entry> {
  return readRow(threadId, row, context.ports.sha256, await blobTexts(context, [row]));
}
