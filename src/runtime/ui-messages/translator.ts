import type { AgentEvent, EventData } from "../../agent/event.ts";
import type { Failure } from "../../agent/signal.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import { type Content, contentText } from "../../thread/message.ts";
import { contentParts } from "../../thread/messages/neutral-message.ts";
import type { Thread } from "../../thread/thread.ts";
import type { UIChunk, UIFinishReason, UIMessageMetadata } from "./message.ts";
import {
  approvalIdOf,
  cancelledMark,
  failedMark,
  questionPart,
  requestErrorText,
  toolErrorText,
  toolOutput,
} from "./message.ts";
import { isClient6, type UIMessageStreamOptions } from "./options.ts";
import { StreamedAnswer } from "./streamed-answer.ts";
import { steeringParts } from "./user-message.ts";

type EventOf<Kind extends AgentEvent["kind"]> = Extract<AgentEvent, { kind: Kind }>;

type OfCall = Pick<EventOf<"approval_requested">, "callId" | "toolCallId" | "toolName">;

interface Outcome {
  readonly callId?: string | undefined;
  readonly toolCallId: string;
  readonly data: EventData["tool_completed"];
}

/** A step of the message: one call of the model, and the tools that it called. */
interface Step {
  readonly callId: string;
  readonly answer: StreamedAnswer;
  isAnswered: boolean;
  /** Whether its start was sent. A step begins with its first content, because one without content is not a part of the message. */
  isShown: boolean;
}

/** The part of a tool call that this stream has sent. */
interface SentCall {
  readonly toolCallId: string;
  isAsked?: boolean;
  isDenied?: boolean;
  isDone?: boolean;
}

/** The events whose chunks may need the thread: their call may have been made by another process. */
export const READS_THREAD: ReadonlySet<AgentEvent["kind"]> = new Set([
  "tool_started",
  "approval_resolved",
  "tool_completed",
  "request_failed",
  "request_cancelled",
]);

/** Turns the events of a request into chunks for useChat. */
export class Translator {
  readonly #options: UIMessageStreamOptions;
  readonly #calls = new Map<string, SentCall>();
  /** The calls of providers that were sent. */
  readonly #provided = new Set<string>();
  #blocks = 0;
  #step: Step | undefined;
  #hasSteps = false;
  #finishReason: UIFinishReason = "other";

  constructor(options: UIMessageStreamOptions) {
    this.#options = options;
  }

  /** `thread` is needed for the events of `READS_THREAD`. */
  take(event: AgentEvent, thread?: Thread): readonly UIChunk[] {
    switch (event.kind) {
      case "llm_started":
        return this.#begin(event.callId);
      case "llm_delta":
        return this.#shown(this.#step?.answer.delta(event.data, event.toolCallId, event.toolName) ?? []);
      case "llm_retried":
        return this.#startOver();
      case "llm_completed":
        return this.#complete(event);
      case "tool_started":
        return this.#introduce(event, event.data.arguments ?? argumentsOf(event, thread));
      case "answer_requested": {
        const { callId, toolCallId, toolName, data } = event;
        const introduced = this.#introduce(event, data.arguments);
        if (data.question === undefined) return introduced;
        return [
          ...introduced,
          questionPart(approvalIdOf(callId, toolCallId), toolCallId, toolName, data.question.value),
        ];
      }
      case "approval_requested":
        return [...this.#introduce(event, event.data.arguments), ...this.#ask(event)];
      case "approval_resolved":
        return this.#resolve(event, thread);
      case "tool_completed":
        return [...this.#introduce(event, argumentsOf(event, thread)), this.#outcome(event)];
      case "input_injected": {
        const { id, steer, content, author, display } = event.data;
        // Injected input and repairs by the agent are not messages of the user.
        const isUsers = steer === "steer" || steer === "follow_up";
        return [...this.#end(), ...(isUsers ? steeringParts(id, content, { author, display }) : [])];
      }
      case "output_repaired":
        return [{ type: "reset-step" }];
      case "request_completed":
        return [...this.#end(), { type: "finish", finishReason: this.#finishReason }];
      case "request_failed":
        return this.#fail(event.data.failure, failedMark, thread);
      case "request_cancelled": {
        const { reason } = event.data;
        return [...this.#close(thread), ...marked(cancelledMark(reason)), { type: "abort", reason }];
      }
      case "tool_output": {
        const { toolCallId, data } = event;
        return [{ type: "tool-output-available", toolCallId, output: data.output, preliminary: true }];
      }
      case "tool_data":
        return [{ ...event.data }];
      case "request_started":
      case "request_suspended":
      case "keepalive":
      case "tool_interrupted":
      case "tool_unresolved":
      case "context_op_applied":
      case "summary_started":
      case "summary_requested":
      case "summary_completed":
      case "summary_failed":
      case "summary_skipped":
      case "context_cut":
      case "checkpoint":
        return [];
      default:
        return event satisfies never;
    }
  }

  /** The request waits for an approval or an answer, and continues in another stream. */
  rest(thread?: Thread): readonly UIChunk[] {
    return [...this.#heldBack(thread), ...this.#end(), { type: "finish", finishReason: "tool-calls" }];
  }

  /** The stream ends before the request, so the end of the request is unknown. */
  fail(failure: Failure): readonly UIChunk[] {
    return this.#fail(failure, () => undefined);
  }

  #fail(
    failure: Failure,
    mark: (failure: Failure, reason: string) => UIMessageMetadata | undefined,
    thread?: Thread,
  ): readonly UIChunk[] {
    const errorText = requestErrorText(failure, this.#options.onError);
    const isOpen = this.#step?.isShown === true;
    const finished: readonly UIChunk[] = isOpen ? [{ type: "finish-step" }] : [];
    const ended: readonly UIChunk[] = [
      { type: "error", errorText },
      ...finished,
      { type: "finish", finishReason: "error" },
    ];
    return [...this.#close(thread), ...marked(mark(failure, errorText)), ...ended];
  }

  #begin(callId: string): readonly UIChunk[] {
    // A model call without an answer is retried: its text is discarded.
    if (this.#step?.isAnswered === false) return this.#startOver(callId);
    const ended = this.#end();
    this.#step = this.#newStep(callId);
    return ended;
  }

  /** The chunks of the step, with its start if that was not sent. */
  #shown(chunks: readonly UIChunk[], isStarted = chunks.length === 0): readonly UIChunk[] {
    const step = this.#step;
    if (step === undefined || step.isShown || isStarted) return chunks;
    step.isShown = true;
    return [{ type: "start-step" }, ...chunks];
  }

  #startOver(callId = this.#step?.callId): readonly UIChunk[] {
    const { answer, isShown = false } = this.#step ?? {};
    this.#step = { ...this.#newStep(callId), isShown };
    return answer?.hasContent === true ? [{ type: "reset-step" }] : [];
  }

  #newStep(callId = ""): Step {
    const ids = (type: string): string => {
      this.#blocks += 1;
      return `${type}-${this.#blocks}`;
    };
    const { sendReasoning = true, onError, client } = this.#options;
    const view = { ids, sendReasoning, onError, provided: this.#provided, isFor6: isClient6(client) };
    return { callId, answer: new StreamedAnswer(view), isAnswered: false, isShown: false };
  }

  /** A step ends when the next one starts, because its tools belong to it. */
  #end(): readonly UIChunk[] {
    if (this.#step === undefined) return [];
    const { isAnswered, isShown } = this.#step;
    const discarded: readonly UIChunk[] = isAnswered ? [] : this.#startOver();
    this.#step = undefined;
    return isShown ? [...discarded, { type: "finish-step" }] : [];
  }

  /** Keeps what the log has of an interrupted answer. A message has at least one step, as `toUIMessages` makes it. */
  #close(thread?: Thread): readonly UIChunk[] {
    const step = this.#step;
    const partial = step?.isAnswered === false ? keptAnswer(thread, step.callId) : undefined;
    const closed = partial === undefined ? step?.answer.close() : this.#shown(step?.answer.complete(partial) ?? []);
    this.#hasSteps ||= step?.isShown === true;
    this.#step = undefined;
    if (this.#hasSteps || this.#options.after !== undefined) return closed ?? [];
    return [{ type: "start-step" }, { type: "finish-step" }];
  }

  #complete({ callId, data }: EventOf<"llm_completed">): readonly UIChunk[] {
    const step = this.#step ?? this.#newStep(callId);
    this.#step = step;
    step.isAnswered = true;
    this.#finishReason = data.finishReason === "paused" ? "other" : data.finishReason;
    for (const { id } of data.toolCalls) this.#calls.set(approvalIdOf(callId, id), { toolCallId: id });
    this.#hasSteps = true;
    return this.#shown(step.answer.complete(data), false);
  }

  /** Sends a call that this stream has not sent. The process that made it may have ended. */
  #introduce(call: OfCall, input: JsonValue = {}): readonly UIChunk[] {
    const { callId, toolCallId, toolName } = call;
    const key = approvalIdOf(callId, toolCallId);
    if (this.#calls.has(key)) return [];
    this.#calls.set(key, { toolCallId });
    if (this.#options.after !== undefined) return []; // the client's message has it
    return [{ type: "tool-input-available", toolCallId, toolName, input }];
  }

  #ask({ callId, toolCallId }: OfCall): readonly UIChunk[] {
    const approvalId = approvalIdOf(callId, toolCallId);
    const call = this.#calls.get(approvalId);
    if (call !== undefined) call.isAsked = true;
    return [{ type: "tool-approval-request", approvalId, toolCallId }];
  }

  #resolve(event: EventOf<"approval_resolved">, thread: Thread | undefined): readonly UIChunk[] {
    const { approved, reason: given, arguments: edited } = event.data;
    const { toolCallId, toolName } = event;
    const approvalId = approvalIdOf(event.callId, toolCallId);
    const known = this.#introduce(event, edited ?? argumentsOf(event, thread));
    // The call is sent once more, with its edited input. The client then forgets that it waits.
    const isRenewed = edited !== undefined && known.length === 0;
    const renewed: readonly UIChunk[] = [{ type: "tool-input-available", toolCallId, toolName, input: edited }];
    const introduced = isRenewed ? renewed : known;
    const call = this.#calls.get(approvalId);
    const isAsked = !isRenewed && (call?.isAsked || this.#options.after !== undefined);
    const asked = isAsked ? [] : this.#ask(event);
    if (call !== undefined) call.isDenied = !approved;
    const reason = given === undefined ? {} : { reason: given };
    return [...introduced, ...asked, { type: "tool-approval-response", approvalId, approved, ...reason }];
  }

  #outcome({ callId, toolCallId, data }: Outcome): UIChunk {
    const call = this.#calls.get(approvalIdOf(callId, toolCallId));
    if (call !== undefined) call.isDone = true;
    if (call?.isDenied) return { type: "tool-output-denied", toolCallId };
    if (!data.isError) return { type: "tool-output-available", toolCallId, output: toolOutput(data) };
    return { type: "tool-output-error", toolCallId, errorText: toolErrorText(data.content, this.#options.onError) };
  }

  /** Results in the log that were held back because a call before them has no result. */
  #heldBack(thread: Thread | undefined): readonly UIChunk[] {
    if (thread === undefined) return [];
    return [...this.#calls].flatMap(([key, { toolCallId, isDone }]) => {
      if (isDone) return [];
      const entry = thread.filterByRef("toolCallId", toolCallId, { partial: true }).findLast(({ payload, refs }) => {
        return approvalIdOf(refs.callId, toolCallId) === key && "role" in payload && payload["role"] === "tool";
      });
      if (entry === undefined) return [];
      const data = entry.payload as EventData["tool_completed"]; // written by us
      return [this.#outcome({ callId: entry.refs.callId, toolCallId, data })];
    });
  }
}

/** The arguments of a call, from the log. */
function argumentsOf({ callId = "", toolCallId }: OfCall, thread: Thread | undefined): JsonValue | undefined {
  const entries = thread?.filterByRef("callId", callId, { partial: true }) ?? [];
  const calls = entries.flatMap(({ payload }) => ((payload as JsonObject)["toolCalls"] as readonly JsonValue[]) ?? []); // written by us
  const call = calls.find((one) => isPlainObject(one) && one["id"] === toolCallId) as JsonObject | undefined;
  return call?.["arguments"];
}

/** The part of an interrupted answer that is in the log. */
function keptAnswer(thread: Thread | undefined, callId: string): Parameters<StreamedAnswer["complete"]>[0] | undefined {
  const entry = thread
    ?.filterByRef("callId", callId, { partial: true })
    .find(({ payload }) => "role" in payload && payload["role"] === "assistant");
  if (entry === undefined) return undefined;
  const { content } = entry.payload as { readonly content: Content }; // written by us
  return { text: contentText(content), content: contentParts(content), toolCalls: [] };
}

/** The metadata that `toUIMessages` also sets, so that a message is the same before and after a reload. */
function marked(messageMetadata: UIMessageMetadata | undefined): readonly UIChunk[] {
  return messageMetadata === undefined ? [] : [{ type: "message-metadata", messageMetadata }];
}
