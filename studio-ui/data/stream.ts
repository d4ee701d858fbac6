import { token } from "./access.ts";
import { EventHub } from "./event-hub.ts";
import type { StreamSubscription } from "./source.ts";
import type { TabMessage, WorkerMessage } from "./stream-worker.ts";

type Subscribe = (threadId: string | undefined, listening: StreamSubscription) => () => void;

let subscribe: Subscribe | undefined;

/**
 * Subscribes to the events of a thread, or of the thread list. A hidden tab closes its connection; when it is visible
 * again, it gets the missed events. Returns a function that ends the subscription.
 */
export function listen(threadId: string | undefined, listening: StreamSubscription): () => void {
  subscribe ??= sharedStream() ?? ownStream();
  const open = subscribe;
  let end: (() => void) | undefined;
  const follow = (): void => {
    if (document.visibilityState === "visible") end ??= open(threadId, listening);
    else if (end !== undefined) {
      end();
      end = undefined;
      listening.onState("lost");
    }
  };
  document.addEventListener("visibilitychange", follow);
  addEventListener("pagehide", stop);
  follow();

  function stop(): void {
    document.removeEventListener("visibilitychange", follow);
    removeEventListener("pagehide", stop);
    end?.();
    end = undefined;
  }
  return stop;
}

/**
 * Subscribes through a shared worker, so that all tabs use one connection. Undefined if the browser has no shared
 * workers.
 */
function sharedStream(): Subscribe | undefined {
  let port: MessagePort;
  try {
    port = new SharedWorker("stream-worker.js", { type: "module", name: "heddle" }).port;
  } catch {
    return undefined;
  }
  const listeners = new Map<number, StreamSubscription>();
  const send = (message: TabMessage): void => port.postMessage(message);
  port.onmessage = ({ data: { id, state, event } }: MessageEvent<WorkerMessage>) => {
    const listening = listeners.get(id);
    if (state !== undefined) listening?.onState(state);
    if (event !== undefined) listening?.onEvent(event);
  };
  let nextId = 0;
  return (threadId, listening) => {
    const id = nextId++;
    const known = token();
    listeners.set(id, listening);
    send({
      type: "subscribe",
      id,
      ...(threadId !== undefined && { threadId }),
      ...(known !== undefined && { token: known }),
    });
    return () => {
      listeners.delete(id);
      send({ type: "unsubscribe", id });
    };
  };
}

/** Subscribes through a connection that only this tab uses. */
function ownStream(): Subscribe {
  const hub = new EventHub();
  return (threadId, listening) => hub.subscribe({ threadId, ...listening }, token());
}
