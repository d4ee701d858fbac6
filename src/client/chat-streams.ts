import type { UIChunk } from "../runtime/ui-messages/message.ts";

type Chunks = AsyncGenerator<UIChunk, void>;

/** Makes the chunks of a stream. Undefined: another stream that is open shows them. */
type Opener = (signal: AbortSignal, isJoined: () => boolean) => Promise<Chunks | undefined>;

/** A stream of a chat, from the post until its last chunk was read. */
interface OpenStream {
  readonly ended: Promise<void>;
  /** Its chunks wait until it is known whether a newer stream takes its place. */
  pause(): void;
  resume(): void;
  /** It shows no more, and ends with the newer one. */
  giveWay(to: Promise<void>): void;
  stop(): void;
}

/**
 * The open streams of each chat. A page may send a message while an answer is streamed. `useChat` then reads two streams, and
 * shows `ready` when either of them ends. So one of them has all the chunks, and they end together.
 */
export class ChatStreams {
  readonly #open = new Map<string, Set<OpenStream>>();
  /** The one that has the chunks. */
  readonly #shown = new Map<string, OpenStream>();
  readonly #listeners = new Map<string, Set<() => void>>();
  #opened = 0;

  /** The number of streams that were opened so far: an answer that was loaded before the last one is old. */
  get opened(): number {
    return this.#opened;
  }

  isOpen(chatId: string): boolean {
    return this.#open.has(chatId);
  }

  /** Resolves when no stream of the chat is open. */
  async idle(chatId: string): Promise<void> {
    for (let open = this.#open.get(chatId); open !== undefined; open = this.#open.get(chatId)) {
      await Promise.all([...open].map(({ ended }) => ended));
    }
  }

  /** Calls the listener when a stream of the chat opens. Returns what removes it. */
  onOpen(chatId: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(chatId) ?? new Set();
    this.#listeners.set(chatId, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  open(chatId: string, abortSignal: AbortSignal | undefined, opener: Opener): ReadableStream<UIChunk> {
    const before = this.#shown.get(chatId);
    before?.pause();
    const abort = new AbortController();
    const stop = (): void => abort.abort();
    abortSignal?.addEventListener("abort", stop);
    if (abortSignal?.aborted) stop();
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    let resume = (): void => undefined;
    let paused: Promise<void> | undefined;
    let newer: Promise<void> | undefined;
    const stream: OpenStream = {
      ended,
      pause: () => {
        paused ??= new Promise((resolve) => {
          resume = resolve;
        });
      },
      resume: () => {
        paused = undefined;
        resume();
      },
      giveWay: (to) => {
        newer = to;
        stop();
        resume();
      },
      stop,
    };
    const close = (): void => {
      abortSignal?.removeEventListener("abort", stop);
      end();
      this.#close(chatId, stream);
    };
    this.#add(chatId, stream, before);
    const chunks = this.#chunks(chatId, { stream, before, signal: abort.signal }, opener);
    return new ReadableStream<UIChunk>(
      {
        async pull(controller) {
          try {
            const { done, value } = await chunks.next();
            await paused;
            if (!done && newer === undefined) return controller.enqueue(value);
          } catch (error) {
            if (!abort.signal.aborted) {
              close();
              throw error;
            }
          }
          await newer;
          close();
          controller.close();
        },
        cancel() {
          stop();
          close();
        },
      },
      { highWaterMark: 0 },
    );
  }

  async *#chunks(
    chatId: string,
    { stream, before, signal }: { stream: OpenStream; before: OpenStream | undefined; signal: AbortSignal },
    opener: Opener,
  ): Chunks {
    const isJoined = (): boolean => before !== undefined && this.#open.get(chatId)?.has(before) === true;
    let chunks: Chunks | undefined;
    try {
      chunks = await opener(signal, isJoined);
    } catch (error) {
      before?.resume();
      if (signal.aborted) return;
      throw error;
    }
    if (chunks === undefined) {
      if (before === undefined) return;
      signal.addEventListener("abort", before.stop);
      before.resume();
      return void (await before.ended);
    }
    this.#shown.set(chatId, stream);
    before?.giveWay(stream.ended);
    yield* chunks;
  }

  #add(chatId: string, stream: OpenStream, before: OpenStream | undefined): void {
    const open = this.#open.get(chatId) ?? new Set();
    this.#open.set(chatId, open.add(stream));
    if (before === undefined) this.#shown.set(chatId, stream);
    this.#opened += 1;
    for (const listener of this.#listeners.get(chatId) ?? []) listener();
  }

  #close(chatId: string, stream: OpenStream): void {
    const open = this.#open.get(chatId);
    open?.delete(stream);
    if (open?.size === 0) this.#open.delete(chatId);
    if (this.#shown.get(chatId) === stream) this.#shown.delete(chatId);
  }
}
