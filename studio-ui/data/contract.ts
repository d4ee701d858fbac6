// What the HTTP API of the Studio answers. The page knows the server by these shapes alone.
import type {
  AgentEvent,
  CallEnvironment,
  CallRecord,
  ContextPolicyInput,
  Entry,
  ExplainedEntry,
  FinishReason,
  JsonObject,
  JsonValue,
  Message,
  ProjectionMeta,
  Provenance,
  ThreadData,
  ToolSpec,
  Usage,
  WaitingCall,
} from "heddle";

export interface Info {
  readonly name: string;
  readonly version: string;
  readonly readOnly: boolean;
  /** No provider is asked: the answers come from the offline demo model. */
  readonly demo: boolean;
  readonly model: string;
  readonly prompts: readonly { readonly title: string; readonly text: string }[];
  readonly store: string;
  readonly providers: readonly string[];
}

export interface ThreadRow {
  readonly id: string;
  readonly title?: string | null;
  readonly status?: string;
  readonly live: boolean;
  readonly rev: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly agent?: string;
  readonly parentThreadId?: string;
  readonly forkSeq?: number;
}

export interface ThreadDetail extends ThreadRow {
  readonly lanes: readonly string[];
  readonly activeLane: string;
  readonly request?: {
    readonly id: string;
    readonly state: "running" | "waiting" | "done";
    readonly waiting: readonly WaitingCall[];
  };
  readonly forks: readonly { readonly id: string; readonly forkSeq: number }[];
}

export interface ThreadQuery {
  readonly search?: string;
  readonly status?: string;
  readonly agent?: string;
  /** Milliseconds since 1970: changed at or after. */
  readonly since?: number;
  readonly limit?: number;
  readonly cursor?: string;
}

export interface ThreadPage {
  readonly threads: readonly ThreadRow[];
  readonly cursor?: string;
}

export interface EntryWindow {
  readonly entries: readonly Entry[];
  readonly rev: number;
}

export interface CallRow {
  readonly callId: string;
  readonly seq: number;
  readonly at: number;
  readonly requestId?: string;
  readonly iteration?: number;
  readonly model?: string;
  readonly estimatedTokens: number;
  readonly usage?: Usage;
  readonly finishReason?: FinishReason;
  readonly fingerprint?: string;
  readonly basisLastSeq: number;
  readonly error?: { readonly code: string; readonly message: string };
}

/** Why the messages of a call part from those of the call before. */
export interface FirstChange {
  readonly index: number;
  readonly rule: string;
  readonly why: string;
}

export interface CallDetail {
  readonly call: CallRow;
  readonly record: CallRecord;
  readonly messages: readonly Message[];
  readonly toolSpec: readonly ToolSpec[];
  readonly settings?: JsonObject;
  readonly provenance: readonly Provenance[];
  readonly meta?: ProjectionMeta;
  readonly explained: readonly ExplainedEntry[];
  readonly policy?: ContextPolicyInput;
  readonly environment?: CallEnvironment;
  readonly proven: boolean;
  readonly problem?: { readonly code: string; readonly message: string };
  readonly previous?: { readonly callId: string; readonly stablePrefix: number; readonly firstChange?: FirstChange };
}

/** What comes down the stream of one thread. */
export type StreamEvent =
  | { readonly event: "entry"; readonly entry: Entry }
  | { readonly event: "agent"; readonly agent: AgentEvent }
  | { readonly event: "thread"; readonly thread: ThreadRow }
  | { readonly event: "deleted"; readonly deleted: { readonly id: string } };

/** What a model would be shown. */
export interface ViewAnswer {
  readonly messages: readonly Message[];
  readonly toolSpec: readonly ToolSpec[];
  readonly provenance: readonly Provenance[];
  readonly meta: ProjectionMeta;
}

/** A thread in a file: its row in the list, and its entries with the blobs that its model calls name. */
export interface ExportedThread {
  readonly row?: ThreadRow;
  readonly thread: ThreadData & { readonly blobs?: { readonly [hash: string]: JsonValue } };
}
