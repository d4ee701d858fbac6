/** Rejects when the signal aborts before the work has settled, by default with the signal's reason. Does not stop the work. */
export async function untilAborted<Result>(
  signal: AbortSignal,
  work: Promise<Result>,
  reasonOf: () => unknown = () => signal.reason,
): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(reasonOf());
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
