import { useSignal } from "@preact/signals";
import type { JsonValue } from "heddle";
import { escapeHidden } from "heddle/ai-sdk";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { othersOf, textOf, thinkingOf } from "../parts/content.ts";
import { count, moment, oneLine, time } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { LongText } from "../parts/long-content.tsx";
import { Markdown } from "../parts/markdown.tsx";
import type { LiveTool } from "../state/live.ts";
import type { OpenThread } from "../state/open-thread.ts";
import { hrefOf, route } from "../state/route.ts";
import { fork, inspected, list, runAction } from "../state/studio.ts";
import { attempt } from "../state/toasts.ts";
import type { ToolCard as Card, ChatItem } from "./conversation.ts";
import { AnswerForm, Approval, DecisionLine, jsonOr } from "./decision.tsx";
import { EditForm, Versions } from "./versions.tsx";

type Of<Type extends ChatItem["type"]> = Extract<ChatItem, { type: Type }>;

interface UserProps {
  readonly item: Of<"user">;
  readonly thread: OpenThread;
}

export function UserTurn({ item, thread }: UserProps) {
  const { seq, id, content, steer, source } = item;
  const isEditing = useSignal(false);
  const edit = useRef<HTMLButtonElement>(null);
  const wasEditing = useRef(false);
  useLayoutEffect(() => {
    if (wasEditing.current && !isEditing.value) edit.current?.focus();
    wasEditing.current = isEditing.value;
  }, [isEditing.value]);
  if (isEditing.value) {
    return (
      <article class="turn user editing" id={`seq-${seq}`} data-seq={seq}>
        <EditForm thread={thread} id={id} text={textOf(content)} onClose={() => (isEditing.value = false)} />
      </article>
    );
  }
  return (
    <article class="turn user" id={`seq-${seq}`} data-seq={seq}>
      {steer !== undefined && (
        <p class="turn-kind">{source === undefined ? steer.replace("_", " ") : `${steer} from ${source}`}</p>
      )}
      <div class="bubble">
        <LongText text={textOf(content)}>{(shown) => <p dir="auto">{shown}</p>}</LongText>
        {othersOf(content).map((other) => (
          <span class="pill">{other}</span>
        ))}
      </div>
      <Foot item={item}>
        {steer === undefined && <Versions thread={thread} id={id} />}
        {steer === undefined && thread.source.act && (
          <button ref={edit} type="button" class="foot-link on-hover" onClick={() => (isEditing.value = true)}>
            <Icon name="pencil" size={14} /> edit
          </button>
        )}
      </Foot>
    </article>
  );
}

interface AssistantProps {
  readonly item: Of<"assistant">;
  readonly thread: OpenThread;
  readonly waiting: ReadonlyMap<string, Wait>;
  /** Whether it is the last message of its answer. */
  readonly isLast: boolean;
}

export function AssistantTurn({ item, thread, waiting, isLast }: AssistantProps) {
  const { seq, id, content, tools, callId, partial, tokens, end } = item;
  const text = textOf(content);
  const thinking = thinkingOf(content);
  const live = thread.live.value;
  const detail = thread.detail.value;
  const isOpen = detail.state === "there" && detail.value.request?.id === id;
  return (
    <article class="turn assistant" id={`seq-${seq}`} data-seq={seq}>
      {thinking !== "" && <Thinking text={thinking} />}
      {text !== "" && <LongText text={text}>{(shown) => <Markdown text={shown} />}</LongText>}
      {othersOf(content).map((other) => (
        <span class="pill">{other}</span>
      ))}
      {tools.map((card) => (
        <ToolCard
          key={card.toolCallId}
          card={card}
          thread={thread}
          live={live?.state === "done" ? undefined : live?.tools[card.toolCallId]}
          waiting={waiting.get(card.toolCallId)}
          isOpen={isOpen && live?.state !== "done"}
        />
      ))}
      {partial && <p class="turn-kind">Interrupted: the answer is incomplete.</p>}
      {end !== undefined && end.status !== "completed" && (
        <p class="turn-kind bad">{end.status === "failed" ? end.failure.message : `Cancelled: ${end.reason}`}</p>
      )}
      <Foot item={item}>
        {callId !== undefined && (
          <a class="foot-link" href={hrefOf({ threadId: thread.id, callId })}>
            <Icon name="eye" size={14} /> context of the call
            {tokens && <span class="foot-tokens"> · {count(tokens.estimated)} tokens</span>}
          </a>
        )}
        {isLast && <Versions thread={thread} id={id} />}
        {isLast && thread.source.act && (
          <button type="button" class="foot-link on-hover" onClick={() => void regenerate(thread, id)}>
            <Icon name="again" size={14} /> regenerate
          </button>
        )}
      </Foot>
    </article>
  );
}

async function regenerate(thread: OpenThread, id: string): Promise<void> {
  await attempt(() => thread.source.act?.turn(thread.id, { regenerate: id }));
  await thread.refreshDetail();
}

export function Thinking({ text, open = false }: { readonly text: string; readonly open?: boolean }) {
  return (
    <details class="thinking" open={open}>
      <summary>
        ✻ Thinking <span class="thinking-line">{oneLine(text, 90)}</span>
      </summary>
      <p>{text}</p>
    </details>
  );
}

export function Line({ item: { seq, at, line } }: { readonly item: Of<"line"> }) {
  return (
    <p class={`chat-line tone-${line.tone}`} id={`seq-${seq}`} title={moment(at)}>
      <button type="button" class="seq" onClick={() => (inspected.value = { seq })}>
        #{seq}
      </button>
      <b>{line.label}</b> <span>{line.text}</span>
    </p>
  );
}

function Foot({
  item,
  children,
}: {
  readonly item: Of<"user"> | Of<"assistant">;
  readonly children?: ComponentChildren;
}) {
  const { seq, at } = item;
  const { threadId } = route.value;
  return (
    <footer class="foot">
      <button type="button" class="seq" title="Show the entry" onClick={() => (inspected.value = { seq })}>
        #{seq}
      </button>
      <time title={moment(at)}>{time(at)}</time>
      {children}
      {threadId !== undefined && runAction.value && (
        <button type="button" class="foot-link on-hover" onClick={() => void fork(seq)}>
          <Icon name="fork" size={14} /> fork from here
        </button>
      )}
    </footer>
  );
}

interface Props {
  readonly card: Card;
  readonly live: LiveTool | undefined;
  readonly thread: OpenThread;
  /** The kind of its wait, according to the server. */
  readonly waiting: Wait | undefined;
  /** Its request has not ended. Another process may run it. */
  readonly isOpen: boolean;
}

function ToolCard({ card, live, thread, waiting, isOpen: isRunning }: Props) {
  const { toolCallId, result, child } = card;
  const name = escapeHidden(JSON.stringify(card.name).slice(1, -1)); // in one line
  const wanted = result === undefined ? (waiting ?? waitOf(live)) : undefined;
  const state = stateOf(card, isRunning || live !== undefined, wanted);
  const isApproval = wanted === "approval" && thread.source.act !== undefined;
  const text = result && textOf(result.content);
  const isOpen = useSignal(false);
  return (
    <div class="call">
      <details
        class={`tool tool-${state}`}
        open={wanted !== undefined || undefined}
        onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}
      >
        <summary>
          <span class={`tool-mark ${state}`} aria-hidden="true" />
          <bdi class="tool-name">{name}</bdi>
          <code class="tool-arguments">
            <ArgumentsLine given={card.arguments} />
          </code>
          {text !== undefined && (
            <span class="tool-result-line">→ {oneLine(state === "done" ? text : failureIn(text), 120)}</span>
          )}
          <span class={`pill tool-state ${state}`}>{WORDS[state]}</span>
        </summary>
        {(isOpen.value || wanted !== undefined) && !isApproval && (
          <div class="tool-body">
            <p class="field-label">Arguments</p>
            <JsonView value={card.arguments as object} label={`Arguments of ${name}`} />
            {text !== undefined && (
              <>
                <p class="field-label">{result?.isError ? "Error" : "Result"}</p>
                <JsonView value={sameJsonOr(text) as object} label={`Result of ${name}`} />
              </>
            )}
            {result?.details !== undefined && (
              <>
                <p class="field-label">Details, which no model is shown</p>
                <JsonView value={result.details as object} label={`Details of ${name}`} />
              </>
            )}
          </div>
        )}
        {isApproval && <Approval key={toolCallId} thread={thread} card={card} name={name} />}
        {wanted === "answer" && thread.source.act && <AnswerForm thread={thread} card={card} name={name} />}
        {state === "expired" && (
          <p class="decided expired">The request of this call has ended. It can no longer be approved.</p>
        )}
      </details>
      {child !== undefined && (
        <p class="decided">
          <a class="foot-link" href={hrefOf({ threadId: child })}>
            <Icon name="fork" size={14} /> thread of its agent
          </a>
        </p>
      )}
      <DecisionLine card={card} />
    </div>
  );
}

/** The kind of wait of a call. */
export type Wait = "approval" | "answer" | "sleep";

type State = Wait | "child" | "running" | "done" | "error" | "denied" | "interrupted" | "expired";
const WORDS: Readonly<Record<State, string>> = {
  running: "running",
  done: "done",
  error: "failed",
  approval: "needs approval",
  answer: "needs an answer",
  sleep: "sleeps",
  child: "its agent waits",
  denied: "denied",
  expired: "expired",
  interrupted: "no result",
};

function stateOf({ result, approval, child }: Card, isRunning: boolean, wanted: Wait | undefined): State {
  if (approval === "denied") return "denied";
  if (result !== undefined) return result.isError ? "error" : "done";
  if (wanted !== undefined) return wanted;
  if (!isRunning) return approval === "asked" ? "expired" : "interrupted";
  return child !== undefined && isWaiting(child) ? "child" : "running";
}

/** Whether a thread of the list waits for a person. */
function isWaiting(threadId: string): boolean {
  const rows = list.value.state === "there" ? list.value.value : [];
  return rows.some(({ id, status }) => id === threadId && status === "waiting");
}

function waitOf(live: LiveTool | undefined): "approval" | "answer" | undefined {
  return live?.state === "approval" || live?.state === "answer" ? live.state : undefined;
}

/** The arguments in one line. Each is isolated: a value from right to left moves no other. */
function ArgumentsLine({ given }: { readonly given: JsonValue }) {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return <bdi>{shortJson(given)}</bdi>;
  return Object.entries(given)
    .slice(0, MOST_FIELDS)
    .map(([key, value], at) => (
      <>
        {at > 0 && ", "}
        <bdi>{oneLine(escapeHidden(key), 40)}</bdi>: <bdi>{shortJson(value ?? null)}</bdi>
      </>
    ));
}

const MOST_FIELDS = 12;

function shortJson(value: JsonValue): string {
  return oneLine(escapeHidden(JSON.stringify(value)), 100);
}

/** The value of a JSON text that shows all of the text. Else the text: it may have a number that is too long, or a key twice. */
function sameJsonOr(text: string): JsonValue {
  const value = jsonOr(text);
  const compact = text.replaceAll(/("(?:\\.|[^"\\])*")|\s+/g, "$1");
  return JSON.stringify(value) === compact ? value : text;
}

/** The message of an error in Heddle's format, or else the text of the tool. */
function failureIn(text: string): string {
  const { error } = Object(text.length > 10_000 ? {} : jsonOr(text)) as {
    readonly error?: { readonly message?: unknown };
  };
  return typeof error?.message === "string" ? error.message : text;
}
