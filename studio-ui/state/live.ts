import type { AgentEvent, Entry, JsonValue } from "heddle";

/** A call of a tool while it happens. */
export interface LiveTool {
  readonly toolCallId: string;
  readonly name: string;
  readonly state: "running" | "approval" | "answer" | "done";
  readonly runningMs?: number;
  readonly arguments?: JsonValue;
}

/** What a request tells while it runs and the log does not say yet. */
export interface Live {
  readonly requestId: string;
  readonly eventSeq: number;
  /** Suspended: the process that ran it no longer carries it, and the log tells how it goes on. */
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
 * What is known after one more event. Events come again after a reconnect: what is known already changes nothing. A suspended
 * request that is resumed is followed anew: its numbers may begin below those that came before.
 */
export function evolve(live: Live | undefined, event: AgentEvent): Live {
  const same = live?.requestId === event.requestId && live.state !== "suspended";
  if (same && event.seq <= live.eventSeq) return live;
  const before: Live = same ? live : { ...FRESH, requestId: event.requestId };
  return { ...before, ...changed(before, event), eventSeq: event.seq, iteration: event.iteration };
}

function changed(live: Live, event: AgentEvent): Partial<Live> {
  switch (event.kind) {
    case "llm_started":
      return { ...SILENT, ...(event.callId !== undefined && { callId: event.callId }), state: "running" };
    case "llm_delta":
      return delta(live, event.data.type, event.data.text);
    case "llm_retried":
      return { text: "", thinking: "", input: "", note: `${event.data.failure.message} Trying again.` };
    case "llm_completed":
      return { note: "" };
    case "tool_started":
      return { ...SILENT, ...tool(live, event, { state: "running", arguments: event.data.arguments }) };
    case "approval_requested":
      return {
        ...SILENT,
        state: "waiting",
        ...tool(live, event, { state: "approval", arguments: event.data.arguments }),
      };
    case "answer_requested":
      return {
        ...SILENT,
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
      return { note: "Summarising earlier conversation…" };
    case "summary_completed":
    case "summary_failed":
    case "summary_skipped":
      return { note: "" };
    case "request_completed":
      return { ...SILENT, state: "done", outcome: { kind: "completed" } };
    case "request_failed":
      return { ...SILENT, state: "done", outcome: { kind: "failed", message: event.data.failure.message } };
    case "request_cancelled":
      return { ...SILENT, state: "done", outcome: { kind: "cancelled", message: event.data.reason } };
    case "request_suspended":
      return { ...SILENT, state: "suspended", suspendedAt: event.at, tools: {}, note: noteOf(event.data) };
    default:
      return {};
  }
}

/** Whether this entry shows that another process goes on with the suspended request: from here on the log tells. */
export function isResumedBy({ requestId, state, suspendedAt = 0 }: Live, { refs, at }: Entry): boolean {
  return state === "suspended" && refs.requestId === requestId && at > suspendedAt;
}

function noteOf({ reason, holder }: Extract<AgentEvent, { kind: "request_suspended" }>["data"]): string {
  switch (reason) {
    case "store":
      return "Suspended: the store cannot be reached. The request goes on when it is back.";
    case "lost":
      return `Suspended here: another process${holder === undefined ? "" : ` (${holder})`} goes on with the request.`;
    case "stopped":
      return "Suspended: the process that ran it was stopped. The request goes on where the thread is started again.";
    default:
      return reason satisfies never;
  }
}

/** Nothing is being said: what was, stands in the log. */
export const SILENT = { text: "", thinking: "", input: "", note: "" } as const;

function delta(live: Live, type: "text" | "thinking" | "tool_input", text: string): Partial<Live> {
  if (type === "text") return { text: live.text + text };
  return type === "thinking" ? { thinking: live.thinking + text } : { input: live.input + text };
}

function tool(live: Live, { toolCallId, toolName }: AgentEvent, change: Partial<LiveTool>): Partial<Live> {
  if (toolCallId === undefined) return {};
  const before = live.tools[toolCallId] ?? { toolCallId, name: toolName ?? "tool", state: "running" };
  return { tools: { ...live.tools, [toolCallId]: { ...before, ...change } } };
}
