import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { CallDetail, CallRow } from "../data/contract.ts";
import { type BudgetPart, partsOf } from "../parts/budget-bar.tsx";
import { count, percent } from "../parts/format.ts";
import type { OpenThread } from "../state/open-thread.ts";
import { hrefOf } from "../state/route.ts";
import { prefixShare } from "./what-if.ts";

const MOST = 40;
const HEIGHT = 84;
const STACK: readonly BudgetPart[] = ["system", "tools", "summary", "history", "pending"];

interface Props {
  readonly thread: OpenThread;
  readonly calls: readonly CallRow[];
  readonly seq: number;
}

/**
 * A bar chart of the calls: tokens per part, reported tokens, and the share that the provider may read from its cache.
 */
export function Plot({ thread, calls, seq }: Props) {
  const shown = calls.slice(0, MOST).toReversed();
  const details = useSignal<ReadonlyMap<string, CallDetail>>(new Map());
  const key = shown.map(({ callId }) => callId).join();
  useEffect(() => {
    let current = true;
    void (async () => {
      for (const { callId } of shown.toReversed()) {
        if (!current) return;
        if (details.peek().has(callId)) continue;
        const detail = await thread.callDetail(callId).catch(() => undefined);
        if (detail !== undefined && current) details.value = new Map([...details.peek(), [callId, detail]]);
      }
    })();
    return () => {
      current = false;
    };
  }, [key]);
  if (shown.length === 0) return null;
  const most = Math.max(
    1,
    ...shown.map(({ estimatedTokens, usage }) => Math.max(estimatedTokens, usage?.inputTokens ?? 0)),
  );
  const width = Math.max(8, Math.min(48, 820 / shown.length));
  const current = calls.find(({ basisLastSeq }) => basisLastSeq <= seq);
  const y = (tokens: number) => HEIGHT - (tokens / most) * (HEIGHT - 6);
  const line = shown.flatMap(({ usage }, index) =>
    usage?.inputTokens === undefined ? [] : [`${index * width + width / 2},${y(usage.inputTokens)}`],
  );
  return (
    <figure class="plot">
      <svg
        viewBox={`0 0 ${shown.length * width} ${HEIGHT + 14}`}
        style={{ width: `${shown.length * width}px` }}
        role="group"
        aria-label="Tokens of each model call, oldest first"
      >
        {shown.map((call, index) => (
          <Bar
            key={call.callId}
            call={call}
            detail={details.value.get(call.callId)}
            x={index * width}
            width={width}
            y={y}
            href={hrefOf({ threadId: thread.id, tab: "what-if", seq: call.basisLastSeq })}
            isCurrent={call === current}
            name={`Call ${calls.length - calls.indexOf(call)}`}
          />
        ))}
        {line.length > 1 && <polyline class="reported-line" points={line.join(" ")} />}
      </svg>
      <figcaption>
        <span class="legend">
          up to <b>{count(most)}</b> tokens
        </span>
        {STACK.map((part) => (
          <span key={part} class="legend">
            <i class={`part-${part}`} /> {part}
          </span>
        ))}
        <span class="legend">
          <i class="reported" /> reported
        </span>
        <span class="legend">
          <i class="prefix" /> shared with the call before
        </span>
      </figcaption>
    </figure>
  );
}

interface BarProps {
  readonly call: CallRow;
  readonly detail: CallDetail | undefined;
  readonly x: number;
  readonly width: number;
  readonly y: (tokens: number) => number;
  readonly href: string;
  readonly isCurrent: boolean;
  readonly name: string;
}

function Bar({ call, detail, x, width, y, href, isCurrent, name }: BarProps) {
  const budget = detail?.meta?.budget;
  const share = detail === undefined ? 0 : prefixShare(detail);
  const parts = budget && partsOf(budget);
  const reported = call.usage?.inputTokens;
  const words = [
    `${count(call.estimatedTokens)} tokens estimated`,
    reported === undefined ? "none reported" : `${count(reported)} reported`,
    detail && `${percent(share)} shared with the call before`,
  ];
  let below = 0;
  return (
    <a
      href={href}
      class={isCurrent ? "bar current" : "bar"}
      aria-label={`${name}: ${words.filter(Boolean).join(", ")}`}
    >
      <title>{`${name}: ${words.filter(Boolean).join(", ")}`}</title>
      <rect class="bar-back" x={x} y={0} width={width} height={HEIGHT + 14} />
      {parts ? (
        STACK.map((part) => {
          const from = below;
          below += parts[part];
          return parts[part] === 0 ? null : (
            <rect
              key={part}
              class={`part-${part}`}
              x={x + 1}
              width={width - 2}
              y={y(below)}
              height={y(from) - y(below)}
            />
          );
        })
      ) : (
        <rect
          class="part-free"
          x={x + 1}
          width={width - 2}
          y={y(call.estimatedTokens)}
          height={HEIGHT - y(call.estimatedTokens)}
        />
      )}
      {reported !== undefined && <rect class="reported" x={x + 1} width={width - 2} y={y(reported) - 1} height={2} />}
      <rect class="prefix-back" x={x + 1} width={width - 2} y={HEIGHT + 4} height={6} />
      <rect class="prefix" x={x + 1} width={(width - 2) * share} y={HEIGHT + 4} height={6} />
    </a>
  );
}
