import type { AnyAgent } from "../../agent/definition/config.ts";
import type { AgentEvent } from "../../agent/event.ts";
import { leaveAtRest } from "./at-rest.ts";
import type { Begun } from "./run.ts";

interface Streamed extends Begun<AnyAgent> {
  readonly events: AsyncIterator<AgentEvent>;
}

/** Begins a run whose checkpoints wait for `told`. */
export type Begin = (told: () => Promise<void>) => Promise<Begun<AnyAgent>>;

interface Options {
  /** Where the thread lies when the run is left; undefined when it is nowhere but here. */
  readonly store: Parameters<typeof leaveAtRest>[0] | undefined;
  /** Cancels the run, also one that waits at a checkpoint. */
  readonly signal: AbortSignal | undefined;
}

/**
 * The events of a run that is pulled: it begins with the first `next`, and goes past a checkpoint when the event behind it is
 * asked for. Who stops there has a token behind which nothing was begun. Leaving it anywhere stops the run where it stands.
 */
export class EventStream implements AsyncIterableIterator<AgentEvent, undefined> {
  readonly #begin: Begin;
  readonly #options: Options;
  #streamed: Promise<Streamed> | undefined;
  /** Lets the run go past the checkpoint at which it waits. */
  #go: (() => void) | undefined;
  /** Whether a checkpoint is the last that was handed out. */
  #isAtCheckpoint = false;
  /** Events that were asked for and have not come. */
  #wanted = 0;
  #isFree = false;
  #left: Promise<void> | undefined;

  constructor(begin: Begin, options: Options) {
    this.#begin = begin;
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<AgentEvent, undefined>> {
    if (this.#left !== undefined) return { done: true, value: undefined };
    this.#wanted += 1;
    const { events, handle } = await this.#start();
    if (this.#isAtCheckpoint) this.#pass();
    const { done, value } = await events.next();
    this.#wanted -= 1;
    if (done !== true) {
      this.#isAtCheckpoint = value.kind === "checkpoint";
      if (this.#isAtCheckpoint && this.#wanted > 0) this.#pass(); // the event behind it is asked for already
      return { done: false, value };
    }
    // Its server has ended when this has; why it failed, the events have told.
    await handle.result.catch(() => undefined);
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<AgentEvent, undefined>> {
    this.#left ??= this.#leave();
    await this.#left;
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<never> {
    await this.return();
    throw error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #pass(): void {
    this.#isAtCheckpoint = false;
    this.#go?.();
  }

  #start(): Promise<Streamed> {
    this.#streamed ??= this.#begin(() => this.#told()).then((begun) => {
      const free = (): void => {
        this.#isFree = true;
        this.#go?.();
      };
      const { signal } = this.#options;
      signal?.addEventListener("abort", free, { once: true });
      void begun.handle.result.catch(() => undefined).then(() => signal?.removeEventListener("abort", free));
      return { ...begun, events: begun.handle.events[Symbol.asyncIterator]() };
    });
    return this.#streamed;
  }

  #told(): Promise<void> {
    if (this.#isFree || this.#options.signal?.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#go = () => {
      this.#go = undefined;
      resolve();
    };
    return promise;
  }

  async #leave(): Promise<void> {
    if (this.#streamed === undefined) return;
    const streamed = await this.#streamed.catch(() => undefined);
    if (streamed === undefined) return; // it never began
    const { server } = streamed;
    const { store } = this.#options;
    // Not being able to say so costs no more than a call that is not run again.
    if (this.#go !== undefined && store !== undefined) await leaveAtRest(store, server.thread()).catch(() => undefined);
    const stopped = server.stop({ graceMs: 0 });
    this.#isFree = true;
    this.#go?.();
    await stopped.catch(() => undefined); // a claim that could not be given back runs out
  }
}
