import type { JsonObject } from "../thread/json.ts";

/** A call that waits for a person or for another process. */
export interface WaitingCallInput {
  /** Names the call within its thread: 1 to 512 characters without control characters. */
  readonly callId: string;
  /** The kind of wait, such as "approval": 1 to 128 characters. */
  readonly kind: string;
  /** When the wait ends, in milliseconds since 1970, for people who read the list. Default: none. */
  readonly deadline?: number | undefined;
  /** Data for a list, such as the tool and its input. Default `{}`. */
  readonly body?: JsonObject | undefined;
}

/** A waiting call of any thread. */
export interface ListedCall {
  readonly threadId: string;
  readonly callId: string;
  readonly kind: string;
  /** When the holder first named it, by the store's clock. */
  readonly since: number;
  readonly deadline?: number;
  readonly body: JsonObject;
}

/** One page of waiting calls. */
export interface WaitingPage {
  readonly calls: readonly ListedCall[];
  /** Pass it to `waiting` for the next page. Absent on the last page. */
  readonly cursor?: string;
}
