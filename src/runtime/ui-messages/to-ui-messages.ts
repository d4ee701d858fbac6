import { type RequestEnd, readRequestEnd } from "../../agent/react/state.ts";
import type { Entry } from "../../thread/entry.ts";
import { ThreadError } from "../../thread/errors.ts";
import type { Content, ToolCall } from "../../thread/message.ts";
import { checkLane, laneEntries, messagesFromEntries } from "../../thread/messages/to-messages.ts";
import { checkLoaded } from "../../thread/queries.ts";
import { Thread } from "../../thread/thread.ts";
import { checkUIOptions } from "../option-names.ts";
import type { ErrorText } from "./error-text.ts";
import type { UIChatMessage, UIPart } from "./message.ts";
import { isClient6, type UIClientVersion } from "./options.ts";
import { uiPartsOfUser } from "./parts.ts";
import { markOf } from "./request-mark.ts";
import { SpokenMessage } from "./spoken.ts";

/** Options of `toUIMessages()`. */
export interface ToUIMessagesOptions {
  /** As in `uiMessageStream`: what the user reads of a request or tool that failed. Default as there. */
  readonly onError?: ErrorText;
  /** Default the lane that is active at the end. */
  readonly lane?: string | undefined;
  /**
   * The version of the AI SDK in the page. Default 7. For version 6 the message of an open request is left out: `resumeTurn`
   * streams it whole, and clients before 6.0.304 would show its text twice. Parts that version 6 does not know are left out.
   */
  readonly client?: UIClientVersion | undefined;
  /** Takes a thread of which only the end is loaded, for what is loaded of it. Default false: `entry_not_loaded`. */
  readonly partial?: boolean | undefined;
}

/** What the agent writes of a request, as far as it is looked at here. */
interface Written {
  readonly role?: string;
  readonly content: Content;
  readonly toolCalls?: readonly ToolCall[];
  readonly isError?: boolean;
  readonly steer?: string;
  readonly approved?: boolean;
  readonly reason?: string;
  /** The reason, in logs of 0.1. */
  readonly note?: string;
}

/**
 * The messages that `useChat` begins with: one of the assistant for each request, as `uiMessageStream` streams it and with the
 * same id, with its calls, their results, and what waits to be approved. A request that was stopped or failed marks its message
 * with `metadata.heddle`, also where nothing was answered. What was taken in as a list of messages comes as
 * `thread.toMessages({ format: "ui-messages" })` gives it.
 *
 * @example
 * const server = await AgentServer.start({ agent: defineAgent({ model: scriptedModel(["4"]) }), store: memoryStore() });
 * await (await server.ask("What's 2+2?")).result;
 * console.log(toUIMessages(server.thread()).map(({ role }) => role)); // [ 'user', 'assistant' ]
 * await server.stop();
 */
export function toUIMessages(thread: Thread, options: ToUIMessagesOptions = {}): UIChatMessage[] {
  checkUIOptions("toUIMessages", options, { onError: true, client: true, lane: true, partial: true });
  const { onError, client, lane, partial } = options;
  if (!Thread.isThread(thread)) {
    const message = "toUIMessages needs a Thread. Load one with `await store.load(id)`.";
    throw new ThreadError({ code: "not_a_thread", message });
  }
  checkLoaded(thread, partial);
  const isFor6 = isClient6(client);
  const messages: (UIChatMessage | SpokenById)[] = [];
  const spoken = new Map<string, SpokenById>();
  let others: Entry[] = [];
  const flush = (): void => {
    const taken = others.length === 0 ? [] : messagesFromEntries(others, "ui-messages", { isForPage: true });
    messages.push(...(taken as UIChatMessage[])); // as the format has it
    others = [];
  };
  for (const entry of laneEntries(thread.toArray({ partial: true }), { lane: checkLane(lane), base: thread.base })) {
    const { requestId } = entry.refs;
    const end = readRequestEnd(entry.payload);
    const isRead = KINDS.has(entry.kind) || end !== undefined;
    if (requestId === undefined || !isRead || "original" in entry.payload) {
      others.push(entry);
      continue;
    }
    flush();
    const { role, steer, content } = entry.payload as unknown as Written; // written by us
    if (role === "user" && steer === undefined) {
      messages.push({ id: entry.id, role, parts: uiPartsOfUser(content) });
      continue;
    }
    const known = spoken.get(requestId);
    const one = known ?? { id: requestId, message: new SpokenMessage(onError) };
    if (known === undefined) {
      spoken.set(requestId, one);
      messages.push(one);
    }
    if (end !== undefined) one.end = end;
    read(one.message, entry);
  }
  flush();
  const shown = messages.flatMap((one) => ("role" in one ? [one] : messageOf(one, onError, isFor6)));
  return isFor6 ? shown.map((message) => ({ ...message, parts: message.parts.flatMap(partFor6) })) : shown;
}

interface SpokenById {
  readonly id: string;
  readonly message: SpokenMessage;
  end?: RequestEnd;
}

function messageOf({ id, message, end }: SpokenById, onError: ErrorText, isFor6: boolean): readonly UIChatMessage[] {
  const metadata = end && markOf(end, onError);
  if (metadata === undefined && (message.isEmpty || (isFor6 && end === undefined))) return [];
  // Versions of the AI SDK refuse a message that has no parts.
  const parts: UIPart[] = message.isEmpty ? [{ type: "step-start" }] : message.parts();
  return [{ id, role: "assistant", parts, ...(metadata && { metadata }) }];
}

/** A part as AI SDK 6 knows it. */
function partFor6(part: UIPart): readonly UIPart[] {
  if (part.type === "custom") return [];
  if (part.type !== "steering-message") return [part];
  return [{ type: "data-steering-message", id: part.id, data: { parts: part.parts } }];
}

const KINDS: ReadonlySet<string> = new Set(["ai_message", "approval_requested", "approval_resolved"]);

function read(message: SpokenMessage, { id, kind, payload, refs }: Entry): void {
  const {
    role,
    content,
    toolCalls = [],
    isError = false,
    steer,
    approved,
    note,
    reason = note,
  } = payload as unknown as Written; // written by us
  const { callId, toolCallId = "", signalId = id } = refs;
  if (kind === "approval_requested") message.asked(callId, toolCallId);
  else if (kind === "approval_resolved") message.decided(callId, toolCallId, approved === true, reason);
  else if (role === "assistant") message.answer(callId, { content, toolCalls });
  else if (role === "tool") message.result(callId, toolCallId, { content, isError });
  else if (steer === "repair") message.takeBack();
  else if (steer === "steer" || steer === "follow_up") message.steered(signalId, content);
}
