import type { View } from "../projection/projection.ts";
import type { JsonObject } from "../thread/json.ts";
import type { FinishReason, Usage } from "./answer.ts";

/** What a model call was made from: with the thread and the blobs it names, enough to render its messages again. */
export type CallBasis = {
  readonly model?: string;
  readonly basisRev: number;
  readonly basisLastSeq: number;
  readonly lane: string;
  /** Hashes of blobs: the policy; the system prompt, tool specs and settings. */
  readonly policy: string;
  readonly environment: string;
  /** The last link of the chain of hashes over tool specs and messages. */
  readonly fingerprint: string;
  readonly projector: string;
  readonly counter: { readonly id: string; readonly version: string };
  readonly calibration: number;
  readonly view: View;
  readonly estimatedTokens: number;
};

/** `payload.call` of the entry that a model call leaves. */
export type CallRecord = CallBasis & {
  /** The blob of what `transformRequest` changed: messages, tools or settings. */
  readonly sent?: string;
  readonly usage: Usage;
  readonly finishReason: FinishReason;
  /** Events of the request up to this answer: after a crash their numbers go on from there. */
  readonly eventSeq?: number;
  /** Milliseconds that the request was at work up to here, over all starts; where it has a time limit. */
  readonly workedMs?: number;
};

/** The environment blob of a call. */
export type CallEnvironment = {
  readonly systemPrompt?: string;
  readonly tools: readonly JsonObject[];
  readonly settings: JsonObject;
};
