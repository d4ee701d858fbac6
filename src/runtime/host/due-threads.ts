import type { RuntimePorts } from "../ports.ts";
import type { NodeLease } from "../session/node-lease.ts";
import type { Scheduler } from "./advance.ts";

/** When threads that are not live here must start. There is one timer, for the nearest time. */
export class DueThreads {
  readonly #ports: RuntimePorts;
  readonly #start: (threadIds: readonly string[]) => void;
  readonly #scheduler: Scheduler | undefined;
  readonly #times = new Map<string, number>();
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;

  /** `scheduler`: it has the times, in place of the timer. */
  constructor(ports: RuntimePorts, start: (threadIds: readonly string[]) => void, scheduler: Scheduler | undefined) {
    this.#ports = ports;
    this.#start = start;
    this.#scheduler = scheduler;
  }

  /** `at`: by the clock. Undefined: the thread has no deadline. */
  set(threadId: string, at: number | undefined): void {
    if (this.#scheduler !== undefined) return void (at !== undefined && this.#scheduler.wake(threadId, at));
    if (at === undefined) this.#times.delete(threadId);
    else this.#times.set(threadId, at);
    if (at !== undefined && at < (this.#timer?.at ?? Number.POSITIVE_INFINITY)) this.#setTimer(at);
  }

  /** The time of a live thread is durable. The timers of the thread follow it themselves. */
  committed(threadId: string, at: number): void {
    void this.#scheduler?.wake(threadId, at);
  }

  /** Keeps a time of the thread that comes earlier. */
  setEarlier(threadId: string, at: number): void {
    this.set(threadId, Math.min(at, this.#times.get(threadId) ?? at));
  }

  clear(): void {
    this.#times.clear();
    this.#setTimer(Number.POSITIVE_INFINITY);
  }

  #setTimer(at: number): void {
    this.#timer?.cancel();
    const ms = Math.max(0, at - this.#ports.clock());
    this.#timer =
      at === Number.POSITIVE_INFINITY ? undefined : { at, cancel: this.#ports.after(ms, () => this.#fire()) };
  }

  /** A timer for a time that is far away fires earlier. */
  #fire(): void {
    const now = this.#ports.clock();
    const due = [...this.#times].flatMap(([threadId, at]) => (at <= now ? [threadId] : []));
    for (const threadId of due) this.#times.delete(threadId);
    this.#setTimer(Array.from(this.#times.values()).reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY));
    if (due.length > 0) this.#start(due);
  }
}

/**
 * The scheduler of a host. It has the clock of this machine, and the host that of the store. Its errors are warnings, because
 * the times are stored.
 */
export function guarded(
  { scheduler }: { readonly scheduler?: Scheduler | undefined },
  warn: (message: string) => void,
  lease: NodeLease | undefined,
): Scheduler | undefined {
  if (scheduler === undefined) return undefined;
  const failed = (threadId: string, error: unknown): void => {
    const why = error instanceof Error ? error.message : String(error);
    warn(`Thread ${threadId}: the scheduler failed, and the thread starts when a worker takes it: ${why}`);
  };
  return {
    wake: async (threadId, at) => {
      try {
        await scheduler.wake(threadId, at - (lease?.offMs ?? 0));
      } catch (error) {
        failed(threadId, error);
      }
    },
  };
}
