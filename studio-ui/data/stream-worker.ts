import type { StreamEvent } from "./contract.ts";
import { EventHub } from "./event-hub.ts";
import type { LinkState } from "./source.ts";

/** A message from a browser tab to this shared worker. */
export type TabMessage =
  | { readonly type: "subscribe"; readonly id: number; readonly threadId?: string; readonly token?: string }
  | { readonly type: "unsubscribe"; readonly id: number };

/** A message from this shared worker to a browser tab. */
export interface WorkerMessage {
  readonly id: number;
  readonly state?: LinkState;
  readonly event?: StreamEvent;
}

/** One hub, so that all tabs of this browser share a connection. */
const hub = new EventHub();

addEventListener("connect", (event) => {
  const [port] = (event as MessageEvent).ports; // TypeScript has the type of the "connect" event only in its worker library
  if (port === undefined) return;
  const ends = new Map<number, () => void>();
  const send = (message: WorkerMessage): void => port.postMessage(message);
  port.onmessage = ({ data }: MessageEvent<TabMessage>) => {
    const { id } = data;
    ends.get(id)?.();
    ends.delete(id);
    if (data.type === "unsubscribe") return;
    const subscription = {
      threadId: data.threadId,
      onState: (state: LinkState) => send({ id, state }),
      onEvent: (event: StreamEvent) => send({ id, event }),
    };
    ends.set(id, hub.subscribe(subscription, data.token));
  };
});
