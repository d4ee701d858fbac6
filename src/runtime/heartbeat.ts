import type { RuntimePorts } from "./ports.ts";
import { Timers } from "./timers.ts";

/** Proxies and browsers close a connection that is silent for longer. */
const HEARTBEAT_MS = 15_000;

/** A comment of server-sent events, which clients ignore. A page that has read one knows that more will come. */
export const STILL_HERE = ": still here\n\n";

type Controller = ReadableStreamDefaultController<Uint8Array>;

/** Sends the comment after each silent interval in which a reader waits. Call `begin` whenever one does. */
export function heartbeats(ports: Pick<RuntimePorts, "after" | "clock">): {
  readonly begin: (controller: Controller) => void;
  readonly end: () => void;
} {
  const timers = new Timers<Controller>(ports, (controller) => {
    if ((controller.desiredSize ?? 0) <= 0) return; // nothing is read, or the stream has ended
    controller.enqueue(new TextEncoder().encode(STILL_HERE));
    begin(controller);
  });
  // One timer for many chunks: it is set again only after it has fired.
  const begin = (controller: Controller): void => {
    if (!timers.isSet(controller)) timers.set({ name: controller, ms: HEARTBEAT_MS });
  };
  return { begin, end: () => timers.clear() };
}
