/** What one statement carries at most; a message may be a gigabyte, and quoting can double a text. */
const LIMIT = 8 * 1024 * 1024;

/** Cuts a list so that the texts of each piece stay below the limit; a text above it goes alone. */
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
