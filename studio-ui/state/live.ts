import type { AgentEvent, Entry, JsonValue } from "heddle";

/** A tool call that is running. */
export interface LiveTool {
  readonly toolCallId: string;
  readonly name: string;
  readonly state: "running" | "approval" | "answer" | "done";
  readonly runningMs?: number;
  readonly arguments?: JsonValue;
}

/** The state of a running request, built from its events. The log does not contain this state yet. */
export interface Live {
  readonly requestId: string;
  readonly eventSeq: number;
  /** `suspended`: this process no longer runs the request, so only the log shows its progress. */
  readonly state: "running" | "waiting" | "suspended" | "done";
  readonly suspendedAt?: number;
  readonly iteration: number;
  readonly callId?: string;
  readonly text: string;
  readonly thinking: string;
  readonly input: string;
  readonly tools: { readonly [toolCallId: string]: LiveTool };
  readonly note?: string;
  readonly outcome?: { readonly kind: "completed" | "failed" | "cancelled"; readonly message?: string };
}

const FRESH = { eventSeq: 0, state: "running", iteration: 0, text: "", thinking: "", input: "", tools: {} } as const;

/**
 * Returns the state after one more event. A reconnect repeats events, so known ones change nothing. A resumed request
 * starts with an empty state, because its event numbers may be lower than before.
 */
export function applyEvent(live: Live | undefined, event: AgentEvent): Live {
  const same = live?.requestId === event.requestId && live.state !== "suspended";
  if (same && event.seq <= live.eventSeq) return live;
  const before: Live = same ? live : { ...FRESH, requestId: event.requestId };
  return { ...before, ...changed(before, event), eventSeq: event.seq, iteration: event.iteration };
}

function changed(live: Live, event: AgentEvent): Partial<Live> {
  switch (event.kind) {
    case "llm_started":
      return { ...NO_LIVE_REQUEST, ...(event.callId !== undefined && { callId: event.callId }), state: "running" };
    case "llm_delta":
      return delta(live, event.data);
    case "llm_retried":
      return { text: "", thinking: "", input: "", note: `${event.data.failure.message} Retrying.` };
    case "llm_completed":
      return { note: "" };
    case "tool_started":
      return { ...NO_LIVE_REQUEST, ...tool(live, event, { state: "running", ...event.data }) };
    case "approval_requested":
      return {
        ...NO_LIVE_REQUEST,
        state: "waiting",
        ...tool(live, event, { state: "approval", arguments: event.data.arguments }),
      };
    case "answer_requested":
      return {
        ...NO_LIVE_REQUEST,
        state: "waiting",
        ...tool(live, event, { state: "answer", arguments: event.data.arguments }),
      };
    case "approval_resolved":
      return { state: "running", ...tool(live, event, { state: event.data.approved ? "running" : "done" }) };
    case "keepalive":
      return tool(live, event, { runningMs: event.data.runningMs });
    case "tool_completed":
      return { state: "running", ...tool(live, event, { state: "done" }) };
    case "summary_started":
      return { note: "Summarizing earlier conversation…" };
    case "summary_requested":
      return { note: "Waiting for a summary of earlier conversation…" };
    case "summary_completed":
    case "summary_failed":
    case "summary_skipped":
      return { note: "" };
    case "request_completed":
      return { ...NO_LIVE_REQUEST, state: "done", outcome: { kind: "completed" } };
    case "request_failed":
      return { ...NO_LIVE_REQUEST, state: "done", outcome: { kind: "failed", message: event.data.failure.message } };
    case "request_cancelled":
      return { ...NO_LIVE_REQUEST, state: "done", outcome: { kind: "cancelled", message: event.data.reason } };
    case "request_suspended":
      return { ...NO_LIVE_REQUEST, state: "suspended", suspendedAt: event.at, tools: {}, note: noteOf(event.data) };
    default:
      return {};
  }
}

/** Whether this entry shows that another process has resumed the suspended request. */
export function isResumedBy({ requestId, state, suspendedAt = 0 }: Live, { refs, at }: Entry): boolean {
  return state === "suspended" && refs.requestId === requestId && at > suspendedAt;
}

function noteOf({ reason, holder }: Extract<AgentEvent, { kind: "request_suspended" }>["data"]): string {
  switch (reason) {
    case "store":
      return "Suspended: the store cannot be reached. The request resumes when it is back.";
    case "lost":
      return `Suspended here: another process${holder === undefined ? "" : ` (${holder})`} will finish the request.`;
    case "stopped":
      return "Suspended: the process that ran it was stopped. The request resumes when the thread is started again.";
    default:
      return reason satisfies never;
  }
}

/** No streamed text. Set when a model call starts, and when the log contains its finished message. */
export const NO_LIVE_REQUEST = { text: "", thinking: "", input: "", note: "" } as const;

type Delta = Extract<AgentEvent, { kind: "llm_delta" }>["data"];

function delta(live: Live, { type, text }: Delta): Partial<Live> {
  if (type === "text") return { text: live.text + text };
  if (type === "thinking") return { thinking: live.thinking + text };
  return type === "tool_input" ? { input: live.input + text } : {};
}

function tool(live: Live, { toolCallId, toolName }: AgentEvent, change: Partial<LiveTool>): Partial<Live> {
  if (toolCallId === undefined) return {};
  const before = live.tools[toolCallId] ?? { toolCallId, name: toolName ?? "tool", state: "running" };
  return { tools: { ...live.tools, [toolCallId]: { ...before, ...change } } };
}
