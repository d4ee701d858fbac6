import type { RuntimePorts } from "../../runtime/ports.ts";
import type { StreamData } from "../contract/event.ts";
import { reply } from "../http/reply.ts";

/** How often to send a comment. Proxies and browsers close a connection that is silent for long. */
const HEARTBEAT_MS = 15_000;
/** How many messages may wait for a slow reader before the makers wait too. */
const BUFFERED = 64;

export type Message = {
  [Event in keyof StreamData]: {
    readonly event: Event;
    readonly data: StreamData[Event];
    /** The position from which a reader resumes after a lost connection. */
    readonly id?: string;
    /** The thread, in a stream of several threads. */
    readonly threadId?: string;
  };
}[keyof StreamData];

/** Sends a message. Resolves when the next one can be sent. */
export type Send = (message: Message) => Promise<void>;

/** Sends messages until the signal is aborted. */
export type Maker = (send: Send, signal: AbortSignal) => Promise<void>;

interface Options {
  readonly ports: RuntimePorts;
  /** The stream ends when one of these is aborted: that of the reader, or that of Studio. */
  readonly signals: readonly AbortSignal[];
}

/** Server-sent events of several makers, which wait for a slow reader. The stream ends when one of them fails. */
export function eventStream({ ports, signals }: Options, makers: readonly Maker[]): Response {
  const ended = new AbortController();
  const { signal } = ended;
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
        const beat = (): void => {
          if ((controller.desiredSize ?? 0) > 0) write(": still here\n\n");
          cancelBeat = ports.after(HEARTBEAT_MS, beat);
        };
        cancelBeat = ports.after(HEARTBEAT_MS, beat);
        signal.addEventListener("abort", () => {
          cancelBeat();
          room.resolve();
          try {
            controller.close();
          } catch {} // the reader has gone
        });
        write("retry: 1000\n\n");
        for (const make of makers) make(send, signal).catch(() => ended.abort());
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

function textOf({ event, data, id, threadId }: Message): string {
  const tagged = threadId === undefined ? data : { ...data, threadId };
  return `event: ${event}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(tagged)}\n\n`;
}
