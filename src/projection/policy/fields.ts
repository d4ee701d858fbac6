import { DEFAULT_KINDS, type Fields, fields, flag, kinds, oneOf, share, text, whole } from "./checks.ts";

/** How the start of the context window moves when the history grows. */
export type WindowPolicy = {
  /**
   * "stable", the default, moves the start rarely and far, which keeps provider caches valid. "sliding" moves it as
   * little as possible.
   */
  readonly mode: "stable" | "sliding";
  /** How far a stable window moves at once, as a fraction of the tokens for input. Default 0.5. */
  readonly step: number;
};

/** How tool results are cleared and shortened in the context. 0 is off, and the default of `ContextPolicy.create`. */
export type ToolResultsPolicy = {
  /** Show the results of the last n exchanges, and a marker for older ones. Default 0. */
  readonly keepLast: number;
  /**
   * Shorten every result above this many tokens to its start and end. Default 0; for agents half of the tokens for
   * input.
   */
  readonly maxTokens: number;
};

/** The fields of a policy. */
export type PolicyFields = {
  /** Tokens for input and reserved output together. Default 8000. */
  readonly maxInputTokens: number;
  /** Tokens reserved for the answer. Default 2000. */
  readonly reserveOutputTokens: number;
  /** The largest number of history messages. Default 0, no limit. */
  readonly maxMessages: number;
  /** The largest number of user turns. Default 0, no limit. */
  readonly maxTurns: number;
  /**
   * How many of the newest turns limits, clearing and summaries leave unchanged. Default 3, or less if an explicit
   * limit is lower.
   */
  readonly keepLastTurns: number;
  /** "use_existing", the default, shows summaries. "request_new" also sets needsSummary. "none" ignores summaries. */
  readonly summarization: "none" | "use_existing" | "request_new";
  /** The role of the summary message. Default "system". */
  readonly summaryRole: "system" | "user";
  /** The kinds of entries that are shown. Default: messages, calls, results, summaries and context operations. */
  readonly includeKinds: readonly string[];
  /** The system prompt, unless the projection input has its own. Default none. */
  readonly systemPrompt?: string;
  /** The counter an agent passes to the projection. Default "heuristic". */
  readonly tokenEstimator: "heuristic" | "exact" | "calibrated";
  /** How the window over the history moves. Default: stable, in steps of a half. */
  readonly window: WindowPolicy;
  /** How tool results are cleared and shortened. Default: not at all; for agents, results above half of the input. */
  readonly toolResults: ToolResultsPolicy;
  /** "auto", the default, keeps thinking only where the provider accepts it. "keep" keeps all thinking, "drop" drops all. */
  readonly thinking: "auto" | "keep" | "drop";
  /** If the newest block does not fit: "error" throws, "shrink" shortens its results. Default "error"; for agents "shrink". */
  readonly overflow: "error" | "shrink";
  /** Set needsSummary when more entries than this follow the last summary. Default 0, off. */
  readonly summarizeThreshold: number;
  /** Set needsSummary when the entries without a summary have more tokens than this. Default 0, off. */
  readonly maxThreadTokens: number;
  /** Whether the agent writes a summary when needsSummary is set. Default false. */
  readonly autoSummarize: boolean;
  /** A name for the model of summaries, which your `summarize` function gets. Default: none. */
  readonly summarizationModel?: string;
};

type Optional<T> = { readonly [Key in keyof T]?: T[Key] | undefined };

/** Any part of a policy. Missing fields get their defaults. */
export type ContextPolicyInput = Optional<Omit<PolicyFields, "window" | "toolResults">> & {
  /** How the window over the history moves. Default: stable, in steps of a half. */
  readonly window?: Optional<WindowPolicy> | undefined;
  /** How tool results are cleared and shortened. Default: not at all; for agents, results above half of the input. */
  readonly toolResults?: Optional<ToolResultsPolicy> | undefined;
};

export const DEFAULTS: PolicyFields = {
  maxInputTokens: 8000,
  reserveOutputTokens: 2000,
  maxMessages: 0,
  maxTurns: 0,
  keepLastTurns: 3,
  summarization: "use_existing",
  summaryRole: "system",
  includeKinds: DEFAULT_KINDS,
  tokenEstimator: "heuristic",
  window: { mode: "stable", step: 0.5 },
  toolResults: { keepLast: 0, maxTokens: 0 },
  thinking: "auto",
  overflow: "error",
  summarizeThreshold: 0,
  maxThreadTokens: 0,
  autoSummarize: false,
};

/** Every field with its check. This order is the key order of a policy, and thus of its canonical JSON. */
export const CHECKS: Fields<PolicyFields> = {
  maxInputTokens: whole(1),
  reserveOutputTokens: whole(0),
  maxMessages: whole(0),
  maxTurns: whole(0),
  keepLastTurns: whole(0),
  summarization: oneOf("none", "use_existing", "request_new"),
  summaryRole: oneOf("system", "user"),
  includeKinds: kinds,
  systemPrompt: text,
  tokenEstimator: oneOf("heuristic", "exact", "calibrated"),
  window: fields<WindowPolicy>({ mode: oneOf("stable", "sliding"), step: share }, DEFAULTS.window),
  toolResults: fields<ToolResultsPolicy>({ keepLast: whole(0), maxTokens: whole(0) }, DEFAULTS.toolResults),
  thinking: oneOf("auto", "keep", "drop"),
  overflow: oneOf("error", "shrink"),
  summarizeThreshold: whole(0),
  maxThreadTokens: whole(0),
  autoSummarize: flag,
  summarizationModel: text,
};
