/**
 * Runs one load at a time. A call during a load starts one more load after it, so that an old answer that arrives late
 * never replaces a newer one. `load` must not reject.
 */
export function coalesced(load: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const run = async (): Promise<void> => {
    next = undefined;
    await load();
    current = undefined;
  };
  return () => {
    if (current === undefined) {
      current = run();
      return current;
    }
    next ??= current.then(() => {
      current = run();
      return current;
    });
    return next;
  };
}
