import type { ThreadInfo } from "../../stores/port.ts";
import type { Call } from "../http/router.ts";
import type { Studio } from "../studio.ts";
import { rowOf } from "../threads/row.ts";
import { eventStream, type Send } from "./event-stream.ts";

/** How often the store is asked what other processes have changed. */
const POLL_MS = 1000;
const PAGE = 100;
/** Threads whose change a reader is told after it was away: it lists anew when there may be more. */
const MOST_MISSED = 1000;

/**
 * GET /api/events: `thread` for each thread that changed, `deleted` for each that is gone. The ids are times, so that who
 * has lost the connection hears of all that changed since.
 */
export async function listEvents({ studio, request }: Call): Promise<Response> {
  const { ports, stopped } = studio;
  const since = /^t(\d{1,15})$/.exec(request.headers.get("last-event-id") ?? "")?.[1];
  return eventStream({ ports, signals: [request.signal, stopped.signal] }, [
    (send, signal) => changes(studio, since === undefined ? undefined : Number(since), send, signal),
  ]);
}

async function changes(studio: Studio, since: number | undefined, send: Send, signal: AbortSignal): Promise<void> {
  const known = new Map<string, string>();
  let from = since ?? Number.POSITIVE_INFINITY;
  let deleted = studio.live.deleted.length;
  if (since === undefined) {
    const { threads } = await studio.store.list({ limit: PAGE });
    for (const info of threads) known.set(info.id, stateOf(studio, info));
    from = threads[0]?.updatedAt ?? 0;
    await send({ event: "ready", data: {}, id: `t${from}` });
  }
  while (!signal.aborted) {
    for (const id of studio.live.deleted.slice(deleted)) {
      deleted += 1;
      await send({ event: "deleted", data: { id } });
    }
    for (const info of (await recent(studio, from)).toReversed()) {
      const state = stateOf(studio, info);
      if (known.get(info.id) === state) continue;
      known.set(info.id, state);
      from = Math.max(from, info.updatedAt);
      await send({ event: "thread", data: await rowOf(studio, info), id: `t${from}` });
    }
    await pause(studio, signal);
  }
}

/** The threads that changed at or after a time, newest first, and a page in any case: a status changes without an entry. */
async function recent({ store }: Studio, from: number): Promise<readonly ThreadInfo[]> {
  const found: ThreadInfo[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ limit: PAGE, cursor });
    found.push(...page.threads);
    cursor = page.cursor;
  } while (cursor !== undefined && found.length < MOST_MISSED && (found.at(-1)?.updatedAt ?? 0) >= from);
  return found;
}

function stateOf({ live }: Studio, { id, rev, updatedAt, metadata }: ThreadInfo): string {
  return JSON.stringify([rev, updatedAt, metadata["status"], metadata["title"], live.isLive(id)]);
}

/** Until something changes here, or it is time to look what others did. */
async function pause({ ports, live }: Studio, signal: AbortSignal): Promise<void> {
  const cancel = ports.after(POLL_MS, () => live.changes.ring());
  await live.changes.next(signal);
  cancel();
}
