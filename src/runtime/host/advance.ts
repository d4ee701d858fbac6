import { openCalls } from "../../agent/react/state.ts";
import { ThreadHeldError } from "../../stores/errors.ts";
import { dueTime } from "../live/schedule.ts";
import type { Loop } from "../loop.ts";
import type { NodeLease } from "../session/node-lease.ts";
import { inTime } from "../time-limits.ts";

/** Has a host look at a thread at a time. The default is one timer of the host, for the nearest time. */
export interface Scheduler {
  /**
   * Has `host.advance(threadId)` called at this time, at least once. Called after the commit that made the time, in milliseconds
   * since 1970 by the clock of this process. A request that begins is due at once, because its process may die. So is a thread
   * that another thread has sent a command. An error that it throws is a warning.
   */
  readonly wake: (threadId: string, at: number) => void | Promise<void>;
}

/** How long `advance` works. */
export interface AdvanceOptions {
  /** Until when to wait for running work, in milliseconds since 1970. It runs on after that. Default: until nothing runs. */
  readonly untilMs?: number | undefined;
}

/**
 * The state of a thread after `advance`. `idle`: it waits for commands, people or other agents. `waiting`: the next thing is due at
 * `until`, in milliseconds since 1970. `more`: call `advance` again.
 */
export type Advanced =
  | { readonly state: "idle" }
  | { readonly state: "waiting"; readonly until: number }
  | { readonly state: "more" };

const CLOCKS = (["approval", "deadline", "ask"] as const).map((name) => ({ type: "timer", name }) as const);

/** Writes when the thread is due, and its waiting calls. */
export async function reschedule(loop: Loop): Promise<void> {
  await loop.reply((reply) => ({ type: "schedule", reply }));
}

/** Does what is due on a live thread, and waits until nothing runs. Times outside are by the clock of this machine. */
export async function advanceLoop(
  loop: Loop,
  { untilMs = Number.POSITIVE_INFINITY }: AdvanceOptions,
  lease: NodeLease | undefined,
): Promise<Advanced> {
  const offMs = lease?.offMs ?? 0;
  const { ports } = loop.options;
  const { rev } = loop.agent.thread;
  // The thread may be live, and another process may have posted.
  await loop.reply((reply) => ({ type: "look", reply })).catch(() => undefined);
  for (;;) {
    loop.post(...CLOCKS); // timers may be late
    await loop.scene.rest();
    // A request whose calls wait for other agents is running for those who watch it. Their ends are commands.
    const isAtRest = (): boolean => loop.live.request?.phase !== "running";
    const running = isAtRest() ? undefined : loop.current;
    const isAsking = loop.live.isAsking && loop.live.stopping === undefined;
    if (running !== undefined || isAsking) {
      const rest = running?.until(isAtRest) ?? loop.nextAsk();
      if (untilMs === Number.POSITIVE_INFINITY) await rest;
      else if (!(await inTime(ports, Math.max(0, untilMs + offMs - ports.clock()), rest))) return { state: "more" };
      continue;
    }
    // Nothing was due: another process may have left a time that holds no longer.
    if (loop.agent.thread.rev === rev) await Promise.all([reschedule(loop), wakeParent(loop)]);
    const until = dueTime(loop.live);
    warnOfMissing(loop);
    if (until === undefined) return { state: "idle" };
    return until > ports.clock() ? { state: "waiting", until: until - offMs } : { state: "more" };
  }
}

/** The process that has ended the request of a child may have died before it woke the parent. */
async function wakeParent({ agent, options }: Loop): Promise<void> {
  const { parent } = agent.state.last?.run.options ?? {};
  if (parent !== undefined && (await options.store.pending(parent.threadId)).length > 0)
    options.sent?.(parent.threadId, undefined, undefined);
}

/** A parent whose agent a deploy has removed would wait without a word. */
function warnOfMissing({ agent: { state }, options: { handOff, threadId, warnOnce } }: Loop): void {
  for (const { child } of state.run === undefined ? [] : openCalls(state.run)) {
    if (child === undefined || handOff?.serves(child.agent) !== false) continue;
    const name = JSON.stringify(child.agent);
    warnOnce(
      `Thread ${threadId} waits for the agent ${name}, which this host does not serve: steer with skip, or cancel.`,
    );
  }
}

/** A thread that another process holds is looked at again after this time, at the latest. */
const HELD_MS = 10_000;

/** The part of a host that an engine calls. */
export interface AdvancingHost {
  advance(threadId: string, options?: AdvanceOptions): Promise<Advanced>;
}

/**
 * Advances a thread for some milliseconds, because engines end calls that take minutes. Returns when to call it again, in
 * milliseconds since 1970; undefined: when it is woken. Another process that holds the thread keeps it as long as it lives.
 */
export async function advanceThread(host: AdvancingHost, threadId: string, ms: number): Promise<number | undefined> {
  try {
    const advanced = await host.advance(threadId, { untilMs: Date.now() + ms });
    if (advanced.state === "idle") return undefined;
    return advanced.state === "waiting" ? advanced.until : Date.now();
  } catch (error) {
    if (ThreadHeldError.isInstance(error)) return Math.min(error.until, Date.now() + HELD_MS); // by the clock of the store
    throw error;
  }
}
