/** Text in parts, split at any character. */
export type Parts = AsyncIterable<string> | Iterable<string>;

/** Joins the parts and yields line by line. */
export async function* linesOf(parts: Parts): AsyncGenerator<string, void> {
  const open: string[] = [];
  for await (const part of parts) {
    const [first = "", ...rest] = part.split("\n");
    open.push(first);
    const last = rest.pop();
    if (last === undefined) continue;
    yield open.join("");
    yield* rest;
    open.length = 0;
    open.push(last);
  }
  yield open.join("");
}
