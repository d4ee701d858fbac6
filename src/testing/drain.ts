/** Everything an iterable has. */
export async function drain<Item>(source: AsyncIterable<Item>): Promise<Item[]> {
  return take(Number.POSITIVE_INFINITY, source);
}

/** The first so many; then the iterable is told to stop. */
export async function take<Item>(count: number, source: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  if (count === 0) return items;
  for await (const item of source) {
    items.push(item);
    if (items.length === count) break;
    // A broken store that gives without end must not keep the timer from ending the case.
    if (items.length % 1000 === 0) await aMoment();
  }
  return items;
}

/** Asks again and again until the answer is there; a case that waits too long is ended from outside. */
export async function until<Answer>(ask: () => Promise<Answer | undefined>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await aMoment();
  }
}

/** Lets everything else have its turn. */
export async function aMoment(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 2));
}
