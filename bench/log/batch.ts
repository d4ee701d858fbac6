import { sqliteStore } from "heddle/sqlite";
import { oneByOne, type Result } from "../support/lap.ts";
import { race } from "../support/race.ts";
import type { Row, Table } from "../support/table.ts";
import { Baseline } from "./baseline.ts";
import type { Bench } from "./bench.ts";
import { messages, payloadOf } from "./message.ts";

const BATCH = 100;

/** A hundred entries that land together or not at all. */
export async function batch({ sizes, scratch }: Bench): Promise<Table> {
  const { rounds, batchesPerRound } = sizes;
  const baseline = new Baseline(scratch.file("batch-baseline.db"));
  const store = sqliteStore(scratch.file("batch-heddle.db"));
  let inserted = 0;
  let appended = 0;
  const results = await race(
    {
      baseline: () =>
        oneByOne(batchesPerRound, () =>
          baseline.inOneTransaction(() => {
            for (let index = 0; index < BATCH; index += 1) baseline.insert("thread_1", inserted, payloadOf(inserted++));
          }),
        ),
      heddle: () =>
        oneByOne(batchesPerRound, () => {
          const from = appended;
          appended += BATCH;
          return store.append("thread_1", messages(from, BATCH));
        }),
    },
    { rounds },
  );
  baseline.close();
  await store.close();

  const row = (name: string, result: Result): Row => ({
    name,
    values: { p50: result.p50, p99: result.p99, rows: result.perSecond * BATCH, ratio: result.over(results.baseline) },
  });
  return {
    id: "batch",
    title: `Batch of ${BATCH}, whole or not at all: ${rounds} rounds of ${batchesPerRound}`,
    columns: [
      { key: "p50", label: "p50", unit: "ms" },
      { key: "p99", label: "p99", unit: "ms" },
      { key: "rows", label: "rows", unit: "per second" },
      { key: "ratio", label: "to baseline", unit: "times" },
    ],
    rows: [
      row(`baseline: ${BATCH} bare inserts, one transaction`, results.baseline),
      row(`heddle/sqlite append of ${BATCH}`, results.heddle),
    ],
  };
}
