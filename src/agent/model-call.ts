import type { ProjectionView } from "../projection/projection.ts";
import type { JsonObject } from "../thread/json.ts";
import type { Content, ToolCall } from "../thread/message.ts";

/** Token counts from the provider. A count that the provider did not report is absent. */
export type Usage = {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** Part of the input: tokens read from the provider's cache, and tokens written to it. */
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  /** Part of the output: tokens spent on thinking. */
  readonly reasoningTokens?: number;
};

/** Why the model stopped. */
export type ModelFinishReason =
  | "stop"
  | "length"
  | "content-filter"
  | "tool-calls"
  | "error"
  /** The stream ended without a finish reason, so the answer may be incomplete. */
  | "interrupted"
  | "other";

/** A complete answer of the model in Heddle's own format: all parts in order, with their metadata. */
export interface ModelAnswer {
  readonly content: Content;
  readonly toolCalls: readonly ToolCall[];
  readonly usage: Usage;
  readonly finishReason: ModelFinishReason;
  /** The provider's id of the answer, and the model that gave it. An alias such as "latest" is resolved here. */
  readonly response?: { readonly id?: string; readonly modelId?: string };
}

/** Usage by model name (`provider:model`). Calls whose record has no model are counted under "unknown". */
export type UsageByModel = { readonly [model: string]: Usage };

/** Adds the usage of one call. */
export function addModelUsage(before: UsageByModel, model: string | undefined, usage: Usage): UsageByModel {
  const name = model ?? "unknown";
  const own = Object.hasOwn(before, name) ? before[name] : undefined; // a model name is user input, and may be a name like "constructor"
  return { ...before, [name]: addUsage(own ?? {}, usage) };
}

/**
 * Adds the token counts of two usages.
 *
 * @example
 * addUsage({ inputTokens: 10, outputTokens: 2 }, { inputTokens: 12 }); // { inputTokens: 22, outputTokens: 2 }
 */
export function addUsage(a: Usage, b: Usage): Usage {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]) as ReadonlySet<keyof Usage>; // Usage has no other keys
  return Object.fromEntries([...keys].map((key) => [key, (a[key] ?? 0) + (b[key] ?? 0)]));
}

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
  readonly view: ProjectionView;
  readonly estimatedTokens: number;
};

/** The record of a model call. `recordedCall` reads it from an entry. */
export type CallRecord = CallBasis & {
  /** The hash of the blob with the messages, tools or settings that `transformRequest` changed. */
  readonly sent?: string;
  readonly usage: Usage;
  readonly finishReason: ModelFinishReason;
  /** How many attempts the call took, over all processes. Absent: one. */
  readonly attempts?: number;
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
