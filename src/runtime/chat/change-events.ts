import type { ThreadStore } from "../../stores/port.ts";
import { heartbeats, STILL_HERE } from "../heartbeat.ts";
import type { RuntimePorts } from "../ports.ts";

/** An entry that was committed to a thread, by any process. The page then loads what it shows. */
export interface ThreadChange {
  /** The seq of the entry. -1 when the thread was deleted. */
  readonly seq: number;
  /** The kind of the entry, or `deleted`. */
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

/**
 * A response that sends each new entry of a thread as a server-sent event `change`, whose id is the seq. It ends when the thread
 * was deleted.
 */
export function changeEvents(
  store: Pick<ThreadStore, "watch" | "read" | "onPosted">,
  options: ChangeEventsOptions,
): Response {
  const { ports, threadId, fromSeq, signal } = options;
  const left = new AbortController();
  const ended = AbortSignal.any([signal, left.signal]);
  const encoder = new TextEncoder();
  const beats = heartbeats(ports);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const send = (text: string): void => {
        if (!ended.aborted) controller.enqueue(encoder.encode(text));
      };
      const sendChange = (change: ThreadChange): void =>
        send(`event: change\nid: ${change.seq}\ndata: ${JSON.stringify(change)}\n\n`);
      send(`${STILL_HERE}retry: 1000\n\n`);
      let last: { readonly seq: number; readonly id?: string } = { seq: fromSeq - 1 };
      const find = async (): Promise<void> => {
        const { seq, id } = last;
        if (seq < 0) return;
        for await (const entry of store.read(threadId, { fromSeq: seq, toSeq: seq }))
          if (id === undefined || entry.id === id) return;
        sendChange({ seq: -1, kind: "deleted" }); // from here on, the page wants all entries of another thread with this id
        left.abort();
      };
      const look = (): void => void find().catch(() => undefined);
      const follow = async (): Promise<void> => {
        const end = store.onPosted(threadId, look); // also after a deletion
        look();
        try {
          for await (const { id, seq, kind, refs } of store.watch(threadId, { fromSeq, signal: ended })) {
            const { requestId } = refs;
            last = { seq, id };
            sendChange({ seq, kind, ...(requestId !== undefined && { requestId }) });
          }
        } finally {
          end();
        }
      };
      const close = (): void => {
        beats.end();
        controller.close();
      };
      // After an error the page connects again, with the id of the last event. A page that has left has closed the stream.
      void follow()
        .then(close, close)
        .catch(() => undefined);
    },
    pull: beats.begin,
    cancel: () => left.abort(),
  });
  const headers = { "content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no" };
  return new Response(body, { headers });
}
