import type { Message, ToolSpec } from "../thread/message.ts";
import type { ProjectorName } from "./rules.ts";

/** The four parts of a context, in order. */
export type Segment = "system" | "summary" | "history" | "pending";

/** The origin of one message of a projection. */
export interface Provenance {
  readonly segment: Segment;
  /** The entries that the message was made of. Empty for the system prompt, and for pending and synthetic messages. */
  readonly seqs: readonly number[];
  readonly tokens: number;
  /** How the message differs from its entries. Absent if it does not. */
  readonly rule?: "stand_in" | "interrupted" | "cleared" | "shortened" | "shrunk" | "relabelled" | "head";
}

/** How the token budget is used. */
export interface Budget {
  readonly maxInputTokens: number;
  readonly reserveOutputTokens: number;
  readonly system: number;
  readonly tools: number;
  readonly summary: number;
  readonly pending: number;
  /** Tokens available for the history, after the other parts. */
  readonly available: number;
  /** Tokens that the history uses. */
  readonly history: number;
}

/** The decisions of a projection. Together with the thread, they are enough to render the same messages again. */
export interface ProjectionView {
  /** The first entry of the context window. Absent if there is no history. */
  readonly startSeq?: number;
  /** The first message of the window inside a `replace` operation. */
  readonly startItem?: number;
  /** User messages kept from before the window, because they belong to the request that the window cuts. */
  readonly headSeqs: readonly number[];
  readonly summarySeq?: number;
  /** Entries of tool results that are replaced with a marker. */
  readonly cleared: readonly number[];
  /** Entries whose thinking is left out. */
  readonly thinkingDropped: readonly number[];
  /** Entries of the running turn whose thinking is kept although earlier messages have changed. Absent when there are none. */
  readonly thinkingStale?: readonly number[];
  /** Results shortened because the newest block did not fit, with the bytes kept of each. A note may stand for a file. */
  readonly shrunk?: readonly { readonly seq: number; readonly bytes: number }[];
}

/** Facts about a projection: sizes, cuts and repairs. */
export interface ProjectionMeta {
  readonly basisRev: number;
  /** -1 when the thread is empty. */
  readonly basisLastSeq: number;
  readonly pendingCount: number;
  readonly lane: string;
  /** Whether history was left out to fit the budget or a ceiling. */
  readonly truncated: boolean;
  /** Set if `truncated`: history before this entry is cut, except the user messages of the first request shown. */
  readonly cutSeq?: number;
  /** The tokens of everything that is sent: messages and tools. */
  readonly estimatedTokens: number;
  readonly summaryUsed: boolean;
  /** How many entries are shown, at least in part. */
  readonly entriesIncluded: number;
  readonly messagesIncluded: number;
  /** How many entries the thread has, loaded or not. */
  readonly entriesTotal: number;
  /** Whether the model should answer, because the last message is not the assistant's. */
  readonly open: boolean;
  readonly needsSummary: boolean;
  readonly needsSummaryReason?: "truncated" | "summary_too_long" | "requested" | "entries" | "tokens";
  /** The last entry that a new summary should cover. Absent if there is none. */
  readonly boundary?: number;
  readonly budget: Budget;
  /** Whether the budget leaves fewer than `keepLastTurns` turns. */
  readonly floorViolated: boolean;
  /** Entries whose calls got a synthetic result, and the number of placeholder user messages. */
  readonly repaired: { readonly calls: readonly number[]; readonly standIns: number };
  /** Entries in the context window that cannot be shown: results without a call, second results, blank messages. */
  readonly dropped: readonly number[];
  /** Results that are replaced with a marker. */
  readonly cleared: readonly number[];
  readonly thinkingDropped: readonly number[];
  readonly policyHash: string;
  /** The projection rules that were used. */
  readonly projector: ProjectorName;
  /** The hash over tools and all messages. */
  readonly fingerprint: string;
  /** The number of leading messages that equal those of `previous`. Absent without `previous`. */
  readonly stablePrefix?: number;
  readonly view: ProjectionView;
}

/** The context that the model is shown. */
export interface Projection {
  readonly messages: readonly Message[];
  readonly toolSpec: readonly ToolSpec[];
  /** One item for each message. */
  readonly provenance: readonly Provenance[];
  readonly meta: ProjectionMeta;
}

/** Whether the model is shown an entry, and how. */
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

/** The rule that decided the status of an entry. */
export type EntryRule =
  | "in_window"
  | "head_of_cut_request"
  | "summary_in_use"
  | "context_in_use"
  | "covered_by_summary"
  | "before_window"
  | "result_cleared"
  | "call_interrupted"
  | "answer_cut"
  | "result_without_call"
  | "second_result"
  | "blank"
  | "before_replace"
  | "newer_summary"
  | "malformed_summary"
  | "newer_replace"
  | "summaries_off"
  | "lane_not_projected"
  | "kind_not_included"
  | "operation"
  | "setting"
  | "nothing_to_show"
  | "before_loaded";

/** The status of one entry. With the status "not_loaded", it describes a range of entries. */
export interface ExplainedEntry {
  /** The seq of the entry, or the first seq of a range. */
  readonly seq: number;
  /** The kind of the entry. Empty for entries that are not loaded. */
  readonly kind: string;
  /** The first and last seq of a range that is not loaded. Absent for a loaded entry. */
  readonly fromSeq?: number;
  readonly toSeq?: number;
  readonly status: EntryStatus;
  readonly rule: EntryRule;
  /**
   * The tokens that the entry costs, or would cost. A message made of several entries counts for the first of them. The
   * tokens of shown entries, system prompt, tools and placeholders add up to `meta.estimatedTokens`.
   */
  readonly tokens: number;
  /** The index of the first message that contains the entry. Absent if the entry is not shown. */
  readonly message?: number;
  /** The name of the author, with which the message begins. Absent if none is given or the entry is not shown. */
  readonly author?: string;
}
