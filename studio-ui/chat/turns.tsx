import type { ComponentChildren } from "preact";
import { othersOf, textOf, thinkingOf } from "../parts/content.ts";
import { count, moment, oneLine, time } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { LongText } from "../parts/long-text.tsx";
import { Markdown } from "../parts/markdown.tsx";
import type { OpenThread } from "../state/open-thread.ts";
import { hrefOf, route } from "../state/route.ts";
import { act, fork, inspected } from "../state/studio.ts";
import type { ChatItem } from "./conversation.ts";
import { ToolCard } from "./tool-card.tsx";

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
  readonly waiting: ReadonlyMap<string, "approval" | "answer">;
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
            <Icon name="eye" size={14} /> what the model saw
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
      {threadId !== undefined && act.value && (
        <button type="button" class="foot-link on-hover" onClick={() => void fork(seq)}>
          <Icon name="fork" size={14} /> fork from here
        </button>
      )}
    </footer>
  );
}
