import type { ThreadStore } from "../../stores/port.ts";
import { heartbeats, STILL_HERE } from "../heartbeat.ts";
import type { RuntimePorts } from "../ports.ts";

/** An entry that was committed to a thread, by any process. The page then loads what it shows. */
export interface ThreadChange {
  readonly seq: number;
  readonly kind: string;
  readonly requestId?: string;
}

export interface ChangeEventsOptions {
  readonly ports: Pick<RuntimePorts, "after" | "clock">;
  readonly threadId: string;
  /** The seq of the first entry to send. */
  readonly fromSeq: number;
  /** Ends the stream. */
  readonly signal: AbortSignal;
}

/** A response that sends each new entry of a thread as a server-sent event `change`, whose id is the seq. */
export function changeEvents(store: Pick<ThreadStore, "watch">, options: ChangeEventsOptions): Response {
  const { ports, threadId, fromSeq, signal } = options;
  const left = new AbortController();
  const ended = AbortSignal.any([signal, left.signal]);
  const encoder = new TextEncoder();
  const beats = heartbeats(ports);
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      const send = (text: string): void => {
        if (!ended.aborted) controller.enqueue(encoder.encode(text));
      };
      send(`${STILL_HERE}retry: 1000\n\n`);
      void (async () => {
        try {
          for await (const { seq, kind, refs } of store.watch(threadId, { fromSeq, signal: ended })) {
            const { requestId } = refs;
            const change: ThreadChange = { seq, kind, ...(requestId !== undefined && { requestId }) };
            send(`event: change\nid: ${seq}\ndata: ${JSON.stringify(change)}\n\n`);
          }
        } catch {
          // The page connects again, with the id of the last event.
        } finally {
          beats.end();
          if (!left.signal.aborted) controller.close();
        }
      })();
    },
    pull: beats.begin,
    cancel: () => left.abort(),
  });
  const headers = { "content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no" };
  return new Response(body, { headers });
}
