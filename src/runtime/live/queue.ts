import type { Live } from "./live.ts";
import type { LiveSignal, WorkResult } from "./signal.ts";

/** Signals that are decided even while an effect is awaited. */
const ALWAYS_DUE: ReadonlySet<LiveSignal["type"]> = new Set(["lost", "worked", "begun", "change", "stop"]);

/** Whether a signal can be decided now. Otherwise it waits until the current effect has answered. */
export function isDue({ hold, stopping }: Live, signal: LiveSignal): boolean {
  if (hold === undefined) return true;
  if (ALWAYS_DUE.has(signal.type) || stopping?.phase === "closed") return true;
  if (signal.type === "timer") return signal.name === "give_up" || signal.name === "grace";
  return "id" in signal && signal.id === hold.id;
}

/** With this hold and stop, the first `count` signals of a queue are not due. */
interface NotDue extends Pick<Live, "hold" | "stopping"> {
  readonly count: number;
}

export const NOTHING_CHECKED: NotDue = { hold: undefined, stopping: undefined, count: 0 };

/**
 * Counts the signals before the first one that is due. Each signal is checked once per hold, because thousands of
 * results may wait.
 */
export function skipNotDue(live: Live, queue: readonly LiveSignal[], before: NotDue): NotDue {
  const { hold, stopping } = live;
  let count = before.hold === hold && before.stopping === stopping ? before.count : 0;
  for (let signal = queue[count]; signal !== undefined && !isDue(live, signal); signal = queue[count]) count++;
  return { hold, stopping, count };
}

/** Puts signals in the queue. One that ends a request goes before the results of its calls, which may be many. */
export function enqueue(queue: LiveSignal[], signals: readonly LiveSignal[]): void {
  for (const signal of signals) {
    const at = isUrgent(signal) ? queue.findLastIndex((other) => !isResult(other)) + 1 : queue.length;
    queue.splice(at, 0, signal);
  }
}

/** Takes a signal out of the queue, with the results that follow one: each commit waits for the disk. */
export function dequeue(queue: LiveSignal[], at: number): LiveSignal | undefined {
  let end = at;
  while (end < at + TOGETHER && isResult(queue[end])) end++;
  const taken = queue.splice(at, Math.max(1, end - at));
  const results = taken.filter(isResult);
  return results.length > 1 ? { type: "results", results } : taken[0];
}

/** The most results of one commit. */
const TOGETHER = 32;

function isResult(signal: LiveSignal | undefined): signal is WorkResult {
  if (signal?.type !== "agent" || signal.from === undefined) return false;
  return signal.signal.type === "tool_result" || signal.signal.type === "delegated";
}

function isUrgent(signal: LiveSignal): boolean {
  if (signal.type === "timer") return signal.name === "limit" || signal.name === "deadline";
  return signal.type === "look" || (signal.type === "agent" && signal.signal.type === "cancel");
}
