import type { Message, ToolSpec } from "../thread/message.ts";
import type { ProjectorName } from "./rules.ts";

/** The four parts of a context, in their order. */
export type Segment = "system" | "summary" | "history" | "pending";

/** Where one message of a projection comes from. */
export interface Provenance {
  readonly segment: Segment;
  /** The entries it is made of; none for the system prompt, a pending message and what stands in for a missing one. */
  readonly seqs: readonly number[];
  readonly tokens: number;
  /** Why it is there although no entry says exactly this. */
  readonly rule?: "stand_in" | "interrupted" | "cleared" | "shortened" | "shrunk" | "relabelled" | "head";
}

/** Where the tokens go. */
export interface Budget {
  readonly maxInputTokens: number;
  readonly reserveOutputTokens: number;
  readonly system: number;
  readonly tools: number;
  readonly summary: number;
  readonly pending: number;
  /** What was left for the history. */
  readonly available: number;
  /** What the history takes of it. */
  readonly history: number;
}

/** What was decided: with the thread, enough to render the same messages again. */
export interface View {
  /** The entry the window starts with; absent when there is no history. */
  readonly startSeq?: number;
  /** Which message of a replaced context the window starts with. */
  readonly startItem?: number;
  /** The ask of the request that the window cuts, and what was steered into it before the cut. */
  readonly headSeqs: readonly number[];
  readonly summarySeq?: number;
  /** Results of which a marker is shown. */
  readonly cleared: readonly number[];
  /** Entries whose thinking is left out. */
  readonly thinkingDropped: readonly number[];
  /** Entries of the running turn whose thinking is kept although what stands before it has changed; absent without any. */
  readonly thinkingStale?: readonly number[];
  /** Results shortened because the newest block did not fit, and the bytes kept of each. */
  readonly shrunk?: readonly { readonly seq: number; readonly bytes: number }[];
}

export interface ProjectionMeta {
  readonly basisRev: number;
  /** -1 when the thread is empty. */
  readonly basisLastSeq: number;
  readonly pendingCount: number;
  readonly lane: string;
  /** Whether history was left out to fit the budget or a ceiling. */
  readonly truncated: boolean;
  /** When truncated: history before this entry is cut, but for the head of a request. */
  readonly cutSeq?: number;
  /** Everything that is sent: messages and tools. */
  readonly estimatedTokens: number;
  readonly summaryUsed: boolean;
  /** Entries of which something is shown. */
  readonly entriesIncluded: number;
  readonly messagesIncluded: number;
  /** All entries of the thread, loaded or not. */
  readonly entriesTotal: number;
  /** Whether it is the model's turn to speak. */
  readonly open: boolean;
  readonly needsSummary: boolean;
  readonly needsSummaryReason?: "truncated" | "requested" | "entries" | "tokens";
  /** What a new summary should cover: up to this entry. */
  readonly boundary?: number;
  readonly budget: Budget;
  /** Whether the budget left less than `keepLastTurns` turns. */
  readonly floorViolated: boolean;
  /** Calls that got a result "interrupted", by seq, and how many messages stand in where a user's is missing. */
  readonly repaired: { readonly calls: readonly number[]; readonly standIns: number };
  /** Entries in the window that say nothing a model may see: results without a call, second results, blank messages. */
  readonly dropped: readonly number[];
  /** Results of which only a marker is shown. */
  readonly cleared: readonly number[];
  readonly thinkingDropped: readonly number[];
  readonly policyHash: string;
  /** The rules it was projected by. */
  readonly projector: ProjectorName;
  /** The last link of the chain of hashes over tools and messages. */
  readonly fingerprint: string;
  /** How many messages equal those of `previous`; absent without one. */
  readonly stablePrefix?: number;
  readonly view: View;
}

/** What the model sees. */
export interface Projection {
  readonly messages: readonly Message[];
  readonly toolSpec: readonly ToolSpec[];
  /** One for each message. */
  readonly provenance: readonly Provenance[];
  readonly meta: ProjectionMeta;
}

export type EntryStatus =
  | "shown"
  | "summarised"
  | "cut"
  | "cleared"
  | "repaired"
  | "dropped"
  | "superseded"
  | "other_lane"
  | "not_projectable"
  | "not_loaded";

/** The rule that decided on an entry. */
export type EntryRule =
  | "in_window"
  | "head_of_cut_request"
  | "summary_in_use"
  | "context_in_use"
  | "covered_by_summary"
  | "before_window"
  | "result_cleared"
  | "call_interrupted"
  | "result_without_call"
  | "second_result"
  | "blank"
  | "before_replace"
  | "newer_summary"
  | "newer_replace"
  | "summaries_off"
  | "lane_not_projected"
  | "kind_not_included"
  | "operation"
  | "nothing_to_show"
  | "before_loaded";

/** What became of one entry; or, with the status "not_loaded", a run of entries that nobody has looked at. */
export interface ExplainedEntry {
  /** Of entries that are not loaded the first. */
  readonly seq: number;
  /** Empty for entries that are not loaded. */
  readonly kind: string;
  /** The first and the last of entries that are not loaded; absent for an entry that is. */
  readonly fromSeq?: number;
  readonly toSeq?: number;
  readonly status: EntryStatus;
  readonly rule: EntryRule;
  /**
   * What it costs, or would cost. A message made of several entries counts for the first of them, so that the tokens of
   * what is shown, of the system prompt, the tools and the stand-ins add up to `meta.estimatedTokens`.
   */
  readonly tokens: number;
  /** The index of the first message it is in. */
  readonly message?: number;
}
