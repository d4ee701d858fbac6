import type { RuntimePorts } from "./ports.ts";
import { Timers } from "./timers.ts";

/** Proxies and browsers close a connection that is silent for longer. */
const HEARTBEAT_MS = 15_000;

/** A comment of server-sent events, which clients ignore. A page that has read one knows that more will come. */
export const STILL_HERE = ": still here\n\n";

/** A reader that reads nothing for so many intervals has gone without a word. */
const MOST_MISSED = 20;

interface Beat {
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
  /** The intervals in which nothing was read. */
  readonly missed: number;
}

/** Sends the comment after each interval. Call `begin` whenever a reader waits. `gone` is called when it reads no more. */
export function heartbeats(
  ports: Pick<RuntimePorts, "after" | "clock">,
  gone: () => void = () => undefined,
): {
  readonly begin: (controller: Beat["controller"]) => void;
  readonly end: () => void;
} {
  const timers = new Timers<Beat>(ports, ({ controller, missed }) => {
    const { desiredSize } = controller;
    if (desiredSize === null) return; // the stream has ended
    if (missed > MOST_MISSED) return gone();
    if (desiredSize > 0) controller.enqueue(new TextEncoder().encode(STILL_HERE));
    set({ controller, missed: desiredSize > 0 ? 0 : missed + 1 });
  });
  const set = (beat: Beat): void => timers.set({ name: beat, ms: HEARTBEAT_MS });
  // One timer for many chunks: it is set again only after it has fired.
  return { begin: (controller) => timers.isEmpty && set({ controller, missed: 0 }), end: () => timers.clear() };
}
