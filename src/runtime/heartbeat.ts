import type { RuntimePorts } from "./ports.ts";

/** Proxies and browsers close a connection that is silent for longer. */
const HEARTBEAT_MS = 15_000;

/** A comment of server-sent events, which clients ignore. A page that has read one knows that more will come. */
export const STILL_HERE = ": still here\n\n";

/** Sends the comment after each interval. The returned function ends it. */
export function heartbeats({ after }: Pick<RuntimePorts, "after">, send: (comment: string) => void): () => void {
  const beat = (): void => {
    cancel = after(HEARTBEAT_MS, beat);
    send(STILL_HERE);
  };
  let cancel = after(HEARTBEAT_MS, beat);
  return () => cancel();
}
