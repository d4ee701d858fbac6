import { useEffect, useRef } from "preact/hooks";
import type { CallRow } from "../data/contract.ts";
import { count, shortId } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import type { OpenThread } from "../state/open-thread.ts";
import { hrefOf } from "../state/route.ts";
import { stepCall } from "./saw-view.tsx";

interface Props {
  readonly thread: OpenThread;
  readonly calls: readonly CallRow[];
  readonly callId: string;
}

/** All calls of the thread, oldest first. The height of a bar is the tokens of its call. */
export function CallStrip({ thread, calls, callId }: Props) {
  const most = Math.max(1, ...calls.map(tokensOf));
  const current = useRef<HTMLAnchorElement>(null);
  const at = calls.findIndex((call) => call.callId === callId);
  const total = calls.length;
  useEffect(() => current.current?.scrollIntoView({ block: "nearest", inline: "nearest" }), [callId]);
  return (
    <nav class="call-strip" aria-label="Model calls">
      <button
        type="button"
        class="ghost"
        aria-label="Call before"
        title="Call before ([)"
        disabled={at >= total - 1}
        onClick={() => stepCall(thread, -1)}
      >
        <Icon name="left" />
      </button>
      <div class="call-bars">
        {thread.hasMoreCalls.value && (
          <button type="button" class="ghost" onClick={() => void thread.moreCalls()}>
            older
          </button>
        )}
        {calls.toReversed().map((call, index) => {
          const isCurrent = call.callId === callId;
          const label = `Call ${index + 1} of ${total}, entry ${call.seq}, ${count(tokensOf(call))} tokens${call.error ? ", failed" : ""}`;
          return (
            <a
              key={call.callId}
              ref={isCurrent ? current : null}
              class={`call-bar${isCurrent ? " current" : ""}${call.error ? " bad" : ""}${startsRequest(calls, total - 1 - index) ? " first" : ""}`}
              href={hrefOf({ threadId: thread.id, callId: call.callId })}
              aria-label={label}
              aria-current={isCurrent ? "page" : undefined}
              title={label}
            >
              <i style={{ height: `${Math.max(8, (tokensOf(call) / most) * 100)}%` }} />
            </a>
          );
        })}
      </div>
      <span class="call-place">
        {at < 0 ? shortId(callId) : `${total - at} / ${total}${thread.hasMoreCalls.value ? "+" : ""}`}
      </span>
      <button
        type="button"
        class="ghost"
        aria-label="Call after"
        title="Call after (])"
        disabled={at <= 0}
        onClick={() => stepCall(thread, 1)}
      >
        <Icon name="right" />
      </button>
    </nav>
  );
}

const tokensOf = ({ usage, estimatedTokens }: CallRow) => usage?.inputTokens ?? estimatedTokens;

const startsRequest = (calls: readonly CallRow[], index: number) =>
  calls[index]?.requestId !== calls[index + 1]?.requestId;
