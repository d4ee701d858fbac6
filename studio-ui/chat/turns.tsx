import { useSignal } from "@preact/signals";
import type { JsonValue } from "heddle";
import { escapeHidden } from "heddle/ai-sdk";
import type { ComponentChildren } from "preact";
import { othersOf, textOf, thinkingOf } from "../parts/content.ts";
import { count, moment, oneLine, time } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { LongText } from "../parts/long-content.tsx";
import { Markdown } from "../parts/markdown.tsx";
import type { LiveTool } from "../state/live.ts";
import type { OpenThread } from "../state/open-thread.ts";
import { hrefOf, route } from "../state/route.ts";
import { fork, inspected, runAction } from "../state/studio.ts";
import { attempt } from "../state/toasts.ts";
import type { ToolCard as Card, ChatItem } from "./conversation.ts";

type Of<Type extends ChatItem["type"]> = Extract<ChatItem, { type: Type }>;

export function UserTurn({ item }: { readonly item: Of<"user"> }) {
  const { seq, content, steer, source } = item;
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
      <Foot item={item} />
    </article>
  );
}

interface AssistantProps {
  readonly item: Of<"assistant">;
  readonly thread: OpenThread;
  readonly waiting: ReadonlyMap<string, Wait>;
}

export function AssistantTurn({ item, thread, waiting }: AssistantProps) {
  const { seq, content, tools, callId, partial, tokens, end } = item;
  const text = textOf(content);
  const thinking = thinkingOf(content);
  const live = thread.live.value;
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
      </Foot>
    </article>
  );
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
}

function ToolCard({ card, live, thread, waiting }: Props) {
  const { toolCallId, result } = card;
  const name = escapeHidden(card.name);
  const wanted = result === undefined ? (waiting ?? waitOf(live)) : undefined;
  const state = stateOf(card, live, wanted);
  const text = result && textOf(result.content);
  const isOpen = useSignal(false);
  return (
    <details
      class={`tool tool-${state}`}
      open={wanted !== undefined || undefined}
      onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}
    >
      <summary>
        <span class={`tool-mark ${state}`} aria-hidden="true" />
        <span class="tool-name">{name}</span>
        <code class="tool-arguments">{oneLine(escapeHidden(argumentsLine(card.arguments)), 120)}</code>
        {text !== undefined && (
          <span class="tool-result-line">→ {oneLine(state === "done" ? text : failureIn(text), 120)}</span>
        )}
        <span class={`pill tool-state ${state}`}>{WORDS[state]}</span>
      </summary>
      {(isOpen.value || wanted !== undefined) && (
        <div class="tool-body">
          <p class="field-label">Arguments</p>
          <JsonView value={card.arguments as object} label={`Arguments of ${name}`} />
          {text !== undefined && (
            <>
              <p class="field-label">{result?.isError ? "Error" : "Result"}</p>
              <JsonView value={parsed(text) as object} label={`Result of ${name}`} />
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
      {wanted === "approval" && thread.source.act && <Approval thread={thread} toolCallId={toolCallId} name={name} />}
      {wanted === "answer" && thread.source.act && <AnswerForm thread={thread} toolCallId={toolCallId} name={name} />}
    </details>
  );
}

/** The kind of wait of a call. */
export type Wait = "approval" | "answer" | "sleep";

type State = Wait | "running" | "done" | "error" | "denied" | "interrupted";
const WORDS: Readonly<Record<State, string>> = {
  running: "running",
  done: "done",
  error: "failed",
  approval: "needs approval",
  answer: "needs an answer",
  sleep: "sleeps",
  denied: "denied",
  interrupted: "no result",
};

function stateOf({ result, approval }: Card, live: LiveTool | undefined, wanted: Wait | undefined): State {
  if (approval === "denied") return "denied";
  if (result !== undefined) return result.isError ? "error" : "done";
  if (wanted !== undefined) return wanted;
  return live === undefined ? "interrupted" : "running";
}

function waitOf(live: LiveTool | undefined): "approval" | "answer" | undefined {
  return live?.state === "approval" || live?.state === "answer" ? live.state : undefined;
}

function argumentsLine(given: JsonValue): string {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return JSON.stringify(given);
  return Object.entries(given)
    .map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}

/** The message of an error in Heddle's format, or else the text of the tool. */
function failureIn(text: string): string {
  const { error } = Object(text.length > 10_000 ? {} : parsed(text)) as {
    readonly error?: { readonly message?: unknown };
  };
  return typeof error?.message === "string" ? error.message : text;
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}

interface WaitProps {
  readonly thread: OpenThread;
  readonly toolCallId: string;
  readonly name: string;
}

function Approval({ thread, toolCallId, name }: WaitProps) {
  const isSent = useSignal(false);
  async function decide(approved: boolean): Promise<void> {
    isSent.value = true;
    await attempt(() => thread.source.act?.decide(thread.id, toolCallId, approved));
    isSent.value = false;
    await thread.refreshDetail();
  }
  return (
    <fieldset class="decision" disabled={isSent.value}>
      <legend class="visually-hidden">May {name} run?</legend>
      <p>
        <Icon name="shield" /> May <b>{name}</b> run with these arguments?
      </p>
      <button type="button" class="primary" onClick={() => void decide(true)}>
        Approve
      </button>
      <button type="button" onClick={() => void decide(false)}>
        Deny
      </button>
    </fieldset>
  );
}

function AnswerForm({ thread, toolCallId, name }: WaitProps) {
  const text = useSignal("");
  const id = `answer-${toolCallId}`;
  return (
    <form
      class="decision"
      onSubmit={(event) => {
        event.preventDefault();
        void attempt(() => thread.source.act?.answer(thread.id, toolCallId, parsed(text.value))).then(() =>
          thread.refreshDetail(),
        );
      }}
    >
      <label for={id}>Your answer for {name}, text or JSON</label>
      <textarea id={id} rows={2} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
      <button type="submit" class="primary" disabled={text.value.trim() === ""}>
        Answer
      </button>
    </form>
  );
}
