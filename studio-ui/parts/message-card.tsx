import type { Message } from "heddle";
import { escapeHidden } from "heddle/ai-sdk";
import type { Provenance } from "heddle/core";
import type { ComponentChildren } from "preact";
import { callsOf, othersOf, textOf, thinkingOf } from "./content.ts";
import { count, cut, oneLine } from "./format.ts";
import { JsonView } from "./json-view.tsx";

interface Props {
  readonly message: Message;
  readonly index: number;
  readonly provenance: Provenance | undefined;
  readonly mark?: "same" | "added" | "removed" | "changed" | undefined;
  /** Text shown instead of the name in `mark`. */
  readonly markText?: string | undefined;
  readonly isLit?: boolean | undefined;
  readonly isOpen?: boolean | undefined;
  readonly onPoint?: ((index: number | undefined) => void) | undefined;
  readonly onOpen?: ((index: number) => void) | undefined;
  readonly children?: ComponentChildren;
}

const RULES: Readonly<Record<NonNullable<Provenance["rule"]>, string>> = {
  stand_in: "placeholder for a missing user message",
  interrupted: "the call was interrupted",
  cleared: "the result was cleared",
  shortened: "shortened",
  shrunk: "shrunk to fit",
  relabelled: "relabelled",
  head: "head of a cut request",
};

/** Shows one message as the model got it, with its source entries and its tokens. */
export function MessageCard(props: Props) {
  const { message, index, provenance, mark, markText, isLit, isOpen, onPoint, onOpen, children } = props;
  const seqs = provenance?.seqs ?? [];
  const classes = ["message", `role-${message.role}`, mark && `mark-${mark}`, isLit && "lit"].filter(Boolean).join(" ");
  return (
    <article
      class={classes}
      data-index={index}
      onMouseEnter={() => onPoint?.(index)}
      onMouseLeave={() => onPoint?.(undefined)}
    >
      <header>
        <button
          type="button"
          class="message-head"
          aria-expanded={isOpen ?? false}
          onClick={() => onOpen?.(index)}
          onFocus={() => onPoint?.(index)}
          onBlur={() => onPoint?.(undefined)}
        >
          <span class="index">
            <span class="visually-hidden">Message </span>
            {index}
          </span>
          <span class="role">{message.role}</span>
          {provenance && provenance.segment !== "history" && <span class="pill">{provenance.segment}</span>}
          {provenance?.rule && <span class="pill warn">{RULES[provenance.rule]}</span>}
          {mark && mark !== "same" && <span class={`pill mark-pill ${mark}`}>{markText ?? mark}</span>}
          <span class="from">
            {seqs.length > 0 && `#${seqs.length > 3 ? `${seqs[0]}–${seqs.at(-1)}` : seqs.join(" #")}`}
          </span>
          <span class="tokens">
            {provenance && (
              <>
                {count(provenance.tokens)}
                <span class="visually-hidden"> tokens</span>
              </>
            )}
          </span>
        </button>
      </header>
      {isOpen ? <JsonView value={message} label={`Message ${index} as JSON`} /> : <Body message={message} />}
      {children}
    </article>
  );
}

function Body({ message }: { readonly message: Message }) {
  const text = textOf(message.content);
  const thinking = thinkingOf(message.content);
  const calls = message.role === "assistant" ? callsOf({ toolCalls: message.toolCalls ?? [] }) : [];
  return (
    <div class="message-body">
      {thinking !== "" && <p class="thinking-line">✻ {oneLine(thinking, 160)}</p>}
      {message.role === "tool" && <span class={message.isError ? "call-name bad" : "call-name"}>{message.name} →</span>}
      {text !== "" && (
        <p class="clamp" dir="auto">
          {cut(text, 2000)}
        </p>
      )}
      {othersOf(message.content).map((other) => (
        <span class="pill">{other}</span>
      ))}
      {calls.map((call) => (
        <p key={call.id} class="call-line">
          <span class="call-name">{call.name}</span>
          <code>{oneLine(escapeHidden(JSON.stringify(call.arguments)), 200)}</code>
        </p>
      ))}
    </div>
  );
}
