import { type Hold, LiveRequest } from "../request/request.ts";
import type { RequestSpan } from "../telemetry/telemetry.ts";
import type { Scene } from "./scene.ts";
import type { ThreadOptions } from "./thread-options.ts";

interface Opening {
  readonly requestId: string;
  readonly runId: string;
  readonly firstEventSeq: number;
  /** The number of the last event of an earlier handle of the request. */
  readonly before: number;
  readonly hold: Hold;
}

/** The handle of a request, which numbers its events, and its span. */
export function openRequest(
  { ports, holder, telemetry, listen, definition }: ThreadOptions,
  scene: Scene,
  { requestId: id, runId, firstEventSeq, before, hold }: Opening,
): { readonly handle: LiveRequest; readonly span: RequestSpan } {
  const span = telemetry.request({ requestId: id, runId }, scene);
  const handle = new LiveRequest({
    id,
    runId,
    epoch: holder?.epoch,
    ports,
    captureDeltas: definition.captureDeltas,
    firstEventSeq: Math.max(firstEventSeq, before + 1),
    hold,
    listen: (event) => {
      span.event(event);
      listen(event);
    },
  });
  return { handle, span };
}
