import { count } from "../parts/format.ts";
import { Empty, Loading, Problem } from "../parts/states.tsx";
import { useLoaded } from "../state/loaded.ts";
import type { OpenThread } from "../state/open-thread.ts";
import { go, route } from "../state/route.ts";
import { CallPage } from "./call-page.tsx";
import { CallStrip } from "./call-strip.tsx";

/** The tab "Model saw": the context of each call of the thread. */
export function SawView({ thread }: { readonly thread: OpenThread }) {
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
    <section class="saw" aria-label="What the model saw">
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

/** Moves to the call before or after, for the keys `[` and `]`. */
export function stepCall(thread: OpenThread, step: 1 | -1): void {
  const calls = thread.calls.peek();
  if (calls.state !== "there") return;
  const { callId } = route.peek();
  const at = callId === undefined ? 0 : calls.value.findIndex((call) => call.callId === callId);
  const next = calls.value[at - step]; // the newest call comes first
  if (next !== undefined) go({ threadId: thread.id, callId: next.callId });
}
