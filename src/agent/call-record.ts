import type { View } from "../projection/projection.ts";
import type { JsonObject } from "../thread/json.ts";
import type { FinishReason, Usage } from "./answer.ts";

/** The inputs of a model call. Together with the thread and the named blobs it is enough to rebuild the messages. */
export type CallBasis = {
  readonly model?: string;
  readonly basisRev: number;
  readonly basisLastSeq: number;
  readonly lane: string;
  /** The hash of the blob with the context policy. */
  readonly policy: string;
  /** The hash of the blob with system prompt, tool specs and settings. */
  readonly environment: string;
  /** The last hash of the hash chain over tool specs and messages. */
  readonly fingerprint: string;
  readonly projector: string;
  readonly counter: { readonly id: string; readonly version: string };
  readonly calibration: number;
  readonly view: View;
  readonly estimatedTokens: number;
};

/** `payload.call` of the entry that records a model call. */
export type CallRecord = CallBasis & {
  /** The hash of the blob with the messages, tools or settings that `transformRequest` changed. */
  readonly sent?: string;
  readonly usage: Usage;
  readonly finishReason: FinishReason;
  /** The number of the request's last event before this answer. After a crash the numbers continue from there. */
  readonly eventSeq?: number;
  /** Milliseconds of work of the request so far, over all process starts. Only present when there is a time limit. */
  readonly workedMs?: number;
};

/** The content of the environment blob of a call. */
export type CallEnvironment = {
  readonly systemPrompt?: string;
  readonly tools: readonly JsonObject[];
  readonly settings: JsonObject;
};
