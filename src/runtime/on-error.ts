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
 * Told each error of a provider, tool, guard, summarizer or prompt function as it was thrown, which log and events never hold:
 * it may say anything. Called once for each, also for an attempt that is made again. What it throws is ignored.
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
