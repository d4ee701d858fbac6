import type { RuntimePorts } from "../ports.ts";
import { RequestError } from "../request/request-error.ts";
import type { Asking } from "./asking.ts";
import type { LiveThread } from "./live-thread.ts";
import type { StopOptions } from "./options.ts";

const GRACE_MS = 30_000;

/** The end of a server: it can be asked for many times and happens once. */
export class Stopping {
  readonly #live: LiveThread;
  readonly #asking: Pick<Asking, "close" | "isAsking">;
  #stopped: Promise<void> | undefined;

  constructor(live: LiveThread, asking: Pick<Asking, "close" | "isAsking">) {
    this.#live = live;
    this.#asking = asking;
  }

  get isStopped(): boolean {
    return this.#stopped !== undefined;
  }

  check(): void {
    if (this.#stopped === undefined) return;
    throw stopped();
  }

  stop(options: StopOptions): Promise<void> {
    this.#stopped ??= this.#stop(options);
    return this.#stopped;
  }

  /** A request that waits for somebody outside does not hold it up: it lies in the log. */
  async #stop({ graceMs = GRACE_MS }: StopOptions): Promise<void> {
    const live = this.#live;
    const { ports, holder } = live.options;
    this.#asking.close(stopped());
    if (graceMs > 0) await this.#rest(ports, graceMs);
    live.beginNothing();
    await live.closeFailed();
    await live.session.close(stopped());
    live.suspend();
    await live.settle();
    live.scene.receipts.settleAll((id) => ({ id, delivered: false, reason: "closed" }));
    live.scene.operations.settleAll(() => ({ status: "failed", error: stopped() }));
    await holder?.release();
  }

  /** Until nothing is at work, but not for ever. */
  async #rest({ after }: RuntimePorts, graceMs: number): Promise<void> {
    const live = this.#live;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if (live.current?.state !== "running" && !this.#asking.isAsking) resolve();
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
