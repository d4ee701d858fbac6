import { HeddleError } from "../../thread/errors.ts";
import type { RuntimePorts } from "../ports.ts";
import { RequestError } from "../request/request-error.ts";
import type { Asking } from "./asking.ts";
import { inTime } from "./in-time.ts";
import type { LiveThread } from "./live-thread.ts";
import type { StopOptions } from "./options.ts";

const GRACE_MS = 30_000;
/** How long the store has to take what is still on its way, and the claim. */
const LETTING_GO_MS = 10_000;

/** The end of a server: it can be asked for many times and happens once. */
export class Stopping {
  readonly #live: LiveThread;
  readonly #asking: Pick<Asking, "close" | "isAsking">;
  #stopped: Promise<void> | undefined;
  #why: HeddleError = stopped();

  constructor(live: LiveThread, asking: Pick<Asking, "close" | "isAsking">) {
    this.#live = live;
    this.#asking = asking;
  }

  get isStopped(): boolean {
    return this.#stopped !== undefined;
  }

  check(): void {
    if (this.#stopped === undefined) return;
    throw this.#why;
  }

  /** `why` is what later calls are told. */
  stop(options: StopOptions, why: HeddleError = stopped()): Promise<void> {
    if (this.#stopped === undefined) this.#why = why;
    this.#stopped ??= this.#stop(options);
    return this.#stopped;
  }

  /** Nothing new begins. What is at work may end in the time of grace; the rest lies in the log, for the next server. */
  async #stop({ graceMs = GRACE_MS }: StopOptions): Promise<void> {
    const live = this.#live;
    const { ports } = live.options;
    this.#asking.close(this.#why);
    if (graceMs > 0) await this.#rest(ports, graceMs);
    live.beginNothing();
    if (!(await inTime(ports, LETTING_GO_MS, this.#letGo()))) this.#giveUp();
  }

  async #letGo(): Promise<void> {
    const live = this.#live;
    await live.closeFailed();
    await live.handOver();
    await live.session.close(this.#why);
    live.suspend();
    await live.settle();
    this.#settleAll();
    await this.#release();
  }

  /** The work is stored. A claim that cannot be released runs out by itself, so it must not fail the stop. */
  async #release(): Promise<void> {
    const { threadId, holder, warn } = this.#live.options;
    try {
      await holder?.release();
    } catch (error) {
      const why = HeddleError.isInstance(error) ? error.message : "unexpected error.";
      warn(`Thread ${threadId}: its claim could not be released, and runs out by itself: ${why}`);
    }
  }

  /** A store that never answers must not keep anybody from ending. What it still takes later is fenced by the claim. */
  #giveUp(): void {
    const live = this.#live;
    const { threadId, holder, warn } = live.options;
    const what = `the store did not answer within ${LETTING_GO_MS} ms after its server was stopped`;
    warn(`Thread ${threadId}: ${what}. What was not acknowledged may be lost, and its claim runs out by itself.`);
    void live.session.close(this.#why);
    live.suspend();
    this.#settleAll();
    holder?.release().catch(() => undefined); // renews no more, whatever comes of it
  }

  /** Those who wait for an answer from here get the last one there is. */
  #settleAll(): void {
    const { receipts, operations } = this.#live.scene;
    receipts.settleAll((id) => ({ id, delivered: false, reason: "closed" }));
    operations.settleAll(() => ({ status: "failed", error: this.#why }));
  }

  /** Until nothing is at work, at most as long as the grace. */
  async #rest({ after }: RuntimePorts, graceMs: number): Promise<void> {
    const live = this.#live;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.#asking.isAsking) return; // an ask that came before the stop may still be taken, and begin
      live.beginNothing();
      if (live.isQuiet) resolve();
    };
    const end = live.onChange(look);
    const cancel = after(graceMs, resolve);
    look();
    await promise;
    cancel();
    end();
  }
}

function stopped(): RequestError {
  return new RequestError({ code: "server_stopped", message: "This server was stopped. Start the thread again." });
}
