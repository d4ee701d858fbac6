import { type Fields, fields, flag, oneOf, share, text, whole } from "./checks.ts";
import { DEFAULT_KINDS, kinds } from "./kinds.ts";

/** How the window over the history moves. */
export type WindowPolicy = {
  /** "stable" moves in coarse steps, so that provider caches keep hitting; "sliding" keeps the most that fits. */
  readonly mode: "stable" | "sliding";
  /** The step of a stable window as a share of the tokens for input. Default 0.5. */
  readonly step: number;
};

/** How tool results are shortened in the view. 0 is off, and the default of `ContextPolicy.create`. */
export type ToolResultsPolicy = {
  /** Show the results of the last n exchanges only; a marker stands for the others. */
  readonly keepLast: number;
  /** Shorten any result above this to its head and tail. Default of agents: half of the room for input. */
  readonly maxTokens: number;
};

export type ContextPolicy = {
  /** The window given to input and reserved output together. Default 8000. */
  readonly maxInputTokens: number;
  /** Kept free for the answer. Default 2000. */
  readonly reserveOutputTokens: number;
  /** Ceiling on history messages; 0 is none. */
  readonly maxMessages: number;
  /** Ceiling on user turns; 0 is none. */
  readonly maxTurns: number;
  /** Turns that ceilings, clearing and summaries leave alone. Default 3, lower under an explicit ceiling. */
  readonly keepLastTurns: number;
  /** Default "use_existing"; "request_new" also raises needsSummary. */
  readonly summarization: "none" | "use_existing" | "request_new";
  /** The role a summary is shown in. Default "system". */
  readonly summaryRole: "system" | "user";
  /** The kinds of entries that are shown. */
  readonly includeKinds: readonly string[];
  /** The system prompt, unless the input of a projection brings its own. */
  readonly systemPrompt?: string;
  /** The counter an agent passes to the projection. Default "heuristic". */
  readonly tokenEstimator: "heuristic" | "exact" | "calibrated";
  readonly window: WindowPolicy;
  readonly toolResults: ToolResultsPolicy;
  /** "auto", the default, keeps thinking only where the provider will accept it. */
  readonly thinking: "auto" | "keep" | "drop";
  /** When head and newest block do not fit: "error", the default, or "shrink" the newest block's results, that of agents. */
  readonly overflow: "error" | "shrink";
  /** Raise needsSummary when more entries than this follow the last summary; 0 is off. */
  readonly summarizeThreshold: number;
  /** Raise needsSummary when the lane measures more tokens than this; 0 is off. */
  readonly maxThreadTokens: number;
  /** Whether the strategy summarises when asked to. Default false. */
  readonly autoSummarize: boolean;
  readonly summarizationModel?: string;
};

type Optional<T> = { readonly [Key in keyof T]?: T[Key] | undefined };

/** What a caller says of a policy: any part of it. */
export type ContextPolicyInput = Optional<Omit<ContextPolicy, "window" | "toolResults">> & {
  readonly window?: Optional<WindowPolicy> | undefined;
  readonly toolResults?: Optional<ToolResultsPolicy> | undefined;
};

export const DEFAULTS: ContextPolicy = {
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

/** Every field with its check. The order here is the order of a policy's keys, and so of its canonical JSON. */
export const CHECKS: Fields<ContextPolicy> = {
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
