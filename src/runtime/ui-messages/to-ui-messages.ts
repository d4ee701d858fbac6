import { continuedBy, type RequestEnd, readRequestEnd } from "../../agent/react/state.ts";
import { cutPayload, isAnswer, readCut } from "../../lanes/answer-cut.ts";
import { thaw } from "../../providers/message-parts.ts";
import type { Entry } from "../../thread/entry.ts";
import { ThreadError } from "../../thread/errors.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import type { WrittenPart } from "../../thread/kinds.ts";
import type { Author, Content, ToolCall } from "../../thread/message.ts";
import { orderedParts } from "../../thread/messages/neutral-message.ts";
import { checkLane, laneEntries, messagesFromEntries } from "../../thread/messages/to-messages.ts";
import type { OptionNames } from "../../thread/options.ts";
import { checkLoaded } from "../../thread/queries.ts";
import { Thread } from "../../thread/thread.ts";
import { checkUIOptions } from "../option-names.ts";
import type {
  UIChatMessage,
  UIDataPart,
  UIMessageMetadata,
  UIPart,
  UIRequestMark,
  UISteeringPart,
  UIToolPart,
} from "./message.ts";
import {
  approvalIdOf,
  type ErrorText,
  markOf,
  questionPart,
  toolErrorText,
  toolOutput,
  uiPartOfAnswer,
} from "./message.ts";
import { isAskOfUser, isBeforeAsk, isOfRequest, userMessageId } from "./message-tree.ts";
import { isClient6, type RequestMetadata, type UIClientVersion } from "./options.ts";
import { recordedMessages } from "./recorded-messages.ts";
import { requestMetadata } from "./request-metadata.ts";
import { shownUserMessage, steeringParts, storedDisplay, withOrigin } from "./user-message.ts";

/** Options of `toUIMessages()`. */
export interface ToUIMessagesOptions {
  /** Makes the text that a user reads about a failed request or tool, as in `uiMessageStream`. Default as there. */
  readonly onError?: ErrorText;
  /** Makes the metadata of a message whose request has ended, as in `uiMessageStream`. Default: none. */
  readonly metadata?: RequestMetadata | undefined;
  /** Whether thinking is shown, as in `uiMessageStream`. Default true. */
  readonly sendReasoning?: boolean | undefined;
  /** The branch to show, with what it shares with others. Default the lane that is active at the end. */
  readonly lane?: string | undefined;
  /**
   * The version of the AI SDK in the page. Default 7. For version 6 the message of an open request is left out: `resumeTurn`
   * streams it whole, and clients before 6.0.304 would show its text twice. Parts that version 6 does not know are left out.
   */
  readonly client?: UIClientVersion | undefined;
  /** Whether the answer of an open request is in the list. Default true, and false for version 6. */
  readonly openAnswer?: boolean | undefined;
  /** Accepts a thread of which only the end is loaded, and converts that part. Default false: `entry_not_loaded`. */
  readonly partial?: boolean | undefined;
}

const TO_OPTIONS: OptionNames<ToUIMessagesOptions> = {
  onError: true,
  metadata: true,
  sendReasoning: true,
  client: true,
  openAnswer: true,
  lane: true,
  partial: true,
};

/** The fields of an entry's payload that are read here. */
interface EntryPayload {
  readonly role?: string;
  readonly content: Content;
  readonly toolCalls?: readonly ToolCall[];
  readonly isError?: boolean;
  readonly details?: JsonValue;
  readonly question?: JsonValue;
  readonly steer?: string;
  readonly author?: Author;
  readonly source?: string;
  readonly approved?: boolean;
  readonly reason?: string;
  /** The reason, in logs of 0.1. */
  readonly note?: string;
  readonly editedArguments?: JsonValue;
  readonly written?: readonly WrittenPart[];
  readonly display?: JsonObject;
}

/**
 * The messages that `useChat` begins with. Each request is one assistant message, with the id and content that
 * `uiMessageStream` streams: its calls, their results, and waiting approvals. The message of a stopped or failed
 * request has `metadata.heddle`, also when there was no answer. Messages that were imported as a list come as
 * `thread.toMessages({ format: "ui-messages" })` gives them.
 *
 * @example
 * const server = await AgentServer.start({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
 * await (await server.ask("What's 2+2?")).result;
 * console.log(toUIMessages(await server.thread()).map(({ role }) => role)); // [ 'user', 'assistant' ]
 * await server.stop();
 */
export function toUIMessages(thread: Thread, options: ToUIMessagesOptions = {}): UIChatMessage[] {
  checkUIOptions("toUIMessages", options, TO_OPTIONS);
  const { onError, client, lane, partial } = options;
  if (!Thread.isThread(thread)) {
    const message = "toUIMessages needs a Thread. Load one with `await store.load(id)`.";
    throw new ThreadError({ code: "not_a_thread", message });
  }
  checkLoaded(thread, partial);
  const isFor6 = isClient6(client);
  const { openAnswer = !isFor6 } = options;
  const messages: (UIChatMessage | MessageById)[] = [];
  const byRequest = new Map<string, MessageById>();
  const used = new Set<string>();
  let others: Entry[] = [];
  let shownTo = -1;
  const flush = (): void => {
    const taken = others.length === 0 ? [] : messagesFromEntries(others, "ui-messages", { isForPage: true });
    messages.push(...(taken as UIChatMessage[]).map(withUndecided)); // as the format has it
    others = [];
  };
  const entries = [...laneEntries(thread.toArray({ partial: true }), { lane: checkLane(lane), base: thread.base })];
  const cuts = new Map(
    entries.flatMap((entry) => readCut(entry) ?? []).map(({ seq, characters }) => [seq, characters]),
  );
  const records = [...recordedMessages(entries)];
  for (const written of entries) {
    const [record] = records;
    if (record !== undefined && written.seq >= record.fromSeq) {
      flush();
      messages.push(...record.messages);
      records.shift();
      shownTo = record.toSeq;
    }
    if (written.seq <= shownTo) continue;
    const entry = withCut(written, cuts);
    const { requestId } = entry.refs;
    const continued = byRequest.get(continuedBy(entry) ?? "");
    if (continued !== undefined && requestId !== undefined) {
      byRequest.set(requestId, continued); // one message for both requests, with the end of the last one
      continued.end = undefined;
      continued.metadata = undefined;
      continue;
    }
    if (requestId === undefined || !isOfRequest(entry)) {
      others.push(entry);
      continue;
    }
    flush();
    if (isAskOfUser(entry)) {
      const { content, author, source } = entry.payload as unknown as EntryPayload; // written by us
      const id = userMessageId(entry);
      const { parts, metadata: posted } = shownUserMessage(content, storedDisplay(entry));
      const metadata = withOrigin(posted, { author, source }) as UIMessageMetadata | undefined; // of a page it may be any JSON
      messages.push({
        id: used.has(id) ? entry.id : id,
        role: "user",
        parts,
        ...(metadata !== undefined && { metadata }),
      });
      used.add(id);
      continue;
    }
    if (isBeforeAsk(entry, byRequest)) continue;
    const end = readRequestEnd(entry.payload);
    const known = byRequest.get(requestId);
    const one = known ?? { id: requestId, message: new AssistantMessage(options) };
    if (known === undefined) {
      byRequest.set(requestId, one);
      messages.push(one);
    }
    if (end !== undefined) one.end = end;
    if (end !== undefined && options.metadata !== undefined)
      one.metadata = requestMetadata(thread, requestId, options.metadata);
    if (entry !== written) one.isCut = true;
    read(one.message, entry);
  }
  flush();
  const shown = messages.flatMap((one) => ("role" in one ? [one] : messageOf(one, onError, openAnswer)));
  return isFor6 ? shown.map((message) => ({ ...message, parts: message.parts.flatMap(partFor6) })) : shown;
}

interface MessageById {
  readonly id: string;
  readonly message: AssistantMessage;
  end?: RequestEnd | undefined;
  metadata?: object | undefined;
  isCut?: true;
}

/** An answer as it was cut. Other entries are returned as they are. */
function withCut(entry: Entry, cuts: ReadonlyMap<number, number>): Entry {
  const characters = cuts.get(entry.seq);
  if (characters === undefined || !isAnswer(entry)) return entry;
  return { ...entry, payload: cutPayload(entry.payload as JsonObject, characters) } as Entry; // the same kind, with fewer parts
}

function messageOf(
  { id, message, end, metadata: own, isCut }: MessageById,
  onError: ErrorText,
  openAnswer: boolean,
): readonly UIChatMessage[] {
  const mark = end && markOf(end, onError);
  const heddle = isCut ? { heddle: { ...(mark?.heddle as UIRequestMark | undefined), cut: isCut } } : mark; // an end has no author
  if (heddle === undefined && (message.isEmpty || (!openAnswer && end === undefined))) return [];
  // Some versions of the AI SDK refuse a message without parts.
  const parts: UIPart[] = message.isEmpty ? [{ type: "step-start" }] : message.parts();
  const metadata = own || heddle ? ({ ...own, ...heddle } as UIMessageMetadata) : undefined; // of the application, and ours
  return [{ id, role: "assistant", parts, ...(metadata && { metadata }) }];
}

/** No request waits for an approval that was imported, so the page must not offer it. No person has denied it. */
function withUndecided(message: UIChatMessage): UIChatMessage {
  const isOpen = (part: UIPart): boolean => "state" in part && part.state === "approval-requested";
  if (!message.parts?.some(isOpen)) return message;
  const parts = message.parts.map((part): UIPart => {
    if (!("state" in part) || part.state !== "approval-requested") return part;
    const { approval: _, ...call } = part;
    return {
      ...call,
      state: "output-error",
      errorText: "This call was imported before it was decided. It has not run.",
    };
  });
  return { ...message, parts };
}

/** A part as AI SDK 6 knows it. */
function partFor6(part: UIPart): readonly UIPart[] {
  if (part.type === "custom") return [];
  if (part.type !== "steering-message") return [part];
  return [{ type: "data-steering-message", id: part.id, data: { parts: part.parts } }];
}

function read(message: AssistantMessage, { id, kind, payload, refs }: Entry): void {
  const {
    role,
    content,
    toolCalls = [],
    isError = false,
    details,
    question = null,
    steer,
    approved,
    note,
    reason = note,
    editedArguments,
    written = [],
    author,
    display,
  } = payload as unknown as EntryPayload; // written by us
  const { callId, toolCallId = "", signalId = id } = refs;
  for (const { event, first = event, data, ...part } of written)
    message.wrote(callId, { part: { ...part, data: thaw(data) }, first, event });
  if (editedArguments !== undefined) message.edited(callId, toolCallId, editedArguments);
  if (kind === "approval_requested") message.asked(callId, toolCallId);
  else if (kind === "approval_resolved") message.decided(callId, toolCallId, approved === true, reason);
  else if (kind === "question_asked") message.questioned(callId, toolCallId, question);
  else if (role === "assistant") message.answer(callId, { content, toolCalls });
  else if (role === "tool") message.result(callId, toolCallId, { content, isError, details });
  else if (steer === "repair") message.discardAnswer();
  else if (steer === "steer" || steer === "follow_up")
    message.steered(signalId, steeringParts(signalId, content, { author, display }));
}

/** One call, with its approval and result in the log. */
interface Call {
  readonly id: string;
  readonly name: string;
  input: unknown;
  readonly isProviders?: true;
  approval?: { readonly approved?: boolean; readonly reason?: string };
  result?: { readonly content: Content; readonly isError?: boolean; readonly details?: JsonValue | undefined };
}

/** A part for the page, with the numbers of its event and of the event of its first version. */
interface Written {
  part: UIDataPart;
  event: number;
  first: number;
}

/** A piece of the message: a part, a call, the data parts of an answer or a steer, or one with an id, which may be replaced. */
type Piece = UIPart | { readonly call: Call } | { readonly place: Written[] } | { readonly known: Written };

interface Answer {
  readonly content: Content;
  readonly toolCalls?: readonly ToolCall[];
}

/** Builds the assistant message of a request from its entries. */
class AssistantMessage {
  readonly #onError: ErrorText;
  readonly #sendReasoning: boolean;
  /** In order. Parts that nothing refers to have a number as their key. */
  readonly #pieces = new Map<string, Piece>();

  constructor({ onError, sendReasoning = true }: ToUIMessagesOptions) {
    this.#onError = onError;
    this.#sendReasoning = sendReasoning;
  }

  get isEmpty(): boolean {
    return this.#pieces.size === 0;
  }

  answer(callId: string | undefined, { content, toolCalls = [] }: Answer): void {
    this.#add({ type: "step-start" });
    for (const piece of orderedParts({ role: "assistant", content, toolCalls })) {
      if (!("type" in piece))
        this.#pieces.set(approvalIdOf(callId, piece.id), { call: { ...piece, input: thaw(piece.arguments) } });
      else if (piece.type === "provider_call") {
        const { id, name } = piece;
        const call: Call = { id, name, input: thaw(piece.arguments), isProviders: true };
        this.#pieces.set(approvalIdOf(callId, id), { call });
      } else if (piece.type === "provider_result") {
        const { result, isError = false } = piece;
        this.#provided(callId, piece.id, {
          content: typeof result === "string" ? result : JSON.stringify(result),
          isError,
          details: result,
        });
      } else {
        const part = piece.type === "thinking" && !this.#sendReasoning ? undefined : uiPartOfAnswer(piece);
        if (part !== undefined) this.#add(part);
      }
    }
    this.#pieces.set(`place ${callId}`, { place: [] });
  }

  /** A part with the type and id of an earlier one replaces it, in its place. Entries of several calls may come in another order. */
  wrote(of: string | undefined, written: Written): void {
    const { part, event, first } = written;
    const name = `data ${part.type} ${part.id}`;
    const before = part.id === undefined ? undefined : this.#pieces.get(name);
    if (before === undefined || !("known" in before)) {
      this.#place(of)?.push(written);
      if (part.id !== undefined) this.#pieces.set(name, { known: written });
      return;
    }
    const { known } = before;
    known.first = Math.min(known.first, first);
    if (event >= known.event) Object.assign(known, { part, event });
  }

  steered(id: string, parts: readonly (UISteeringPart | UIDataPart)[]): void {
    const of = `steer ${id}`;
    for (const part of parts) if (part.type === "steering-message") this.#add(part);
    this.#pieces.set(`place ${of}`, { place: [] });
    for (const part of parts) if (part.type !== "steering-message") this.wrote(of, { part, event: 0, first: 0 });
  }

  /** Removes the last answer, which had the wrong shape. Another answer follows. */
  discardAnswer(): void {
    const pieces = [...this.#pieces];
    const start = pieces.findLastIndex(([, piece]) => "type" in piece && piece.type === "step-start");
    for (const [key] of pieces.slice(start + 1)) this.#pieces.delete(key);
  }

  asked(callId: string | undefined, toolCallId: string): void {
    const call = this.#call(approvalIdOf(callId, toolCallId));
    if (call !== undefined) call.approval ??= {};
  }

  edited(callId: string | undefined, toolCallId: string, input: JsonValue): void {
    const call = this.#call(approvalIdOf(callId, toolCallId));
    if (call !== undefined) call.input = thaw(input);
  }

  decided(callId: string | undefined, toolCallId: string, approved: boolean, reason: string | undefined): void {
    const call = this.#call(approvalIdOf(callId, toolCallId));
    if (call !== undefined) call.approval = { approved, ...(reason !== undefined && { reason }) };
  }

  /** A later question replaces an earlier one. It comes after what was written before. */
  questioned(callId: string | undefined, toolCallId: string, question: JsonValue): void {
    const key = approvalIdOf(callId, toolCallId);
    const call = this.#call(key);
    const last = (this.#place(callId) ?? []).reduce((most, { event }) => Math.max(most, event), 0);
    const part = call && questionPart(key, call.id, call.name, question);
    if (part !== undefined) this.wrote(callId, { part, event: last, first: last });
  }

  /** The first result of a call counts. */
  result(callId: string | undefined, toolCallId: string, result: NonNullable<Call["result"]>): void {
    const call = this.#call(approvalIdOf(callId, toolCallId));
    if (call !== undefined) call.result ??= result;
  }

  parts(): UIPart[] {
    return [...this.#pieces].flatMap(([key, piece]): UIPart[] => {
      if ("call" in piece) return [this.#toolPart(key, piece.call)];
      if ("place" in piece) return piece.place.toSorted((a, b) => a.first - b.first).map(({ part }) => part);
      return "known" in piece ? [] : [piece];
    });
  }

  /** The result of a provider may come with a later answer than its call. */
  #provided(callId: string | undefined, id: string, result: NonNullable<Call["result"]>): void {
    const own = this.#call(approvalIdOf(callId, id));
    const call = own ?? this.#calls().findLast((one) => one.id === id && one.isProviders);
    if (call !== undefined) call.result ??= result;
  }

  #add(part: UIPart): void {
    this.#pieces.set(`${this.#pieces.size}`, part);
  }

  #call(key: string): Call | undefined {
    const piece = this.#pieces.get(key);
    return piece !== undefined && "call" in piece ? piece.call : undefined;
  }

  #calls(): Call[] {
    return [...this.#pieces.values()].flatMap((piece) => ("call" in piece ? [piece.call] : []));
  }

  /** The data parts of an answer or a steer. */
  #place(of: string | undefined): Written[] | undefined {
    const piece = this.#pieces.get(`place ${of}`);
    return piece !== undefined && "place" in piece ? piece.place : undefined;
  }

  #toolPart(id: string, call: Call): UIToolPart {
    const { approval, result, input } = call;
    const part = {
      type: `tool-${call.name}` as const,
      toolCallId: call.id,
      input,
      ...(call.isProviders && { providerExecuted: true }),
    };
    const reason = approval?.reason === undefined ? {} : { reason: approval.reason };
    if (result === undefined) {
      if (approval === undefined) return { ...part, state: "input-available" };
      const { approved } = approval;
      if (approved === undefined) return { ...part, state: "approval-requested", approval: { id } };
      return { ...part, state: "approval-responded", approval: { id, approved, ...reason } };
    }
    if (approval?.approved === false) {
      return { ...part, state: "output-denied", approval: { id, approved: false, ...reason } };
    }
    const approved = approval?.approved ? { approval: { id, approved: true, ...reason } as const } : {};
    if (!result.isError) return { ...part, state: "output-available", output: toolOutput(result), ...approved };
    return { ...part, state: "output-error", errorText: toolErrorText(result.content, this.#onError), ...approved };
  }
}
