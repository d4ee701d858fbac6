/** All items of an iterable. */
export async function drain<Item>(source: AsyncIterable<Item>): Promise<Item[]> {
  return take(Number.POSITIVE_INFINITY, source);
}

/** The first `count` items. Then the iterable is closed. */
export async function take<Item>(count: number, source: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  if (count === 0) return items;
  for await (const item of source) {
    items.push(item);
    if (items.length === count) break;
    // Yield to the event loop, so that the timeout can end a case whose store never stops.
    if (items.length % 1000 === 0) await aMoment();
  }
  return items;
}

/** Polls until there is an answer. The timeout of the case limits the wait. */
export async function until<Answer>(ask: () => Promise<Answer | undefined>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await aMoment();
  }
}

/** Yields to the event loop for a short time. */
export async function aMoment(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 2));
}
