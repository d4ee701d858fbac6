import { ContextPolicy, projectFromStore, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { type Lap, oneByOne, type Result } from "../support/lap.ts";
import { race } from "../support/race.ts";
import type { Scratch } from "../support/scratch.ts";
import type { Row, Table } from "../support/table.ts";
import { show, showSize } from "../support/units.ts";
import { type Bench, BUDGET } from "./bench.ts";
import { Counting } from "./counting.ts";
import { entriesOf } from "./entries.ts";
import { messageAt } from "./history.ts";

const THREAD = "thread_bench";
const BATCH = 1000;
const policy = ContextPolicy.create({ maxInputTokens: BUDGET, reserveOutputTokens: 0 });

/** A context straight from a file: it reads a window, whatever lies before it. */
export async function store({ sizes, scratch, budgets }: Bench): Promise<Table[]> {
  const { short, long, rounds, loadsPerRound } = sizes;
  const shortFile = await made(scratch, short);
  const longFile = await made(scratch, long);
  const shortRead = await readBy(shortFile);
  const longRead = await readBy(longFile);
  const project = (file: ThreadStore): Promise<Lap> =>
    oneByOne(loadsPerRound, () => projectFromStore(file, THREAD, { policy }));
  const results = await race(
    {
      baseline: () => oneByOne(loadsPerRound, () => longFile.load(THREAD, { last: longRead.window })),
      short: () => project(shortFile),
      long: () => project(longFile),
    },
    { rounds, warmup: 3 },
  );
  await shortFile.close();
  await longFile.close();

  const row = (name: string, result: Result, read?: Read): Row => ({
    name,
    values: {
      p50: result.p50,
      p99: result.p99,
      toBaseline: result.medianOver(results.baseline),
      toShort: result.medianOver(results.short),
      ...read,
    },
  });
  const { baseline, ...projected } = results;
  return [
    {
      id: "store",
      title: `A context of ${show(BUDGET, "count")} tokens from a thread in SQLite: open handle, ${rounds} rounds of ${loadsPerRound}`,
      columns: [
        { key: "p50", label: "p50", unit: "time" },
        { key: "p99", label: "p99", unit: "time" },
        { key: "toBaseline", label: "to baseline", unit: "times" },
        { key: "toShort", label: `to ${showSize(short)}`, unit: "times" },
        { key: "loads", label: "reads", unit: "count" },
        { key: "rows", label: "rows read", unit: "count" },
        { key: "window", label: "entries shown", unit: "count" },
      ],
      rows: [
        row(`baseline: load of ${longRead.window} entries, of ${showSize(long)}`, baseline),
        row(`heddle projectFromStore, of ${showSize(short)}`, projected.short, shortRead),
        row(`heddle projectFromStore, of ${showSize(long)}`, projected.long, longRead),
      ],
      checks: [
        budgets.atMost("projectFromStoreLongToShort", projected.long.medianOver(projected.short), {
          what: `projectFromStore of ${showSize(long)} to that of ${showSize(short)}`,
          unit: "times",
        }),
        budgets.atMost("projectFromStoreRowsToWindow", longRead.rows / longRead.window, {
          what: "rows read to entries shown",
          unit: "times",
        }),
      ],
      notes: [
        "The baseline loads the entries that the context shows, through the same handle, and makes nothing of them.",
      ],
    },
  ];
}

async function made(scratch: Scratch, entries: number): Promise<ThreadStore> {
  const name = `projection-${entries}.db`;
  console.error(`making ${name}...`);
  const file = sqliteStore(scratch.file(name));
  for (let from = 0; from < entries; from += BATCH) {
    const size = Math.min(BATCH, entries - from);
    await file.append(THREAD, Array.from({ length: size }, (_, offset) => messageAt(from + offset)).flatMap(entriesOf));
  }
  return file;
}

type Read = { readonly loads: number; readonly rows: number; readonly window: number };

async function readBy(file: ThreadStore): Promise<Read> {
  const counting = new Counting(file);
  const { meta } = await projectFromStore(counting.store, THREAD, { policy });
  return { loads: counting.reads, rows: counting.rows, window: meta.entriesIncluded };
}
