import { useEffect, useRef } from "preact/hooks";
import type { CallRow } from "../data/contract.ts";
import { count, shortId } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { Empty, Loading, Problem } from "../parts/states.tsx";
import { useLoaded } from "../state/load-state.ts";
import type { OpenThread } from "../state/open-thread.ts";
import { go, hrefOf, route } from "../state/route.ts";
import { CallPage } from "./call-page.tsx";

/** The tab for model calls: the context of each call of the thread. */
export function CallView({ thread }: { readonly thread: OpenThread }) {
  const calls = thread.calls.value;
  if (calls.state === "loading") return <Loading what="the model calls" />;
  if (calls.state === "failed") return <Problem {...calls} retry={() => void thread.refreshCalls()} />;
  const callId = route.value.callId ?? calls.value[0]?.callId;
  if (callId === undefined) {
    return (
      <Empty title={thread.hasMoreCalls.value ? "No model call found so far" : "No model call yet"}>
        {thread.hasMoreCalls.value ? (
          <>
            <p>There is none from entry #{count(thread.callsFrom.value)} on.</p>
            <button type="button" onClick={() => void thread.moreCalls()}>
              Search further back
            </button>
          </>
        ) : (
          <p>After the first answer, this tab shows each message that the model got, and why.</p>
        )}
      </Empty>
    );
  }
  return (
    <section class="calls" aria-label="Model calls">
      <CallStrip thread={thread} calls={calls.value} callId={callId} />
      <OneCall key={callId} thread={thread} callId={callId} />
    </section>
  );
}

function OneCall({ thread, callId }: { readonly thread: OpenThread; readonly callId: string }) {
  const detail = useLoaded(`${thread.id} ${callId}`, () => thread.callDetail(callId)).value;
  if (detail.state === "loading") return <Loading what="the call" />;
  if (detail.state === "failed") return <Problem {...detail} />;
  return <CallPage thread={thread} detail={detail.value} />;
}

/** Shows the call before (-1) or after (1) the current one. The keys `[` and `]` use it. */
export function stepCall(thread: OpenThread, step: 1 | -1): void {
  const calls = thread.calls.peek();
  if (calls.state !== "there") return;
  const { callId } = route.peek();
  const at = callId === undefined ? 0 : calls.value.findIndex((call) => call.callId === callId);
  const next = calls.value[at - step]; // `calls` is sorted newest first
  if (next !== undefined) go({ threadId: thread.id, callId: next.callId });
}

interface Props {
  readonly thread: OpenThread;
  readonly calls: readonly CallRow[];
  readonly callId: string;
}

/** A bar chart of all calls of the thread, oldest first. The height of a bar is the token count of its call. */
function CallStrip({ thread, calls, callId }: Props) {
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
