/** Splits a list between neighbors for which `together` is false. */
export function runs<T>(items: readonly T[], together: (a: T, b: T) => boolean): readonly (readonly T[])[] {
  const result: T[][] = [];
  for (const item of items) {
    const run = result.at(-1);
    const last = run?.at(-1);
    if (run !== undefined && last !== undefined && together(last, item)) run.push(item);
    else result.push([item]);
  }
  return result;
}
