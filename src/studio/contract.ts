import type { AgentEvent } from "../agent/event.ts";
import type { CallEnvironment, CallRecord, ModelFinishReason, Usage } from "../agent/model-call.ts";
import type { WaitingCall } from "../agent/react/agent.ts";
import type { ContextPolicyInput } from "../projection/policy/fields.ts";
import type {
  ExplainedEntry,
  Projection,
  ProjectionMeta,
  ProjectionView,
  Provenance,
} from "../projection/projection.ts";
import type { Entry } from "../thread/entry.ts";
import type { JsonObject } from "../thread/json.ts";
import type { Message, ToolSpec } from "../thread/message.ts";
import type { ThreadData } from "../thread/thread-data.ts";
import type { Branches } from "./branches.ts";

/** The JSON answer of each route. The types of handlers and clients come from here. */
export interface ResponseBodies {
  "GET /api/info": Info;
  "GET /api/openapi.json": JsonObject;
  "POST /api/enter": AccessToken;
  "POST /api/codes": AccessCode;
  "GET /api/threads": ThreadRowPage;
  "POST /api/threads": ThreadRow;
  "POST /api/import": ThreadRow;
  "GET /api/threads/{id}": ThreadDetail;
  "DELETE /api/threads/{id}": DeleteResult;
  "GET /api/threads/{id}/entries": EntryWindow;
  "GET /api/threads/{id}/tail": ThreadData;
  "POST /api/threads/{id}/view": ThreadView;
  "GET /api/threads/{id}/calls": CallPage;
  "GET /api/threads/{id}/calls/{callId}": CallDetail;
  "GET /api/threads/{id}/calls/{callId}/wire": CallWire;
  "GET /api/threads/{id}/diff": CallDiff;
  "POST /api/threads/{id}/ask": AskAccepted;
  "POST /api/threads/{id}/steer": SteerResult;
  "POST /api/threads/{id}/cancel": CancelResult;
  "POST /api/threads/{id}/approve": DecisionResult;
  "POST /api/threads/{id}/deny": DecisionResult;
  "POST /api/threads/{id}/answer": DecisionResult;
  "POST /api/threads/{id}/context": OperationResult;
  "POST /api/threads/{id}/reset": OperationResult;
  "POST /api/threads/{id}/summarize": SummaryResult;
  "POST /api/threads/{id}/fork": ThreadRow;
}

/** The data of each server-sent event, by the event's name. */
export interface StreamData {
  /** The first event of a stream. */
  ready: { readonly [name: string]: never };
  thread: ThreadRow;
  entry: { readonly entry: Entry };
  agent: AgentEvent;
  deleted: { readonly id: string };
}

/** The answer of `GET /api/info`: name, agent, tools and limits of this Studio. */
export interface Info {
  readonly name: string;
  readonly version: string;
  readonly readOnly: boolean;
  /** Whether the offline demo answers instead of a real model. */
  readonly demo: boolean;
  /** The model of the agent that answers in new threads. */
  readonly model: string;
  /** The agent that answers in new threads. */
  readonly agent: string;
  /** All agents of this Studio, with their models and the names of their tools. */
  readonly agents: readonly { readonly name: string; readonly model: string; readonly tools: readonly string[] }[];
  readonly tools: readonly { readonly name: string; readonly description?: string | undefined }[];
  readonly prompts: readonly SuggestedPrompt[];
  /** The name of the store for the page. It contains no password and no path. */
  readonly store: string;
  /** The wire formats that a call can be shown in. */
  readonly providers: readonly string[];
  /** The largest import, in bytes. */
  readonly importLimit: number;
}

/** A prompt that the empty page offers. */
export interface SuggestedPrompt {
  readonly title: string;
  readonly text: string;
  /** Prompts that Studio sends by itself, each after the answer to the previous one. */
  readonly next?: readonly string[];
}

/** A thread in the list of threads. */
export interface ThreadRow {
  readonly id: string;
  readonly title: string;
  readonly status?: string;
  /** Whether this process runs a request of this thread, or holds one that waits for an approval or an answer. */
  readonly live: boolean;
  readonly rev: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly agent?: string;
  readonly parentThreadId?: string;
  readonly forkSeq?: number;
}

/** A fork of a thread in a list. */
export interface ForkRow {
  readonly id: string;
  readonly forkSeq: number;
}

/** One thread with its details. */
export interface ThreadDetail extends ThreadRow {
  readonly lanes: readonly string[];
  readonly activeLane: string;
  /** The request of this thread that has not ended. Absent if there is none. */
  readonly request?: {
    readonly id: string;
    readonly state: "running" | "waiting" | "done";
    readonly iteration: number;
    /** The agent that runs it. Logs of version 0.1 do not name it. */
    readonly agent?: string;
    readonly waiting: readonly WaitingCall[];
  };
  readonly forks: readonly ForkRow[];
  /** Set if other branches have entries that the active one does not have. */
  readonly branches?: Branches;
}

/** The query of `GET /api/threads`. Times are milliseconds since 1970. */
export interface ThreadQuery {
  /** Only threads with this text. Default: all. */
  readonly search?: string;
  /** Only threads with this status. Default: all. */
  readonly status?: string;
  /** Only threads of the agent with this name. Default: all. */
  readonly agent?: string;
  /** Only threads that changed (or were created, with that order) at this time or later. Default: all. */
  readonly since?: number;
  /** Only threads that changed (or were created, with that order) at this time or earlier. Default: all. */
  readonly until?: number;
  /** Newest first, by last change or by creation. Default "updated". */
  readonly order?: "updated" | "created";
  /** The most threads of one page. Default 50. */
  readonly limit?: number;
  /** `cursor` of the page before. Default: the first page. */
  readonly cursor?: string;
}

/** One page of the list of threads. */
export interface ThreadRowPage {
  readonly threads: readonly ThreadRow[];
  /** Continues the list. Absent if there are no more threads. A slow search stops before the page is full. */
  readonly cursor?: string;
  /** Set if the search stopped early: it has covered the threads that changed (or were created) after this time. */
  readonly searchedTo?: number;
}

/** A range of entries. With a filter, only the matching entries of the searched range. */
export interface EntryWindow {
  readonly entries: readonly Entry[];
  readonly rev: number;
  /** Set with a filter: the searched range, both ends included. It is empty if `to` is less than `from`. */
  readonly searched?: { readonly from: number; readonly to: number };
}

/** An error answer: a stable code, and a message for people. */
export interface Problem {
  readonly code: string;
  readonly message: string;
}

/** A model call in a list of calls. */
export interface CallRow {
  readonly callId: string;
  readonly seq: number;
  readonly at: number;
  readonly requestId?: string | undefined;
  readonly iteration?: number | undefined;
  readonly model?: string | undefined;
  readonly lane: string;
  readonly estimatedTokens: number;
  readonly usage: Usage;
  readonly finishReason: ModelFinishReason;
  readonly fingerprint: string;
  readonly basisLastSeq: number;
  readonly view: ProjectionView;
  readonly error?: Problem;
}

/** Newest first. */
export interface CallPage {
  readonly calls: readonly CallRow[];
  /** Set if the search stopped early. To continue, ask with this value as `before`. */
  readonly searchedTo?: number;
}

/** A past call as it was sent to the model. `problem` is set if it cannot be rebuilt or proven. */
export interface RebuiltCallView {
  readonly callId: string;
  readonly record: CallRecord;
  readonly messages: readonly Message[];
  readonly toolSpec: readonly ToolSpec[];
  readonly settings: JsonObject;
  /** The entries of the settings that held for the call. */
  readonly heldSettings: readonly Entry[];
  /** One item for each message. It names no entries for a message that a transformer made. */
  readonly provenance: readonly Provenance[];
  readonly meta?: ProjectionMeta;
  readonly explained: readonly ExplainedEntry[];
  readonly policy?: ContextPolicyInput;
  readonly environment?: CallEnvironment;
  /** Whether a transformer changed the messages of the projection. */
  readonly transformed: boolean;
  readonly proven: boolean;
  readonly problem?: Problem;
}

/** One model call with all details. */
export interface CallDetail extends RebuiltCallView {
  readonly call: CallRow;
  /** The previous call, and how many messages both calls share at the start. */
  readonly previous?: { readonly callId: string; readonly stablePrefix: number; readonly firstChange?: FirstChange };
}

/** Why the messages of a call differ from those of the call before. */
export type CauseRule =
  | "model_changed"
  | "tools_changed"
  | "system_changed"
  | "transformed"
  | "lane_changed"
  | "context_replaced"
  | "policy_changed"
  | "summary_added"
  | "summary_replaced"
  | "summary_removed"
  | "window_moved"
  | "result_cleared"
  | "result_shortened"
  | "call_interrupted"
  | "thinking_dropped"
  | "history_changed"
  | "appended";

/** The cause of a change between two calls. */
export interface Cause {
  readonly rule: CauseRule;
  readonly why: string;
}

/** The first difference between two calls. */
export interface FirstChange extends Cause {
  /** The index of the first message that differs. A provider may read the messages before it from its cache. */
  readonly index: number;
}

/** A message that was kept, added, removed or changed. It has an index in call `a`, in call `b`, or in both. */
export interface MessageChange {
  readonly index: number;
  readonly kind: "same" | "added" | "removed" | "changed";
  readonly a?: number;
  readonly b?: number;
}

/** The difference between two model calls. */
export interface CallDiff {
  /** How many messages both calls share at the start. */
  readonly same: number;
  readonly a: readonly Message[];
  readonly b: readonly Message[];
  readonly changes: readonly MessageChange[];
  readonly causes: readonly Cause[];
  readonly problem?: Problem;
}

/** The messages of a call in the format of a provider. */
export interface CallWire {
  readonly provider: string;
  readonly proven: boolean;
  readonly body: unknown;
}

/** The context that a model would get. */
export interface ThreadView extends Projection {
  readonly explained: readonly ExplainedEntry[];
  readonly policy: ContextPolicyInput;
}

// The answers of the routes that change threads.

/** The answer to a request that was accepted. */
export interface AskAccepted {
  readonly requestId: string;
}

/** The result of steering a request. */
export interface SteerResult {
  readonly id: string;
  readonly accepted: boolean;
  readonly reason?: string;
}

/** The result of cancelling a request. */
export interface CancelResult {
  readonly cancelled: boolean;
}

/** The result of deciding about an approval. */
export interface DecisionResult {
  readonly decided: true;
}

/** `deferred`: the operation waits for the end of the running request. */
export interface OperationResult {
  readonly opId: string;
  readonly status: "applied" | "deferred" | "duplicate";
}

/** The result of writing a summary. */
export interface SummaryResult {
  readonly seq: number;
}

/** The token, for the header `Authorization: Bearer`. */
export interface AccessToken {
  readonly token: string;
}

/** A code for one use in a URL. Empty if Studio requires no token. */
export interface AccessCode {
  readonly code: string;
}

/** The result of deleting a thread. */
export interface DeleteResult {
  readonly deleted: true;
}
