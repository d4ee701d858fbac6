import type { AgentEvent, EventDraft } from "../../agent/event.ts";
import type { CallRecord } from "../../agent/model-call.ts";
import { recordedCall } from "../../agent/model-call.ts";
import type { SteerKind } from "../../agent/signal.ts";
import type { Entry } from "../../thread/entry.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import type { WrittenPart } from "../../thread/kinds.ts";
import { type Author, type Content, contentText, type ToolCall } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import { wholeDelta } from "../model/answer.ts";
import type { AgentRequest, EventsOptions } from "../request/request.ts";
import { approvalIdOf } from "./message.ts";

/** The fields of an entry's payload that are read here. */
interface EntryPayload {
  readonly role?: string;
  readonly content: Content;
  readonly toolCalls?: readonly ToolCall[];
  readonly isError?: boolean;
  readonly partial?: "cancelled" | "timed_out";
  readonly details?: JsonValue;
  readonly steer?: SteerKind | "continue";
  readonly approved?: boolean;
  readonly reason?: string;
  /** The reason, in logs of 0.1. */
  readonly note?: string;
  readonly editedArguments?: JsonValue;
  readonly written?: readonly WrittenPart[];
  readonly author?: Author;
  readonly display?: JsonObject;
}

/**
 * A request whose events begin with those of its entries in the log, because the process that emitted them may have ended.
 * Each iteration yields each event once. Of a request that has ended, all but the last event come from the log.
 */
export class LoggedRequest<Output> implements AgentRequest<Output> {
  readonly #request: AgentRequest<Output>;
  readonly #thread: () => Promise<Thread>;

  constructor(request: AgentRequest<Output>, thread: () => Promise<Thread>) {
    this.#request = request;
    this.#thread = thread;
  }

  get id(): string {
    return this.#request.id;
  }

  get runId(): string {
    return this.#request.runId;
  }

  get state(): AgentRequest["state"] {
    return this.#request.state;
  }

  get result(): AgentRequest<Output>["result"] {
    return this.#request.result;
  }

  get textStream(): AsyncIterable<string> {
    return this.#request.textStream;
  }

  settled(): ReturnType<AgentRequest["settled"]> {
    return this.#request.settled();
  }

  async *events(options?: EventsOptions): AsyncGenerator<AgentEvent, void> {
    const request = this.#request;
    const known = new Set<string>();
    const hasEnded = request.state === "done";
    const entries = (await this.#thread()).filterByRef("requestId", request.id, { partial: true });
    for (const entry of entries) for (const key of writtenKeys(entry)) known.add(key);
    for (const event of loggedEvents(request, entries)) {
      if (event.kind !== "tool_data") known.add(keyOf(event));
      yield event;
    }
    for await (const event of request.events(options)) {
      if (hasEnded ? ENDS.has(event.kind) : !known.has(keyOf(event))) yield event;
    }
  }
}

const ENDS: ReadonlySet<AgentEvent["kind"]> = new Set([
  "request_completed",
  "request_failed",
  "request_cancelled",
  "request_suspended",
]);

/** The events that follow from the entries of a request. */
function* loggedEvents(
  request: Pick<AgentRequest, "id" | "runId">,
  entries: readonly Entry[],
): Generator<AgentEvent, void> {
  let seq = 0;
  for (const entry of entries)
    for (const draft of draftsOf(entry, entries)) yield eventOf(request, entry, draft, ++seq);
}

/** The key of a part that a tool wrote, by the number of its event. */
export function partKey({ callId, toolCallId }: Pick<AgentEvent, "callId" | "toolCallId">, seq: number): string {
  return `part ${approvalIdOf(callId, toolCallId)} ${seq}`;
}

/** The keys of the parts that a tool wrote before the entry, in their order. */
export function writtenKeys({ refs, payload }: Entry): readonly string[] {
  const { written = [] } = payload as unknown as EntryPayload; // written by us
  return written.map(({ event }) => partKey(refs, event));
}

/** The same key for an emitted event and its copy from the log. */
function keyOf(event: AgentEvent): string {
  const { kind, callId, toolCallId, data, seq } = event;
  if (kind === "tool_data") return partKey(event, seq);
  if (kind === "output_repaired") return `repaired ${data.attempt}`;
  if (kind === "input_injected") return `injected ${data.id}`;
  if (kind === "answer_requested") return `${kind} ${approvalIdOf(callId, toolCallId)} ${data.question?.count}`;
  if (kind.startsWith("llm_")) return `answer ${callId}`;
  return `${kind} ${approvalIdOf(callId, toolCallId)}`;
}

/** Whether the entries have the answer or the result that the event is a part of. */
export function isLogged(entries: readonly Entry[], { kind, callId, toolCallId }: AgentEvent): boolean {
  const isOfModel = kind.startsWith("llm_");
  return entries.some((entry) => {
    if (entry.kind !== "ai_message" || entry.refs.callId !== callId) return false;
    const { role } = entry.payload as unknown as EntryPayload; // written by us
    if (isOfModel) return role === "assistant" && recordedCall(entry) !== undefined;
    return role === "tool" && entry.refs.toolCallId === toolCallId;
  });
}

/** The events of an entry. `all`: the entries of the request. */
export function draftsOf(entry: Entry, all: readonly Entry[]): readonly EventDraft[] {
  return [...partDrafts(entry, all), ...ownDrafts(entry, all)];
}

/** The parts that a tool wrote before the entry. */
function partDrafts({ payload, refs }: Entry, all: readonly Entry[]): readonly EventDraft[] {
  const { written = [] } = payload as unknown as EntryPayload; // written by us
  const { callId, toolCallId = "" } = refs;
  const { name: toolName = "" } = (written.length > 0 && callIn(all, callId, toolCallId)) || {};
  const of = { ...(callId !== undefined && { callId }), toolCallId, toolName };
  return written.map(({ event: _event, first: _first, ...data }) => ({ kind: "tool_data", ...of, data }));
}

function ownDrafts(entry: Entry, all: readonly Entry[]): readonly EventDraft[] {
  const { id, kind, payload, refs } = entry;
  const written = payload as unknown as EntryPayload; // written by us
  const { role, content, steer, author, display } = written;
  const { callId, signalId = id } = refs;
  if (kind === "approval_requested" || kind === "approval_resolved") return [toolDraft(entry, kind, all)];
  if (kind === "question_asked") return [questionDraft(entry, all)];
  if (kind !== "ai_message") return [];
  if (role === "tool") return [toolDraft(entry, "tool_completed", all)];
  if (role === "assistant" && callId !== undefined) return answerDrafts(entry.id, callId, written, recordedCall(entry));
  if (steer === "repair") {
    const isRepair = (one: Entry): boolean => (one.payload as unknown as EntryPayload).steer === "repair"; // written by us
    const attempt = all.filter((one) => one.seq <= entry.seq && isRepair(one)).length;
    return [{ kind: "output_repaired", data: { issues: [], attempt } }];
  }
  if (steer === undefined || steer === "continue") return [];
  return [
    {
      kind: "input_injected",
      data: { id: signalId, steer, content, ...(author && { author }), ...(display && { display }) },
    },
  ];
}

function toolDraft(
  { payload, refs }: Entry,
  kind: "approval_requested" | "approval_resolved" | "tool_completed",
  all: readonly Entry[],
): EventDraft {
  const written = payload as unknown as EntryPayload; // written by us
  const { content, isError = false, approved = false, note, reason = note } = written;
  const { partial, details, editedArguments } = written;
  const { callId, toolCallId = "" } = refs;
  const { name: toolName = "", arguments: args = {} } = callIn(all, callId, toolCallId) ?? {};
  const of = { ...(callId !== undefined && { callId }), toolCallId, toolName };
  switch (kind) {
    case "approval_requested":
      return { kind, ...of, data: { arguments: args } };
    case "approval_resolved":
      return {
        kind,
        ...of,
        data: {
          approved,
          ...(reason !== undefined && { reason }),
          ...(editedArguments !== undefined && { arguments: editedArguments }),
        },
      };
    case "tool_completed":
      return {
        kind,
        ...of,
        data: { content, isError, ...(partial && { partial }), ...(details !== undefined && { details }) },
      };
    default:
      return kind satisfies never;
  }
}

function questionDraft({ seq, payload, refs }: Entry, all: readonly Entry[]): EventDraft {
  const { callId, toolCallId = "" } = refs;
  const { name: toolName = "", arguments: args = {} } = callIn(all, callId, toolCallId) ?? {};
  const isOfCall = (entry: Entry): boolean =>
    entry.kind === "question_asked" && entry.refs.callId === callId && entry.refs.toolCallId === toolCallId;
  const count = all.filter((entry) => entry.seq <= seq && isOfCall(entry)).length;
  const question = { value: (payload as { readonly question?: JsonValue }).question ?? null, count }; // written by us
  return {
    kind: "answer_requested",
    ...(callId !== undefined && { callId }),
    toolCallId,
    toolName,
    data: { arguments: args, question },
  };
}

/** The events of an answer. Thinking and text keep their order and get new ids. */
function answerDrafts(
  entryId: string,
  callId: string,
  { content, toolCalls = [] }: EntryPayload,
  call: Partial<CallRecord> | undefined,
): readonly EventDraft[] {
  if (call === undefined) return [];
  const { usage, finishReason, view, estimatedTokens } = call as CallRecord; // written by us
  const parts = typeof content === "string" ? [{ type: "text", text: content } as const] : content;
  const deltas = parts.flatMap((part, index): readonly EventDraft[] => {
    const whole = wholeDelta(part);
    if (whole !== undefined) {
      const { type, id, text, ...call } = whole;
      return [{ kind: "llm_delta", callId, ...call, data: { type, id, text } }];
    }
    const isSaid = (part.type === "text" || part.type === "thinking") && part.text !== "";
    return isSaid ? [{ kind: "llm_delta", callId, data: { type: part.type, id: `${index}`, text: part.text } }] : [];
  });
  return [
    { kind: "llm_started", callId, data: { estimatedTokens, messages: 0 } },
    ...deltas,
    {
      kind: "llm_completed",
      callId,
      data: {
        entryId,
        text: contentText(content),
        ...(typeof content !== "string" && { content }),
        toolCalls,
        usage,
        finishReason,
        view,
      },
    },
  ];
}

function callIn(all: readonly Entry[], callId: string | undefined, toolCallId: string): ToolCall | undefined {
  if (callId === undefined) return undefined;
  const entries = all.filter(({ refs }) => refs.callId === callId);
  const calls = entries.flatMap(({ payload }) => (payload as unknown as EntryPayload).toolCalls ?? []); // written by us
  return calls.find(({ id }) => id === toolCallId);
}

function eventOf(
  { id: requestId, runId }: Pick<AgentRequest, "id" | "runId">,
  { at, refs }: Entry,
  draft: EventDraft,
  seq: number,
): AgentEvent {
  return { ...draft, id: `${runId}.log.${seq}`, seq, at, runId, requestId, iteration: refs.iteration ?? 0 };
}
