import type { ShownThread } from "../runtime/chat/chat-handler.ts";
import type { MessageSiblings } from "../runtime/ui-messages/message-tree.ts";
import { ChatError, type ThreadTransport, waited } from "./transport.ts";

/** A message of `useChat`, of any version of the AI SDK. */
export interface PageMessage {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly { readonly type: string }[];
}

/** The state of a thread beside its messages. */
export interface FollowedState {
  /** The messages of users that wait for their turn. They are not among the messages yet. */
  readonly queued: ShownThread["queued"];
  /** The alternatives to the messages that have any, by message id. */
  readonly siblings: { readonly [messageId: string]: MessageSiblings };
  /** The title that a person gave, or that the host made. Null before, undefined before it is loaded. */
  readonly title: string | null | undefined;
  /** The status of the thread, such as `running` or `waiting`. Null for a thread without entries, undefined before it is loaded. */
  readonly status: ShownThread["status"] | undefined;
  /** Why the thread is not shown: it belongs to another user, for example. */
  readonly error: Error | undefined;
}

/** The state of a thread before it is loaded. */
export const NOT_LOADED: FollowedState = {
  queued: [],
  siblings: {},
  title: undefined,
  status: undefined,
  error: undefined,
};

/** A chat of the AI SDK, of any framework, and the thread that it shows. */
export interface FollowThreadOptions<Message extends PageMessage> {
  readonly transport: ThreadTransport<unknown>;
  /** The id of the chat, which is that of the thread. */
  readonly id: string;
  /** Replaces the messages of the chat, as `setMessages` of `useChat` does. An equal list is returned as it was given. */
  readonly setMessages: (update: (current: Message[]) => Message[]) => void;
  /** Streams the open request into the chat, as `resumeStream` of `useChat` does. */
  readonly resumeStream: () => Promise<void>;
  /** Called when the state changes. Default: not called. */
  readonly onState?: ((state: FollowedState) => void) | undefined;
}

/** A thread that is followed. Each call rejects with a ChatError when the server refuses it. */
export interface FollowedThread {
  /** Shows another branch, one of the lanes in `siblings`. */
  switchBranch(lane: string): Promise<void>;
  /** Cancels the request on the server. */
  stop(): Promise<void>;
  /** Lets a call run that waits for approval. */
  approve(toolCallId: string, options?: { readonly reason?: string; readonly arguments?: unknown }): Promise<void>;
  /** Refuses a call that waits for approval. The model is shown the reason. */
  deny(toolCallId: string, options?: { readonly reason?: string }): Promise<void>;
  /** The result of a call that waits for an answer. */
  answer(toolCallId: string, output: unknown): Promise<void>;
  /** Gives the thread a title, which no generated one replaces. */
  rename(title: string): Promise<void>;
  /** Loads the messages when no answer is streamed. */
  refresh(): void;
  /** Follows no more. */
  close(): void;
}

/** The wait after a failed load. */
const RETRY_MS = 3000;

/**
 * Keeps a chat equal to its thread: it loads the messages, streams an open request, and shows what other tabs and processes
 * write. Without a framework; in React, `useThread` calls it.
 *
 * @example
 * let messages: UIChatMessage[] = [];
 * const followed = followThread<UIChatMessage>({
 *   transport: chatTransport({ api: "http://localhost/api/chat" }),
 *   id: "thread_1",
 *   setMessages: (update) => { messages = update(messages); },
 *   resumeStream: async () => undefined,
 * });
 * followed.close();
 */
export function followThread<Message extends PageMessage>(options: FollowThreadOptions<Message>): FollowedThread {
  const { transport, id, onState } = options;
  const closed = new AbortController();
  let wake = (): void => undefined;

  const show = (shown: ShownThread): void => {
    const unsent = transport.unsent(id);
    options.setMessages((current) => {
      const last = current.at(-1);
      const isUnsent = last !== undefined && last.id === unsent && !has(shown, last.id);
      const loaded = shown.messages as unknown as readonly Message[]; // the messages that the chat has, as the server has them
      const next = isUnsent ? [...loaded, last] : [...loaded];
      return sameJson(current, next) ? current : next;
    });
    const { queued, siblings, title, status } = shown;
    onState?.({ queued, siblings, title, status, error: undefined });
  };

  /** Shows the thread as it is. Undefined when a stream is open, which is newer. */
  const load = async (): Promise<ShownThread | undefined> => {
    if (transport.streams.isOpen(id)) return undefined;
    const { opened } = transport.streams;
    const shown = await transport.messages(id, closed.signal);
    if (closed.signal.aborted || opened !== transport.streams.opened) return undefined;
    show(shown);
    return shown;
  };

  const listen = async (nextSeq: number): Promise<void> => {
    const left = new AbortController();
    wake = () => left.abort();
    closed.signal.addEventListener("abort", wake);
    const removers = [transport.streams.onOpen(id, wake), onHidden(wake)];
    try {
      for await (const _change of transport.changes(id, nextSeq, left.signal)) return;
    } catch (error) {
      if (!left.signal.aborted) throw error;
    } finally {
      closed.signal.removeEventListener("abort", wake);
      for (const remove of removers) remove();
      left.abort();
    }
  };

  const follow = async (): Promise<void> => {
    while (!closed.signal.aborted) {
      try {
        await visible(closed.signal);
        await transport.streams.idle(id);
        const shown = await load();
        if (shown?.status === "running") await options.resumeStream();
        if (shown !== undefined && !closed.signal.aborted && !transport.streams.isOpen(id)) await listen(shown.nextSeq);
      } catch (error) {
        if (closed.signal.aborted) return;
        const isRefused = ChatError.isInstance(error) && !error.retryable;
        if (isRefused) onState?.({ ...NOT_LOADED, error });
        const pause = new AbortController();
        wake = () => pause.abort();
        closed.signal.addEventListener("abort", wake);
        await (isRefused ? aborted(pause.signal) : waited(RETRY_MS, pause.signal));
        closed.signal.removeEventListener("abort", wake);
      }
    }
  };

  const then = async (done: Promise<unknown>): Promise<void> => {
    await done;
    wake();
  };
  void follow();
  return {
    async switchBranch(lane) {
      show(await transport.switchBranch(id, lane));
      wake();
    },
    stop: () => then(transport.stop(id)),
    approve: (toolCallId, given) => then(transport.approve(id, toolCallId, given)),
    deny: (toolCallId, given) => then(transport.deny(id, toolCallId, given)),
    answer: (toolCallId, output) => then(transport.answer(id, toolCallId, output)),
    rename: (title) => then(transport.rename(id, title)),
    refresh: () => wake(),
    close: () => closed.abort(),
  };
}

/** Whether the thread has a message of the user, also as a part of an answer that it was steered into. */
function has({ messages }: ShownThread, messageId: string): boolean {
  return messages.some(
    ({ id, parts }) => id === messageId || parts.some((part) => "id" in part && part.id === messageId),
  );
}

function sameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
}

interface PageDocument {
  readonly visibilityState: string;
  addEventListener(type: string, listener: () => void): void;
  removeEventListener(type: string, listener: () => void): void;
}

/** A browser opens few connections to one server, so a tab that is not shown has none. */
const page = (globalThis as { readonly document?: PageDocument }).document; // absent outside of a browser

function onHidden(listener: () => void): () => void {
  const changed = (): void => {
    if (page?.visibilityState === "hidden") listener();
  };
  page?.addEventListener("visibilitychange", changed);
  return () => page?.removeEventListener("visibilitychange", changed);
}

/** Resolves when the tab is shown. */
function visible(signal: AbortSignal): Promise<void> {
  if (page?.visibilityState !== "hidden") return Promise.resolve();
  return new Promise((resolve) => {
    const changed = (): void => {
      if (page.visibilityState === "hidden" && !signal.aborted) return;
      page.removeEventListener("visibilitychange", changed);
      resolve();
    };
    page.addEventListener("visibilitychange", changed);
    signal.addEventListener("abort", changed);
  });
}
