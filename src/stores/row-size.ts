import { utf8Length } from "../thread/encoding.ts";
import type { StoreDriver } from "./driver.ts";
import { StoreError } from "./errors.ts";

/** Room for the other columns of a row: ids, names and hashes. */
const OTHER_COLUMNS = 8_192;
/** No character of a text has more bytes. */
const MOST_BYTES = 3;

/** Refuses content that no row of this driver can hold. */
export function checkRowSize(
  { maxRowBytes }: Pick<StoreDriver, "maxRowBytes">,
  what: string,
  ...contents: readonly (string | Uint8Array)[]
): void {
  if (maxRowBytes === undefined) return;
  const limit = maxRowBytes - OTHER_COLUMNS;
  const most = contents.reduce((sum, content) => sum + content.length * MOST_BYTES, 0);
  if (most <= limit) return;
  const size = contents.reduce((sum, content) => sum + bytesOf(content), 0);
  if (size <= limit) return;
  const message = `${what} has ${size} bytes; this database has rows of at most ${limit}. Store large content elsewhere and append a reference to it.`;
  throw new StoreError({ code: "too_large", message });
}

function bytesOf(content: string | Uint8Array): number {
  return typeof content === "string" ? utf8Length(content) : content.byteLength;
}
