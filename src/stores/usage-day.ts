import type { Usage } from "../agent/model-call.ts";

/** Prices of a million tokens, in any currency. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  /** Input that the provider read from its cache. Default: `input`. */
  readonly cached?: number | undefined;
  /** Input that the provider wrote to its cache: Anthropic takes 1.25 times `input`. Default: `input`. */
  readonly cacheWrite?: number | undefined;
}

/** The usage of one UTC day. Days without usage are left out. */
export interface UsageDay {
  /** For example `2026-11-22`. */
  readonly day: string;
  /** Messages of the user with the ref `requestId`, without those that steer a running request. */
  readonly asks: number;
  /** Sorted by name. */
  readonly models: readonly ModelUsage[];
}

/** The calls of one model on one day. Estimated counts are included; one that was neither reported nor estimated is 0. */
export interface ModelUsage extends Required<Omit<Usage, "estimated">> {
  /** The name in the record of the call; "unknown" if it has none, or one of more than 200 bytes. */
  readonly model: string;
  /** Answers, refusals and summaries, including failed ones. */
  readonly calls: number;
  /** Absent without a price of the model. */
  readonly cost?: number;
}
