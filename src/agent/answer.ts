import type { Content, ToolCall } from "../thread/message.ts";

/** Tokens as the provider reported them; what it did not report is absent. */
export type Usage = {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** Of the input: read from the provider's cache, and written to it. */
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  /** Of the output: spent on thinking. */
  readonly reasoningTokens?: number;
};

export type FinishReason =
  | "stop"
  | "length"
  | "content-filter"
  | "tool-calls"
  | "error"
  /** The stream ended without saying that the answer was complete. */
  | "interrupted"
  | "other";

/** One whole turn of the model, in neutral form: every part in its place, with its metadata. */
export interface ModelAnswer {
  readonly content: Content;
  readonly toolCalls: readonly ToolCall[];
  readonly usage: Usage;
  readonly finishReason: FinishReason;
  /** Which answer the provider says this is, and of which model: an alias such as "latest" is resolved here. */
  readonly response?: { readonly id?: string; readonly modelId?: string };
}

/** Usage by model, as `provider:model`; calls whose record names no model are under "unknown". */
export type UsageByModel = { readonly [model: string]: Usage };

/** Usage by model with one more call in it. */
export function addModelUsage(before: UsageByModel, model: string | undefined, usage: Usage): UsageByModel {
  const name = model ?? "unknown";
  const own = Object.hasOwn(before, name) ? before[name] : undefined; // models are named by users
  return { ...before, [name]: addUsage(own ?? {}, usage) };
}

/**
 * Usage of several calls together.
 *
 * @example
 * addUsage({ inputTokens: 10, outputTokens: 2 }, { inputTokens: 12 }); // { inputTokens: 22, outputTokens: 2 }
 */
export function addUsage(a: Usage, b: Usage): Usage {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]) as ReadonlySet<keyof Usage>; // Usage has no other keys
  return Object.fromEntries([...keys].map((key) => [key, (a[key] ?? 0) + (b[key] ?? 0)]));
}
