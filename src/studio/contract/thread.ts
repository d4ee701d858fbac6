import type { WaitingCall } from "../../agent/react/waiting.ts";
import type { Entry } from "../../thread/entry.ts";

/** A thread in a list. */
export interface ThreadRow {
  readonly id: string;
  readonly title: string;
  readonly status?: string;
  /** Whether a request of it is at work, or waits, in this process. */
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
  /** The request that is open. */
  readonly request?: {
    readonly id: string;
    readonly state: "running" | "waiting" | "done";
    readonly iteration: number;
    readonly waiting: readonly WaitingCall[];
  };
  readonly forks: readonly Fork[];
}

/** What `GET /api/threads` can be asked for; times are milliseconds since 1970. */
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
  /** There are more, or there may be: a search that took too long stops before the page is full. */
  readonly cursor?: string;
  /** Only of a search that stopped early: threads that changed (or were made) after this moment were looked through. */
  readonly searchedTo?: number;
}

/** Entries that stand together, or, where only some are asked for, those among the ones that were looked at. */
export interface EntryWindow {
  readonly entries: readonly Entry[];
  readonly rev: number;
  /** Only where some are asked for: what was looked at, both ends included; nothing when `to` is smaller. */
  readonly searched?: { readonly from: number; readonly to: number };
}
