import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { problemOf } from "../data/source.ts";
import { textOf } from "../parts/content.ts";
import { oneLine } from "../parts/format.ts";
import { Markdown } from "../parts/markdown.tsx";
import { Loading, Problem } from "../parts/states.tsx";
import type { OpenThread } from "../state/open-thread.ts";
import { route } from "../state/route.ts";
import { Composer } from "./composer.tsx";
import { type ChatItem, conversation } from "./conversation.ts";
import { AssistantTurn, Line, Thinking, UserTurn, type Wait } from "./turns.tsx";
import { Welcome } from "./welcome.tsx";

const FIRST = 150;
const MORE = 200;

export function ChatView({ thread }: { readonly thread: OpenThread }) {
  const shown = useSignal(FIRST);
  const { detail, log, live } = thread;
  const problem = useSignal<ReturnType<typeof problemOf> | undefined>(undefined);
  const load = () =>
    log.ensure(log.rev.value - shown.value, log.rev.value - 1).then(
      () => (problem.value = undefined),
      (error) => (problem.value = problemOf(error)),
    );
  useEffect(() => void load(), [log.rev.value, shown.value]);
  const entries = useComputed(() => {
    void log.version.value;
    return log.loadedBack(Math.max(0, log.rev.value - shown.value), log.rev.value - 1);
  });
  const items = useComputed(() => {
    const hidden = detail.value.state === "there" ? (detail.value.value.branches?.hidden ?? []) : [];
    const isHidden = (seq: number) => hidden.some(([from, to]) => seq >= from && seq <= to);
    return conversation(hidden.length === 0 ? entries.value : entries.value.filter(({ seq }) => !isHidden(seq)));
  });
  const state = detail.value;
  if (state.state !== "there") return <Loading what="the conversation" />;

  const waiting = new Map((state.value.request?.waiting ?? []).map((call) => [call.toolCallId, call.kind]));
  const firstLoaded = entries.value[0]?.seq ?? 0;
  const isEmpty = log.rev.value === 0 && live.value === undefined;
  const last = lastSteps(items.value);
  const isComing = entries.value.length === 0 && log.rev.value > 0;
  // Otherwise entries at the end are still coming.
  const isWhole = log.rev.value === 0 || entries.value.at(-1)?.seq === log.rev.value - 1;
  return (
    <section class="chat" aria-label="Chat">
      <Scroller thread={thread} length={items.value.length}>
        {isEmpty && <Welcome thread={thread} />}
        {isComing &&
          (problem.value ? (
            <Problem {...problem.value} retry={() => void load()} />
          ) : (
            <Loading what="the conversation" />
          ))}
        {firstLoaded > 0 && !isComing && (
          <button type="button" class="earlier" onClick={() => (shown.value += MORE)}>
            Show earlier entries
          </button>
        )}
        {items.value.map((item) => (
          <Item key={item.seq} item={item} thread={thread} waiting={waiting} isLast={last.has(item)} />
        ))}
        <LiveTurn thread={thread} />
      </Scroller>
      <Announcer
        ended={live.value?.state === "done" && isWhole ? live.value.requestId : undefined}
        waiting={waiting.size}
        items={items.value}
      />
      <Composer thread={thread} />
    </section>
  );
}

interface ItemProps {
  readonly item: ChatItem;
  readonly thread: OpenThread;
  readonly waiting: ReadonlyMap<string, Wait>;
  readonly isLast: boolean;
}

/** The last message of each answer, which may have several steps. */
function lastSteps(items: readonly ChatItem[]): ReadonlySet<ChatItem> {
  const last = new Map<string, ChatItem>();
  for (const item of items) if (item.type === "assistant") last.set(item.id, item);
  return new Set(last.values());
}

function Item({ item, thread, waiting, isLast }: ItemProps) {
  switch (item.type) {
    case "user":
      return <UserTurn item={item} thread={thread} />;
    case "assistant":
      return <AssistantTurn item={item} thread={thread} waiting={waiting} isLast={isLast} />;
    case "line":
      return <Line item={item} />;
    default:
      return item satisfies never;
  }
}

/** The answer of the running model call, updated as its text streams in. */
function LiveTurn({ thread }: { readonly thread: OpenThread }) {
  const live = thread.live.value;
  if (live === undefined || live.state === "done") return null;
  const { text, thinking, input, note, tools } = live;
  const isSaying = text !== "" || thinking !== "" || input !== "";
  const isAtTools = Object.values(tools).some(({ state }) => state === "running");
  return (
    <div class="turn assistant live">
      {thinking !== "" && <Thinking text={thinking} open={text === ""} />}
      {text !== "" && <Markdown text={text} />}
      {input !== "" && <pre class="tool-input">{input}</pre>}
      {note ? <p class="live-note">{note}</p> : null}
      {!isSaying && live.state === "running" && (
        <p class="live-note">
          <span class="pulse" aria-hidden="true" /> {isAtTools ? "Tools are running" : "Waiting for the model"}
        </p>
      )}
    </div>
  );
}

/** Scrolls to new messages while the reader is at the end. Elsewhere it shows a button that new messages are below. */
function Scroller({
  thread,
  length,
  children,
}: {
  thread: OpenThread;
  length: number;
  children: preact.ComponentChildren;
}) {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useSignal(true);
  const live = thread.live.value;
  const wanted = route.value.seq;
  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null && length > 0 && isAtEnd.value && wanted === undefined)
      element.scrollTop = element.scrollHeight;
  }, [length, live?.text.length, live?.thinking.length, live?.state]);
  useEffect(() => {
    // Opening a card or wrapping a text also changes the height, so a resize scrolls to the end too.
    const column = box.current?.firstElementChild;
    if (!column) return;
    const observer = new ResizeObserver(() => {
      const element = box.current;
      if (element?.querySelector(".turn") && isAtEnd.peek() && route.peek().seq === undefined)
        element.scrollTop = element.scrollHeight;
    });
    observer.observe(column);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (wanted !== undefined) document.getElementById(`seq-${wanted}`)?.scrollIntoView({ block: "center" });
  }, [wanted, length > 0]);
  return (
    <div class="chat-area">
      <div
        ref={box}
        class="chat-scroll"
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Conversation"
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.value = scrollHeight - scrollTop - clientHeight < 60;
        }}
      >
        <div class="chat-column">{children}</div>
      </div>
      {!isAtEnd.value && (
        <button
          type="button"
          class="to-end"
          onClick={() => {
            if (box.current) box.current.scrollTop = box.current.scrollHeight;
          }}
        >
          ↓ To the end
        </button>
      )}
    </div>
  );
}

interface Props {
  /** The id of the request whose end was announced last. */
  readonly ended: string | undefined;
  readonly waiting: number;
  readonly items: readonly ChatItem[];
}

/**
 * Announces to screen readers that a request ends or waits. Streamed text and single calls are not announced, because they
 * would be noise.
 */
function Announcer({ ended, waiting, items }: Props) {
  const said = useSignal("");
  const announced = useRef<string>(undefined);
  useEffect(() => {
    // The event of the end may come before the entry with the answer or the error, which then replaces the general words.
    const words =
      ended === undefined ? undefined : (ending(items) ?? (announced.current === ended ? undefined : HAS_ENDED));
    announced.current = ended;
    if (words !== undefined) said.value = words;
  }, [ended, items]);
  useEffect(() => {
    if (waiting > 0) said.value = waiting === 1 ? "A call waits for you." : `${waiting} calls wait for you.`;
  }, [waiting]);
  return (
    <p class="visually-hidden announcer" role="status">
      {said.value}
    </p>
  );
}

const HAS_ENDED = "The request has ended.";

/** The answer or the error at the end of the conversation, if it ends with one. */
function ending(items: readonly ChatItem[]): string | undefined {
  const last = items.at(-1);
  if (last?.type === "assistant") return `Answer: ${oneLine(textOf(last.content), 600)}`;
  return last?.type === "line" ? `${last.line.label}: ${last.line.text}` : undefined;
}
