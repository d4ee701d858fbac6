/** What the caller's own code gives, or an error as soon as the request is interrupted: that code may never end. */
export function untilAborted<Answer>(signal: AbortSignal, work: () => Answer | PromiseLike<Answer>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    Promise.resolve()
      .then(() => work())
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", abort));
  });
}
