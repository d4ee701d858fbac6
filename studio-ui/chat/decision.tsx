import { useComputed, useSignal } from "@preact/signals";
import type { JsonValue } from "heddle";
import { escapeHidden } from "heddle/ai-sdk";
import { useLayoutEffect, useRef } from "preact/hooks";
import { count, cut, moment, plural, time } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import type { OpenThread } from "../state/open-thread.ts";
import { inspected } from "../state/studio.ts";
import { attempt } from "../state/toasts.ts";
import type { ToolCard } from "./conversation.ts";

/** Longer arguments are shown as their beginning and their end, until the reader asks for all of them. */
const LONG = 4000;
const TAIL = 400;

interface WaitProps {
  readonly thread: OpenThread;
  readonly card: ToolCard;
  readonly name: string;
}

/** The arguments of a call that waits, and its decision. Approve is enabled once the end of the arguments was in view. */
export function Approval({ thread, card, name }: WaitProps) {
  const { toolCallId } = card;
  const isSent = useSignal(false);
  const isSeen = useSignal(false);
  const reason = useSignal("");
  async function decide(approved: boolean): Promise<void> {
    isSent.value = true;
    await attempt(() => thread.source.act?.decide(thread.id, toolCallId, approved, reason.value.trim()));
    isSent.value = false;
    await thread.refreshDetail();
  }
  const id = `approval-${toolCallId}`;
  return (
    <>
      <Arguments key={toolCallId} value={card.arguments} name={name} onSeen={() => (isSeen.value = true)} />
      <fieldset class="decision" disabled={isSent.value}>
        <legend class="visually-hidden">May {name} run?</legend>
        <p>
          <Icon name="shield" /> May <bdi class="decision-name">{name}</bdi> run with these arguments?
        </p>
        <input
          class="decision-reason"
          aria-label="Reason, for the log; of a denial the model is shown it"
          placeholder="Reason, if you like"
          dir="auto"
          value={reason.value}
          onInput={(event) => (reason.value = event.currentTarget.value)}
        />
        <button
          type="button"
          class="primary"
          disabled={!isSeen.value}
          aria-describedby={isSeen.value ? undefined : id}
          onClick={() => void decide(true)}
        >
          Approve
        </button>
        <button type="button" onClick={() => void decide(false)}>
          Deny
        </button>
        {!isSeen.value && (
          <p id={id} class="decision-hint">
            Read the arguments to their end, then you can approve.
          </p>
        )}
      </fieldset>
    </>
  );
}

interface ArgumentsProps {
  readonly value: JsonValue;
  readonly name: string;
  readonly onSeen: () => void;
}

function Arguments({ value, name, onSeen }: ArgumentsProps) {
  const text = escapeHidden(JSON.stringify(value, null, 2));
  const isLong = text.length > LONG;
  const isWhole = useSignal(!isLong);
  const box = useRef<HTMLPreElement>(null);
  const look = () => {
    const element = box.current;
    if (element === null || !isWhole.peek()) return;
    if (element.scrollTop + element.clientHeight >= element.scrollHeight - 2) onSeen();
  };
  const size = useComputed(() => `${count(text.length)} characters in ${plural(text.split("\n").length, "line")}`);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    look();
    const observer = new ResizeObserver(look); // the box has no height while its card is closed
    observer.observe(element);
    return () => observer.disconnect();
  }, [isWhole.value]);
  return (
    <div class="approval-arguments">
      <p class="field-label">
        Arguments <span class="approval-size">{size}</span>
      </p>
      <pre ref={box} tabIndex={0} role="region" aria-label={`Arguments of ${name}, ${size.value}`} onScroll={look}>
        {isWhole.value ? lines(text) : lines(`${cut(text, LONG - TAIL)}`)}
      </pre>
      {!isWhole.value && (
        <>
          <p class="approval-cut">
            {count(text.length - LONG)} characters are not shown here.{" "}
            <button type="button" class="ghost" onClick={() => (isWhole.value = true)}>
              Show all {count(text.length)} characters
            </button>
          </p>
          <pre class="approval-tail" tabIndex={0} role="region" aria-label="The end of the arguments">
            {lines(text.slice(-TAIL).toWellFormed())}
          </pre>
        </>
      )}
    </div>
  );
}

/** Each line for itself, so that a text from right to left moves nothing beside it. */
function lines(text: string) {
  return text.split("\n").map((line, at) => {
    const [, indent = "", key = "", rest = ""] = /^(\s*)("(?:\\.|[^"\\])*": )?(.*)$/.exec(line) ?? [];
    return (
      <>
        {at > 0 && "\n"}
        {indent}
        {key !== "" && <bdi class="j-key">{key}</bdi>}
        <bdi dir="ltr">{rest}</bdi>
      </>
    );
  });
}

/** The person who decided, the reason and the time. */
export function DecisionLine({ card: { approval, decision } }: { readonly card: ToolCard }) {
  if (decision === undefined) return null;
  const { seq, at, by, reason, isEdited } = decision;
  return (
    <p class={`decided ${approval}`}>
      <Icon name={approval === "approved" ? "check" : "close"} size={14} />
      <span>
        {approval === "approved" ? "Approved" : "Denied"}
        {by !== undefined && (
          <>
            {" "}
            by <bdi>{by}</bdi>
          </>
        )}
        {isEdited && ", with edited arguments"}
        {reason !== undefined && (
          <>
            {": "}
            <q dir="auto">{reason}</q>
          </>
        )}
      </span>
      <button type="button" class="seq" title="Show the entry" onClick={() => (inspected.value = { seq })}>
        #{seq}
      </button>
      <time title={moment(at)}>{time(at)}</time>
    </p>
  );
}

export function AnswerForm({ thread, card: { toolCallId }, name }: WaitProps) {
  const text = useSignal("");
  const id = `answer-${toolCallId}`;
  return (
    <form
      class="decision"
      onSubmit={(event) => {
        event.preventDefault();
        void attempt(() => thread.source.act?.answer(thread.id, toolCallId, jsonOr(text.value))).then(() =>
          thread.refreshDetail(),
        );
      }}
    >
      <label for={id}>
        Your answer for <bdi>{name}</bdi>, text or JSON
      </label>
      <textarea id={id} rows={2} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
      <button type="submit" class="primary" disabled={text.value.trim() === ""}>
        Answer
      </button>
    </form>
  );
}

/** The value of a JSON text, or else the text. */
export function jsonOr(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}
