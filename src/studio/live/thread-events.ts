import { numberIn } from "../http/fields.ts";
import type { Call } from "../http/router.ts";
import type { Studio } from "../studio.ts";
import { rowOfThread } from "../threads/row.ts";
import { Bell } from "./bell.ts";
import { eventStream, type Maker, type Send } from "./event-stream.ts";

/**
 * GET /api/threads/{id}/events. First the thread as it is; then its entries, from `from` on, or behind the one that
 * Last-Event-ID names, or those that are new; and everything that a live request tells, from its first event.
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
  /** The id of the last message that arrived; it wins over `from`. */
  readonly position?: string | undefined;
  /** Default: new entries only. */
  readonly from?: number | undefined;
}

/** What sends the events of one thread. */
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

/** `e12` is the id of the message with entry 12: the next one is still to be read. */
function seqAfter(position: string | undefined): number | undefined {
  const seq = /^e(-1|\d{1,15})$/.exec(position ?? "")?.[1];
  return seq === undefined ? undefined : Number(seq) + 1;
}

interface Reading {
  /** Rings when the row may be another. */
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
  // Who loses the connection before the first entry goes on from here.
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
  for (let told = 0; !signal.aborted; ) {
    const event = link.request?.events[told];
    if (event !== undefined) {
      told += 1;
      await send({ event: "agent", data: event });
    } else if (link.next !== undefined) {
      // Whoever was told the end of a request is told then how the thread stands.
      if (link.request !== undefined) await row.tell(send);
      link = link.next;
      told = 0;
    } else {
      changed.ring(); // it has come to wait, perhaps
      await live.next(id, signal);
    }
  }
}

/** However fast entries come, only the newest row is told, and only when it is another. */
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
