import type { ThreadInfo } from "../../stores/port.ts";
import { HeddleError } from "../../thread/errors.ts";
import { badField } from "../http/error.ts";
import type { Call } from "../http/router.ts";
import type { Studio } from "../studio.ts";
import { rowOf } from "../threads/row.ts";
import { eventStream, type Maker, type Message, type Send } from "./event-stream.ts";
import { threadMakers } from "./thread-events.ts";

/** How often to poll the store for changes by other processes. */
const POLL_MS = 1000;
const PAGE = 100;
/** How many missed changes a reader gets after a lost connection. If there may be more, it must reload the list. */
const MOST_MISSED = 1000;

/** How many threads one stream may carry besides the list. */
const MAX_THREADS = 50;

/**
 * GET /api/events: `thread` for each changed thread, `deleted` for each deleted one, and all events of the `threads` in the
 * query, tagged with `threadId`. A browser allows few connections to one host, so its tabs share one stream. The id of a
 * message holds the positions of all parts of the stream.
 */
export async function listEvents({ studio, request, query }: Call): Promise<Response> {
  const { ports, stopped } = studio;
  const ids = [...new Set((query.get("threads") ?? "").split(",").filter((id) => id !== ""))];
  if (ids.length > MAX_THREADS) throw badField("threads", `a list of at most ${MAX_THREADS} ids`);
  const positions = positionsIn(request.headers.get("last-event-id") ?? "");
  const since = /^t(\d{1,15})$/.exec(positions.get("") ?? "")?.[1];
  const makers: Maker[] = [
    (send, signal) =>
      changes(studio, since === undefined ? undefined : Number(since), tagging(send, "", positions), signal),
  ];
  for (const threadId of ids) {
    const found = await threadMakers(studio, threadId, { position: positions.get(threadId) }).catch(noneIfGone);
    makers.push(
      ...found.map(
        (make): Maker =>
          (send, signal) =>
            make(tagging(send, threadId, positions), signal),
      ),
    );
  }
  return eventStream({ ports, signals: [request.signal, stopped.signal] }, makers);
}

/** Skips a deleted thread, so that the stream still carries the others. */
function noneIfGone(error: unknown): readonly Maker[] {
  if (HeddleError.isInstance(error) && error.code === "thread_not_found") return [];
  throw error;
}

/** Records the position of each part of the stream ("" is the list). A message that moves one carries all positions. */
function tagging(send: Send, threadId: string, positions: Map<string, string>): Send {
  return (message) => {
    const { id, ...rest } = message;
    if (id !== undefined) positions.set(threadId, id);
    const position = [...positions].map(([part, at]) => `${encodeURIComponent(part)}:${at}`).join(";");
    return send({
      ...rest,
      ...(id !== undefined && { id: position }),
      ...(threadId !== "" && { threadId }),
    } as Message); // the spread loses the type of the event
  };
}

function positionsIn(text: string): Map<string, string> {
  const positions = new Map<string, string>();
  for (const item of text.split(";")) {
    const [, part, at] = /^([^:;]*):(\S+)$/.exec(item) ?? [];
    if (part !== undefined && at !== undefined) positions.set(decoded(part), at);
  }
  return positions;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
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

/** The threads that changed at or after a time, newest first. At least one page, because a status can change without a time. */
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

/** Waits until something changes in this process, or until the next poll is due. */
async function pause({ ports, live }: Studio, signal: AbortSignal): Promise<void> {
  const cancel = ports.after(POLL_MS, () => live.changes.ring());
  await live.changes.next(signal);
  cancel();
}
