import type { WaitingCall } from "../../agent/react/waiting.ts";
import type { Entry } from "../../thread/entry.ts";

/** A thread in a list. */
export interface ThreadRow {
  readonly id: string;
  readonly title: string;
  readonly status?: string;
  /** Whether a request of this thread runs or waits in this process. */
  readonly live: boolean;
  readonly rev: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly agent?: string;
  readonly parentThreadId?: string;
  readonly forkSeq?: number;
}

export interface Fork {
  readonly id: string;
  readonly forkSeq: number;
}

export interface ThreadDetail extends ThreadRow {
  readonly lanes: readonly string[];
  readonly activeLane: string;
  /** The open request. */
  readonly request?: {
    readonly id: string;
    readonly state: "running" | "waiting" | "done";
    readonly iteration: number;
    readonly waiting: readonly WaitingCall[];
  };
  readonly forks: readonly Fork[];
}

/** The query of `GET /api/threads`. Times are milliseconds since 1970. */
export interface ThreadQuery {
  readonly search?: string;
  readonly status?: string;
  readonly agent?: string;
  readonly since?: number;
  readonly until?: number;
  readonly order?: "updated" | "created";
  readonly limit?: number;
  readonly cursor?: string;
}

export interface ThreadPage {
  readonly threads: readonly ThreadRow[];
  /** Set if there may be more threads. A search that takes too long stops before the page is full. */
  readonly cursor?: string;
  /** Set if the search stopped early: it has covered the threads that changed (or were created) after this time. */
  readonly searchedTo?: number;
}

/** A range of entries, or, with a filter, the matching entries of the searched range. */
export interface EntryWindow {
  readonly entries: readonly Entry[];
  readonly rev: number;
  /** Set with a filter: the searched range, both ends included. It is empty if `to` is less than `from`. */
  readonly searched?: { readonly from: number; readonly to: number };
}
