import type { EntryInput } from "../../../src/thread/entry.ts";

/** What a writer process is to do; plain JSON. */
export interface Work {
  readonly url: string;
  readonly tenant: string;
  readonly threadId: string;
  readonly writer: string;
  /** The first batch, and the one after the last. */
  readonly from: number;
  readonly to: number;
  readonly batchSize: number;
  /** Stop after this time at the latest. */
  readonly forMs?: number;
  /** Try again what failed with an error that says it may be. */
  readonly persistent?: boolean;
}

export interface Acknowledgement {
  readonly batch: number;
  /** Where its first entry lies. */
  readonly seq: number;
  readonly replayed: boolean;
}

/** The same batch each time it is asked for. Every seventh is long enough to fill several pages. */
export function batchOf({ writer, batchSize }: Pick<Work, "writer" | "batchSize">, batch: number): EntryInput[] {
  return Array.from({ length: batchSize }, (_, i) => ({
    id: idOf(writer, batch, i),
    kind: "note",
    payload: { writer, batch, text: "thread ".repeat(batch % 7 === 0 ? 1500 : 10) },
  }));
}

export function idOf(writer: string, batch: number, index: number): string {
  return `${writer}_${batch}_${index}`;
}
