/** The largest size of one statement, in characters. A Postgres message can hold 1 GB, and quoting can double a text. */
const LIMIT = 8 * 1024 * 1024;

/** Splits a list into chunks whose texts stay below the limit. A longer text gets its own chunk. */
export function chunksOf<Item>(items: readonly Item[], textOf: (item: Item) => string | null): readonly Item[][] {
  const chunks: Item[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const length = textOf(item)?.length ?? 0;
    if (size + length > LIMIT) {
      chunks.push([]);
      size = 0;
    }
    chunks.at(-1)?.push(item);
    size += length;
  }
  return chunks;
}
