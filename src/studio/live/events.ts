import type { ThreadInfo } from "../../stores/port.ts";
import { HeddleError } from "../../thread/errors.ts";
import { numberIn } from "../http/request.ts";
import { badField } from "../http/response.ts";
import type { RouteCall } from "../http/router.ts";
import { rowOf, rowOfThread } from "../routes/thread.ts";
import type { Studio } from "../studio.ts";
import { type EventProducer, eventStream, type Send, type StreamMessage } from "./event-stream.ts";
import { ChangeSignal } from "./live-requests.ts";

/**
 * GET /api/threads/{id}/events. Sends the row of the thread, then its entries, and all events of a running request.
 * Entries start after Last-Event-ID, else at `from`, else with the next new one.
 */
export async function threadEvents({ studio, request, query, param }: RouteCall): Promise<Response> {
  const producers = await threadProducers(studio, param("id"), {
    position: request.headers.get("last-event-id") ?? undefined,
    from: numberIn(query, "from"),
  });
  const { ports, stopped, streams } = studio;
  return eventStream({ ports, signals: [request.signal, stopped.signal], open: streams }, producers);
}

interface Start {
  /** The id of the last message the reader got. It takes precedence over `from`. */
  readonly position?: string | undefined;
  /** The first entry to send. Default: the next new one. */
  readonly from?: number | undefined;
}

/** The producers of the events of one thread. */
async function threadProducers(studio: Studio, id: string, start: Start): Promise<readonly EventProducer[]> {
  const { rev } = await rowOfThread(studio, id);
  const fromSeq = Math.min(rev, seqAfter(start.position) ?? start.from ?? rev);
  const changed = new ChangeSignal();
  const row = new SentRow(studio, id);
  return [
    (send, signal) => entries(studio, id, { fromSeq, changed, row }, send, signal),
    (send, signal) => agentEvents(studio, id, { changed, row }, send, signal),
    (send, signal) => rows({ changed, row }, send, signal),
  ];
}

/** Returns the first entry to send. For the message id `e12`, this is 13. */
function seqAfter(position: string | undefined): number | undefined {
  const seq = /^e(-1|\d{1,15})$/.exec(position ?? "")?.[1];
  return seq === undefined ? undefined : Number(seq) + 1;
}

interface Reading {
  /** Notifies when the thread's row may have changed. */
  readonly changed: ChangeSignal;
  readonly row: SentRow;
}

async function entries(
  { store }: Studio,
  id: string,
  { fromSeq, changed, row }: Reading & { readonly fromSeq: number },
  send: Send,
  signal: AbortSignal,
): Promise<void> {
  // Sends a message id now, so that a reader that disconnects before the first entry can resume.
  await row.send(send, { id: `e${fromSeq - 1}` });
  for await (const entry of store.watch(id, { fromSeq, signal })) {
    await send({ event: "entry", data: { entry }, id: `e${entry.seq}` });
    changed.notify();
  }
}

async function agentEvents(
  { live }: Studio,
  id: string,
  { changed, row }: Reading,
  send: Send,
  signal: AbortSignal,
): Promise<void> {
  let link = live.link(id);
  for (let sent = 0; !signal.aborted; ) {
    const event = link.request?.events[sent];
    if (event !== undefined) {
      sent += 1;
      await send({ event: "agent", data: event });
    } else if (link.next !== undefined) {
      // The end of a request changes the row, so it is sent again.
      if (link.request !== undefined) await row.send(send);
      link = link.next;
      sent = 0;
    } else {
      changed.notify(); // the request may wait now
      await live.next(id, signal);
    }
  }
}

/** Sends the row whenever it has changed. Fast changes are merged into one row. */
async function rows({ changed, row }: Reading, send: Send, signal: AbortSignal): Promise<void> {
  for (let seen = changed.count; ; ) {
    await changed.next(signal, seen);
    if (signal.aborted) return;
    seen = changed.count;
    await row.sendIfChanged(send);
  }
}

class SentRow {
  readonly #studio: Studio;
  readonly #id: string;
  #sentText = "";

  constructor(studio: Studio, id: string) {
    this.#studio = studio;
    this.#id = id;
  }

  async send(send: Send, more: { readonly id?: string } = {}): Promise<void> {
    const row = await rowOfThread(this.#studio, this.#id);
    this.#sentText = JSON.stringify(row);
    await send({ event: "thread", data: row, ...more });
  }

  async sendIfChanged(send: Send): Promise<void> {
    const row = await rowOfThread(this.#studio, this.#id);
    const text = JSON.stringify(row);
    if (text === this.#sentText) return;
    this.#sentText = text;
    await send({ event: "thread", data: row });
  }
}

/** How often to poll the store for changes by other processes. */
const POLL_MS = 1000;
const LIST_PAGE = 100;
/** How many missed changes a reconnected reader gets. If there are more, it must reload the list. */
const MAX_MISSED = 1000;

/** How many threads one stream may carry besides the list. */
const MAX_THREADS = 50;

/**
 * GET /api/events. Sends `thread` for each changed thread and `deleted` for each deleted one. Also sends all events of
 * the `threads` in the query, tagged with `threadId`. Tabs share this stream, because browsers limit connections per
 * host. A message id contains the positions of all parts of the stream.
 */
export async function listEvents({ studio, request, query }: RouteCall): Promise<Response> {
  const { ports, stopped, streams } = studio;
  const ids = [...new Set((query.get("threads") ?? "").split(",").filter((id) => id !== ""))];
  if (ids.length > MAX_THREADS) throw badField("threads", `a list of at most ${MAX_THREADS} ids`);
  const positions = positionsIn(request.headers.get("last-event-id") ?? "");
  const since = /^t(\d{1,15})$/.exec(positions.get("") ?? "")?.[1];
  const producers: EventProducer[] = [
    (send, signal) =>
      changes(studio, since === undefined ? undefined : Number(since), tagging(send, "", positions), signal),
  ];
  for (const threadId of ids) {
    const found = await threadProducers(studio, threadId, { position: positions.get(threadId) }).catch(noneIfGone);
    producers.push(
      ...found.map(
        (produce): EventProducer =>
          (send, signal) =>
            produce(tagging(send, threadId, positions), signal),
      ),
    );
  }
  return eventStream({ ports, signals: [request.signal, stopped.signal], open: streams }, producers);
}

/** A deleted thread has no events. It must not end the stream of the other threads. */
function noneIfGone(error: unknown): readonly EventProducer[] {
  if (HeddleError.isInstance(error) && error.code === "thread_not_found") return [];
  throw error;
}

/**
 * Wraps `send` to record the position of one part of the stream ("" is the list). Message ids then contain all
 * positions.
 */
function tagging(send: Send, threadId: string, positions: Map<string, string>): Send {
  return (message) => {
    const { id, ...rest } = message;
    if (id !== undefined) positions.set(threadId, id);
    const position = [...positions].map(([part, at]) => `${encodeURIComponent(part)}:${at}`).join(";");
    return send({
      ...rest,
      ...(id !== undefined && { id: position }),
      ...(threadId !== "" && { threadId }),
    } as StreamMessage); // the spread loses the type of the event
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
    const { threads } = await studio.store.list({ limit: LIST_PAGE });
    for (const info of threads) known.set(info.id, stateOf(studio, info));
    from = threads[0]?.updatedAt ?? 0;
  }
  await send({ event: "ready", data: {}, id: `t${from}` });
  while (!signal.aborted) {
    const seen = studio.live.changes.count;
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
    await pause(studio, signal, seen);
  }
}

/**
 * Returns the threads that changed at or after a time, newest first. Reads at least one page, because a status can
 * change without a new time.
 */
async function recent({ store }: Studio, from: number): Promise<readonly ThreadInfo[]> {
  const found: ThreadInfo[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ limit: LIST_PAGE, cursor });
    found.push(...page.threads);
    cursor = page.cursor;
  } while (cursor !== undefined && found.length < MAX_MISSED && (found.at(-1)?.updatedAt ?? 0) >= from);
  return found;
}

function stateOf({ live }: Studio, { id, rev, updatedAt, metadata }: ThreadInfo): string {
  return JSON.stringify([rev, updatedAt, metadata["status"], metadata["title"], live.isLive(id)]);
}

/** Waits until something has changed in this process since `seen`, or until the next poll is due. */
async function pause({ ports, live }: Studio, signal: AbortSignal, seen: number): Promise<void> {
  const cancel = ports.after(POLL_MS, () => live.changes.notify());
  await live.changes.next(signal, seen);
  cancel();
}
