/** Where an error was thrown. */
export interface ErrorOrigin {
  /** What it became: the code of the failure that events and the log tell of. */
  readonly code: string;
  readonly threadId: string;
  readonly requestId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly toolCallId?: string | undefined;
}

/**
 * Called with each original error of a provider, tool, guard, summarizer or prompt function, once per attempt. Log and events
 * never contain these errors, because their text may contain anything. An error that it throws is ignored.
 */
export type OnError = (error: unknown, origin: ErrorOrigin) => unknown;

/** The same, which can no longer hurt. */
export function harmlessly(onError: OnError | undefined): (error: unknown, origin: ErrorOrigin) => void {
  return (error, origin) => {
    try {
      void Promise.resolve(onError?.(error, origin)).catch(() => undefined);
    } catch {
      // who cannot hear of an error does not end a request
    }
  };
}
