import type { ThreadStore } from "heddle";
import { expect } from "vitest";
import { type Child, startChild } from "../../support/child.ts";
import { type Acknowledgement, idOf, type Work } from "./work.ts";

const READY = 1;

/** A writer that may die and be started again, and what it was told by the store over all its lives. */
export class Writer {
  readonly work: Work;
  readonly acknowledged: Acknowledgement[] = [];
  /** Batches that were there already when they were tried: committed, and killed before the acknowledgement. */
  replayed = 0;
  #child: Child | undefined;

  constructor(work: Work) {
    this.work = work;
  }

  /** Starts where the acknowledgements ended; resolves when it is about to write. */
  async start(): Promise<void> {
    const from = this.#next();
    const script = new URL("./writer.ts", import.meta.url);
    this.#child = startChild(script, JSON.stringify({ ...this.work, from }));
    await this.#child.wrote(READY);
  }

  go(): void {
    this.#running().tell("go");
  }

  /** Resolves when this life has brought so many acknowledgements, or has ended. */
  async progress(count: number): Promise<void> {
    await this.#running().wrote(READY + count);
  }

  /** How many acknowledgements this life has brought so far. */
  get told(): number {
    return this.#running().lines.length - READY;
  }

  async kill(): Promise<void> {
    await this.#running().kill();
    this.#collect();
  }

  /** Lets it finish its work. */
  async finish(): Promise<void> {
    await this.#running().ended;
    this.#collect();
  }

  /** One more life, until the batch of the last kill is answered too. */
  async answerTheLast(): Promise<void> {
    await this.start();
    this.go();
    await this.progress(1);
    await this.kill();
  }

  #collect(): void {
    const told = this.#running().lines.slice(READY);
    const news = told.map((line) => JSON.parse(line) as Acknowledgement);
    this.acknowledged.push(...news);
    this.replayed += news.filter(({ replayed }) => replayed).length;
    this.#child = undefined;
  }

  #next(): number {
    return (this.acknowledged.at(-1)?.batch ?? this.work.from - 1) + 1;
  }

  #running(): Child {
    if (this.#child === undefined) throw new Error(`writer ${this.work.writer} is not running`);
    return this.#child;
  }
}

/**
 * The thread holds what the writers were told it holds: every acknowledged batch whole, once, at the place it was told,
 * each writer's in its own order; nothing else but at most one batch per writer that nobody was told of.
 */
export async function expectHistory(store: ThreadStore, writers: readonly Writer[]): Promise<void> {
  const [first] = writers;
  if (first === undefined) throw new Error("a history needs writers");
  const entries = (await store.load(first.work.threadId))?.toArray() ?? [];
  expect(await store.verify(first.work.threadId)).toMatchObject({ ok: true, entries: entries.length });
  const places = new Map(entries.map(({ id, seq }) => [id, seq]));
  expect(places.size, "no entry twice").toBe(entries.length);
  let explained = 0;
  for (const { work, acknowledged } of writers) {
    const { writer, batchSize } = work;
    const told = acknowledged.map(({ batch }) => batch);
    expect(told, `${writer}: acknowledged in order, none left out`).toEqual(told.map((_, i) => work.from + i));
    const untold = work.from + told.length;
    const more = places.has(idOf(writer, untold, 0)) ? 1 : 0;
    const starts = told.map((batch) => places.get(idOf(writer, batch, 0)) ?? -1);
    expect(starts, `${writer}: where it was told`).toEqual(acknowledged.map(({ seq }) => seq));
    expect(starts, `${writer}: in its own order`).toEqual(starts.toSorted((a, b) => a - b));
    const all = [...starts, ...(more === 1 ? [places.get(idOf(writer, untold, 0)) ?? -1] : [])];
    for (const [i, start] of all.entries()) {
      const ids = entries.slice(start, start + batchSize).map(({ id }) => id);
      expect(ids, `${writer}: batch ${i} is whole`).toEqual(
        Array.from({ length: batchSize }, (_, n) => idOf(writer, work.from + i, n)),
      );
    }
    explained += all.length * batchSize;
  }
  expect(entries.length, "nothing that nobody wrote").toBe(explained);
}
