import { numberIn } from "../http/fields.ts";
import type { Call } from "../http/router.ts";
import type { Studio } from "../studio.ts";
import { rowOfThread } from "../threads/row.ts";
import { Bell } from "./bell.ts";
import { eventStream, type Maker, type Send } from "./event-stream.ts";

/**
 * GET /api/threads/{id}/events. First the row of the thread. Then its entries: after Last-Event-ID, else from `from` on, else
 * new ones only. And all events of a live request, from the first one.
 */
export async function threadEvents({ studio, request, query, param }: Call): Promise<Response> {
  const makers = await threadMakers(studio, param("id"), {
    position: request.headers.get("last-event-id") ?? undefined,
    from: numberIn(query, "from"),
  });
  const { ports, stopped } = studio;
  return eventStream({ ports, signals: [request.signal, stopped.signal] }, makers);
}

interface Start {
  /** The id of the last received message. It takes precedence over `from`. */
  readonly position?: string | undefined;
  /** Default: new entries only. */
  readonly from?: number | undefined;
}

/** The makers of the events of one thread. */
export async function threadMakers(studio: Studio, id: string, start: Start): Promise<readonly Maker[]> {
  const { rev } = await rowOfThread(studio, id);
  const fromSeq = Math.min(rev, seqAfter(start.position) ?? start.from ?? rev);
  const changed = new Bell();
  const row = new ToldRow(studio, id);
  return [
    (send, signal) => entries(studio, id, { fromSeq, changed, row }, send, signal),
    (send, signal) => agentEvents(studio, id, { changed, row }, send, signal),
    (send, signal) => rows({ changed, row }, send, signal),
  ];
}

/** The first entry to send: after the message id `e12`, that is entry 13. */
function seqAfter(position: string | undefined): number | undefined {
  const seq = /^e(-1|\d{1,15})$/.exec(position ?? "")?.[1];
  return seq === undefined ? undefined : Number(seq) + 1;
}

interface Reading {
  /** Rings when the row may have changed. */
  readonly changed: Bell;
  readonly row: ToldRow;
}

async function entries(
  { store }: Studio,
  id: string,
  { fromSeq, changed, row }: Reading & { readonly fromSeq: number },
  send: Send,
  signal: AbortSignal,
): Promise<void> {
  // A reader that loses the connection before the first entry resumes from this id.
  await row.tell(send, { id: `e${fromSeq - 1}` });
  for await (const entry of store.watch(id, { fromSeq, signal })) {
    await send({ event: "entry", data: { entry }, id: `e${entry.seq}` });
    changed.ring();
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
      // After the end of a request the reader gets the new row of the thread.
      if (link.request !== undefined) await row.tell(send);
      link = link.next;
      sent = 0;
    } else {
      changed.ring(); // the request may wait now
      await live.next(id, signal);
    }
  }
}

/** Sends the row when it has changed. If entries arrive fast, rows in between are skipped. */
async function rows({ changed, row }: Reading, send: Send, signal: AbortSignal): Promise<void> {
  for (let heard = changed.rung; ; ) {
    await changed.next(signal, heard);
    if (signal.aborted) return;
    heard = changed.rung;
    await row.tellIfNew(send);
  }
}

class ToldRow {
  readonly #studio: Studio;
  readonly #id: string;
  #told = "";

  constructor(studio: Studio, id: string) {
    this.#studio = studio;
    this.#id = id;
  }

  async tell(send: Send, more: { readonly id?: string } = {}): Promise<void> {
    const row = await rowOfThread(this.#studio, this.#id);
    this.#told = JSON.stringify(row);
    await send({ event: "thread", data: row, ...more });
  }

  async tellIfNew(send: Send): Promise<void> {
    const row = await rowOfThread(this.#studio, this.#id);
    const text = JSON.stringify(row);
    if (text === this.#told) return;
    this.#told = text;
    await send({ event: "thread", data: row });
  }
}
