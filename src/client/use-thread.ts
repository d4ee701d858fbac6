import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import {
  type FollowedState,
  type FollowedThread,
  followThread,
  NOT_LOADED,
  type PageMessage,
} from "./follow-thread.ts";
import type { ThreadTransport } from "./transport.ts";

/** The part of what `useChat` returns that is needed here. */
export interface ReactChat<Message> {
  readonly id: string;
  readonly setMessages: (update: (current: Message[]) => Message[]) => void;
  readonly resumeStream: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** The state of a thread, and what a page does with it. */
export type ReactThread = FollowedState & Omit<FollowedThread, "close">;

/**
 * Keeps a chat of `useChat` equal to its thread: it loads the messages, streams an open request, and shows what other tabs and
 * processes write. The transport must be one object for all renders, so make it outside of the component.
 *
 * @example
 * const transport = chatTransport({ api: "/api/chat" });
 * function useMyChat(chat: ReactChat<UIChatMessage>) {
 *   // const chat = useChat({ id: "thread_1", transport });
 *   const { siblings, switchBranch, stop, approve, deny } = useThread(chat, transport);
 *   return { siblings, switchBranch, stop, approve, deny };
 * }
 * console.log(typeof useMyChat); // function
 */
export function useThread<Message extends PageMessage>(
  chat: ReactChat<Message>,
  transport: ThreadTransport<unknown>,
): ReactThread {
  const { id } = chat;
  const latest = useRef(chat);
  latest.current = chat;
  const followed = useRef<FollowedThread | undefined>(undefined);
  const [known, setKnown] = useState({ id, state: NOT_LOADED });
  useEffect(() => {
    const one = followThread<Message>({
      transport,
      id,
      setMessages: (update) => latest.current.setMessages(update),
      resumeStream: () => latest.current.resumeStream(),
      onState: (state) => setKnown({ id, state }),
    });
    followed.current = one;
    return () => one.close();
  }, [id, transport]);
  const stop = useCallback(async () => {
    const stopped = followed.current?.stop();
    await latest.current.stop();
    await stopped;
  }, []);
  const acts = useMemo(
    () => ({
      stop,
      switchBranch: async (lane: string) => followed.current?.switchBranch(lane),
      approve: async (...given: Parameters<FollowedThread["approve"]>) => followed.current?.approve(...given),
      deny: async (...given: Parameters<FollowedThread["deny"]>) => followed.current?.deny(...given),
      answer: async (...given: Parameters<FollowedThread["answer"]>) => followed.current?.answer(...given),
      rename: async (title: string) => followed.current?.rename(title),
      refresh: () => followed.current?.refresh(),
    }),
    [stop],
  );
  return { ...(known.id === id ? known.state : NOT_LOADED), ...acts };
}
