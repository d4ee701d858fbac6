import type { Message, ToolSpec } from "../thread/message.ts";
import type { ProjectorName } from "./rules.ts";

/** The four parts of a context, in order. */
export type Segment = "system" | "summary" | "history" | "pending";

/** The origin of one message of a projection. */
export interface Provenance {
  readonly segment: Segment;
  /** The entries it is made of. Empty for the system prompt, pending messages and synthetic ones. */
  readonly seqs: readonly number[];
  readonly tokens: number;
  /** Why the message differs from the entries. Absent when it does not. */
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
  /** Tokens that are left for the history. */
  readonly available: number;
  /** Tokens that the history takes. */
  readonly history: number;
}

/** The decisions of a projection. With the thread, they are enough to render the same messages again. */
export interface View {
  /** The entry the window starts with. Absent when there is no history. */
  readonly startSeq?: number;
  /** Which message of a replaced context the window starts with. */
  readonly startItem?: number;
  /** The user message of the request that the window cuts, and its steers before the cut. */
  readonly headSeqs: readonly number[];
  readonly summarySeq?: number;
  /** Results that are replaced with a marker. */
  readonly cleared: readonly number[];
  /** Entries whose thinking is left out. */
  readonly thinkingDropped: readonly number[];
  /** Entries of the running turn whose thinking is kept although earlier messages have changed. Absent when there are none. */
  readonly thinkingStale?: readonly number[];
  /** Results shortened because the newest block did not fit, with the bytes kept of each. */
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
  /** When truncated: history before this entry is cut, except the head of a request. */
  readonly cutSeq?: number;
  /** The tokens of everything that is sent: messages and tools. */
  readonly estimatedTokens: number;
  readonly summaryUsed: boolean;
  /** The number of entries that are shown, at least in part. */
  readonly entriesIncluded: number;
  readonly messagesIncluded: number;
  /** The number of entries of the thread, loaded or not. */
  readonly entriesTotal: number;
  /** Whether the model is to answer: the last message is not the assistant's. */
  readonly open: boolean;
  readonly needsSummary: boolean;
  readonly needsSummaryReason?: "truncated" | "requested" | "entries" | "tokens";
  /** The last entry that a new summary should cover. */
  readonly boundary?: number;
  readonly budget: Budget;
  /** Whether the budget left fewer than `keepLastTurns` turns. */
  readonly floorViolated: boolean;
  /** Entries whose calls got a synthetic result, and the number of placeholder user messages. */
  readonly repaired: { readonly calls: readonly number[]; readonly standIns: number };
  /** Entries in the window that cannot be shown: results without a call, second results, blank messages. */
  readonly dropped: readonly number[];
  /** Results that are replaced with a marker. */
  readonly cleared: readonly number[];
  readonly thinkingDropped: readonly number[];
  readonly policyHash: string;
  /** The projection rules that were used. */
  readonly projector: ProjectorName;
  /** The last link of the chain of hashes over tools and messages. */
  readonly fingerprint: string;
  /** The number of leading messages that equal those of `previous`. Absent without `previous`. */
  readonly stablePrefix?: number;
  readonly view: View;
}

/** The context that the model is shown. */
export interface Projection {
  readonly messages: readonly Message[];
  readonly toolSpec: readonly ToolSpec[];
  /** One item for each message. */
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

/** The status of one entry. With the status "not_loaded", a range of entries that are not loaded. */
export interface ExplainedEntry {
  /** The seq of the entry, or the first seq of a range. */
  readonly seq: number;
  /** Empty for entries that are not loaded. */
  readonly kind: string;
  /** The first and last seq of a range that is not loaded. Absent for a loaded entry. */
  readonly fromSeq?: number;
  readonly toSeq?: number;
  readonly status: EntryStatus;
  readonly rule: EntryRule;
  /**
   * The tokens it costs, or would cost. A message made of several entries counts for the first of them. So the tokens of
   * the shown entries, system prompt, tools and placeholders add up to `meta.estimatedTokens`.
   */
  readonly tokens: number;
  /** The index of the first message that holds the entry. Absent when it is not shown. */
  readonly message?: number;
}
