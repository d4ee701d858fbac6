/** The options of every call of a store. `watch` and `feed` end without an error when their signal aborts. */
export interface CallOptions {
  /**
   * Stops waiting when it aborts: the call rejects with `store_aborted`. The message says whether a write may be stored.
   * Default: the call waits until the store answers, or until the deadline of the store.
   */
  readonly signal?: AbortSignal | undefined;
}
