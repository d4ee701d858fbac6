import type { RuntimePorts } from "../../runtime/ports.ts";
import type { StreamData } from "../contract.ts";
import { reply, StudioError } from "../http/response.ts";

/** How often a comment is sent, in milliseconds. Proxies and browsers close silent connections. */
const HEARTBEAT_MS = 15_000;
/** How many messages may wait for a slow reader before the producers must wait. */
const BUFFERED = 64;
/** How many heartbeats a reader may miss because it reads nothing. Then its stream ends, and it can connect again. */
const MAX_MISSED = 8;
/** How many streams one Studio serves at a time. A browser needs one for all its tabs. */
const MAX_STREAMS = 256;

export type StreamMessage = {
  [Event in keyof StreamData]: {
    readonly event: Event;
    readonly data: StreamData[Event];
    /** The event id. A reader that reconnects sends the last one as Last-Event-ID. */
    readonly id?: string;
    /** Set in a stream of several threads. */
    readonly threadId?: string;
  };
}[keyof StreamData];

/** Sends a message. Resolves when the next message may be sent. */
export type Send = (message: StreamMessage) => Promise<void>;

/** Sends messages until `signal` is aborted. */
export type EventProducer = (send: Send, signal: AbortSignal) => Promise<void>;

interface Options {
  readonly ports: RuntimePorts;
  /** The stream ends when one of these signals aborts: the client has disconnected, or Studio stops. */
  readonly signals: readonly AbortSignal[];
  /** The streams of this Studio that are open. */
  readonly open: Set<AbortController>;
}

/**
 * A response that streams server-sent events of several producers. Producers wait for a slow reader. The stream ends
 * when one of them fails.
 */
export function eventStream({ ports, signals, open }: Options, producers: readonly EventProducer[]): Response {
  if (open.size >= MAX_STREAMS) throw tooMany();
  const ended = new AbortController();
  const { signal } = ended;
  open.add(ended);
  signal.addEventListener("abort", () => open.delete(ended));
  for (const outer of signals) {
    if (outer.aborted) ended.abort();
    outer.addEventListener("abort", () => ended.abort(), { once: true, signal });
  }
  let room = Promise.withResolvers<void>();
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const write = (text: string): void => {
          if (!signal.aborted) controller.enqueue(encoder.encode(text));
        };
        const send: Send = async (message) => {
          write(textOf(message));
          while (!signal.aborted && (controller.desiredSize ?? 0) <= 0) await room.promise;
        };
        let cancelBeat = (): void => undefined;
        let missed = 0;
        const beat = (): void => {
          const isRead = (controller.desiredSize ?? 0) > 0;
          missed = isRead ? 0 : missed + 1;
          if (missed > MAX_MISSED) ended.abort();
          if (signal.aborted) return;
          if (isRead) write(": still here\n\n");
          cancelBeat = ports.after(HEARTBEAT_MS, beat);
        };
        cancelBeat = ports.after(HEARTBEAT_MS, beat);
        signal.addEventListener("abort", () => {
          cancelBeat();
          room.resolve();
          try {
            controller.close();
          } catch {} // the stream is closed already, because the reader has disconnected
        });
        write("retry: 1000\n\n");
        for (const produce of producers) produce(send, signal).catch(() => ended.abort());
        if (signal.aborted) controller.close();
      },
      pull: () => {
        room.resolve();
        room = Promise.withResolvers<void>();
      },
      cancel: () => ended.abort(),
    },
    { highWaterMark: BUFFERED },
  );
  return reply(stream, "text/event-stream; charset=utf-8", 200, { "x-accel-buffering": "no" });
}

function tooMany(): StudioError {
  const message = `This Studio serves ${MAX_STREAMS} event streams already. Close some, then connect again.`;
  return new StudioError({ code: "too_many_streams", status: 503, message, retryable: true });
}

function textOf({ event, data, id, threadId }: StreamMessage): string {
  const tagged = threadId === undefined ? data : { ...data, threadId };
  return `event: ${event}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(tagged)}\n\n`;
}
