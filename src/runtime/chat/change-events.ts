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
 * was deleted. Entries are read as fast as the client reads.
 */
export function changeEvents(
  store: Pick<ThreadStore, "watch" | "read" | "onPosted">,
  options: ChangeEventsOptions,
): Response {
  const left = new AbortController();
  const signal = AbortSignal.any([options.signal, left.signal]);
  const changes = changesOf(store, { ...options, signal }, () => left.abort());
  const leave = async (): Promise<void> => {
    left.abort();
    await changes.return(undefined);
  };
  const encoder = new TextEncoder();
  const beats = heartbeats(options.ports, () => void leave().catch(() => undefined));
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      if (!signal.aborted) controller.enqueue(encoder.encode(`${STILL_HERE}retry: 1000\n\n`));
    },
    async pull(controller) {
      beats.begin(controller);
      // After an error the page connects again, with the id of the last event.
      const { value: change } = await changes.next().catch(() => ({ value: undefined }));
      if (change !== undefined)
        return controller.enqueue(
          encoder.encode(`event: change\nid: ${change.seq}\ndata: ${JSON.stringify(change)}\n\n`),
        );
      beats.end();
      controller.close();
    },
    cancel: leave,
  });
  const headers = { "content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no" };
  return new Response(body, { headers });
}

async function* changesOf(
  store: Pick<ThreadStore, "watch" | "read" | "onPosted">,
  { threadId, fromSeq, signal }: ChangeEventsOptions,
  end: () => void,
): AsyncGenerator<ThreadChange, undefined> {
  let last: { readonly seq: number; readonly id?: string; readonly isDeleted?: true } = { seq: fromSeq - 1 };
  const find = async (): Promise<void> => {
    const { seq, id } = last;
    if (seq < 0) return;
    for await (const entry of store.read(threadId, { fromSeq: seq, toSeq: seq }))
      if (id === undefined || entry.id === id) return;
    last = { seq: -1, isDeleted: true }; // from here on, the page wants all entries of another thread with this id
    end();
  };
  const look = (): void => void find().catch(() => undefined);
  const forget = store.onPosted(threadId, look); // also after a deletion
  look();
  try {
    for await (const { id, seq, kind, refs } of store.watch(threadId, { fromSeq, signal })) {
      const { requestId } = refs;
      last = { seq, id };
      yield { seq, kind, ...(requestId !== undefined && { requestId }) };
    }
  } finally {
    forget();
  }
  if (last.isDeleted) yield { seq: -1, kind: "deleted" };
}
