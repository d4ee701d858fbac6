import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { CallDetail } from "../data/contract.ts";
import { count, plural } from "../parts/format.ts";
import { MessageCard } from "../parts/message-card.tsx";
import { type Highlight, highlightedMessages } from "./highlight.ts";

/** Lists the messages of a call in order. A line marks the end of the prefix shared with the call before. */
export function MessagesColumn({
  detail,
  pointed,
}: {
  readonly detail: CallDetail;
  readonly pointed: Signal<Highlight>;
}) {
  const open = useSignal<number | undefined>(undefined);
  const box = useRef<HTMLDivElement>(null);
  const lit = highlightedMessages(pointed.value, detail);
  const prefix = detail.previous?.stablePrefix;
  useEffect(() => {
    // Scrolls to the message of an entry selected by keyboard. Moving the mouse never scrolls the page.
    const [first] = lit;
    if (pointed.value.seq === undefined || first === undefined) return;
    box.current?.querySelector(`[data-index="${first}"]`)?.scrollIntoView({ block: "nearest" });
  }, [pointed.value.seq]);
  return (
    <div class="messages" ref={box} tabIndex={0} role="region" aria-label="Messages sent">
      {prefix === 0 && <PrefixMark detail={detail} />}
      {detail.messages.map((message, index) => (
        <>
          <MessageCard
            key={index}
            message={message}
            index={index}
            provenance={detail.provenance[index]}
            isLit={lit.has(index)}
            isOpen={open.value === index}
            mark={prefix !== undefined && index >= prefix ? "added" : undefined}
            onPoint={(at) => (pointed.value = at === undefined ? {} : { message: at })}
            onOpen={(at) => (open.value = open.value === at ? undefined : at)}
          />
          {prefix === index + 1 && <PrefixMark detail={detail} />}
        </>
      ))}
    </div>
  );
}

/**
 * The line between messages that equal those of the call before and messages that differ. Providers cache only the
 * equal ones.
 */
function PrefixMark({ detail: { previous, provenance, messages } }: { readonly detail: CallDetail }) {
  if (previous === undefined) return null;
  const { stablePrefix, firstChange } = previous;
  const tokens = provenance.slice(0, stablePrefix).reduce((sum, each) => sum + each.tokens, 0);
  const fresh = messages.length - stablePrefix;
  return (
    <div class={firstChange ? "prefix-mark moved" : "prefix-mark"}>
      <span>
        ↑ {plural(stablePrefix, "message")} as in the call before ({count(tokens)} tokens)
        {fresh > 0 && ` · ↓ ${count(fresh)} new`}
      </span>
      {firstChange && (
        <span class="moved-why">
          <b>{firstChange.rule.replaceAll("_", " ")}</b> {firstChange.why}
        </span>
      )}
    </div>
  );
}
